import type { Range } from "./ranges.ts";
import type { AsideEvent, DeliveryRow, Lane } from "./row.ts";

/** An event of a request, as the buffer loaded it. */
export interface PlannedEvent {
  readonly seq: number;
  readonly eventId: string;
  readonly receivedAtMs: number;
  /** Its row, where it has one. */
  readonly aside: AsideEvent | null;
}

/** A stretch of the log: its events, and the numbers the filter passed over. */
export interface Piece {
  readonly fromSeq: number;
  readonly toSeq: number;
  readonly events: readonly PlannedEvent[];
  readonly passedOver: readonly number[];
}

/** A request on its way. Events that were moved out by hand meanwhile are not among its own any more. */
export interface Flight extends Piece {
  readonly id: number;
  readonly batchId: string;
  readonly lane: Lane;
  readonly inLog: boolean;
  /** Sent while the breaker was not closed. */
  readonly probe: boolean;
  readonly busies: number;
  readonly firstBusyAtMs: number;
}

export type Answer = "accepted" | "refused" | "failed" | "busy";

export interface Half extends Piece {
  readonly answer: Answer | null;
  /** Its events are settled or set aside; else they wait for the other half's answer. */
  readonly isDone: boolean;
  readonly busies: number;
  readonly firstBusyAtMs: number;
}

/**
 * The search for a culprit [V9], one request at a time.
 *
 * - `halves`: both are sent, the later one first, before anything is concluded.
 * - `singles`: a batch that got 410, event by event from its end [V24].
 * - `front`: strict order; `bad` holds a culprit and is halved from the front [V15].
 */
export type Isolation =
  | { readonly kind: "halves"; readonly first: Half; readonly later: Half }
  | { readonly kind: "singles"; readonly rest: Piece }
  | { readonly kind: "front"; readonly bad: Piece };

/** A batch that waits to be halved, to be tried event by event, or (Busy) to be sent again as it is. */
export interface Waiting extends Piece {
  readonly mode: "split" | "singles" | "whole";
  /** After a hold another event goes first [V7]. */
  readonly heldBack: boolean;
  readonly busies: number;
  readonly firstBusyAtMs: number;
}

/** Memory only; made anew after a restart. Never changed in place: each call returns the next one. */
export interface Live {
  readonly flights: readonly Flight[];
  readonly isolation: Isolation | null;
  readonly waiting: readonly Waiting[];
  /** Batches begun that end beyond the position: nothing goes more than `maxInFlight` batches beyond it [V14]. */
  readonly window: readonly Range[];
  /** First failures [V22] of events that failed in a batch and are neither settled nor set aside. */
  readonly firstFailures: ReadonlyMap<number, number>;
  /** Attempts charged in batches, with `countDestinationFaults`. */
  readonly charges: ReadonlyMap<number, number>;
  /** While fresh events wait a set-aside one goes only after a fresh one: at most half of the requests [V9]. */
  readonly asideTurn: boolean;
  readonly redriveMax: number;
  /** The pace [V13]: nothing before `paceUntilMs`, which was `paceSpanMs` ahead when it was set. */
  readonly paceUntilMs: number;
  readonly paceSpanMs: number;
}

export function createLive(row: DeliveryRow): Live {
  return {
    flights: [],
    isolation: null,
    waiting: [],
    window: [...row.settledRanges, ...row.inFlight.filter((record) => record.inLog).map(rangeOf)],
    firstFailures: new Map(),
    charges: new Map(),
    asideTurn: false,
    redriveMax: Number.MAX_SAFE_INTEGER,
    paceUntilMs: 0,
    paceSpanMs: 0,
  };
}

export function rangeOf(piece: { readonly fromSeq: number; readonly toSeq: number }): Range {
  return [piece.fromSeq, piece.toSeq];
}

/** The pieces that live only in memory: under isolation, or waiting for it. */
export function heldPieces(live: Live): readonly Piece[] {
  const { isolation } = live;
  if (isolation === null) return live.waiting;
  if (isolation.kind === "singles") return [isolation.rest, ...live.waiting];
  if (isolation.kind === "front") return [isolation.bad, ...live.waiting];
  return [...[isolation.first, isolation.later].filter((half) => !half.isDone), ...live.waiting];
}

/**
 * Where the next fresh events are looked for: the first numbers that are neither settled, nor in flight, nor under
 * isolation. `toSeq` null: up to the end of the log; else the stretch ends before something already dealt with.
 */
export function freshWindow(row: DeliveryRow, live: Live): { fromSeq: number; toSeq: number | null } {
  let fromSeq = row.position + 1;
  for (const [from, to] of occupied(row, live).sort((a, b) => a[0] - b[0])) {
    if (from > fromSeq) return { fromSeq, toSeq: from - 1 };
    fromSeq = Math.max(fromSeq, to + 1);
  }
  return { fromSeq, toSeq: null };
}

/** The first number behind all that are settled, in flight or under isolation: none from there on was ever looked at. */
export function firstUntouchedSeq(row: DeliveryRow, live: Live): number {
  return 1 + Math.max(row.position, ...occupied(row, live).map(([, to]) => to));
}

function occupied(row: DeliveryRow, live: Live): Range[] {
  return [
    ...row.settledRanges,
    ...row.inFlight.filter((record) => record.inLog).map(rangeOf),
    ...heldPieces(live).map(rangeOf),
  ];
}

/** The first number that is neither settled, in flight nor under isolation. */
export function nextFreshSeq(row: DeliveryRow, live: Live): number {
  return freshWindow(row, live).fromSeq;
}
