import { drawOf } from "./backoff.ts";
import type { Live, Piece, PlannedEvent } from "./live.ts";
import { overlaps, settleRange } from "./ranges.ts";
import type { AsideEvent, DeliveryRow } from "./row.ts";
import type { DeliverySettings } from "./settings.ts";

/** What the buffer knows when an outcome arrives. */
export interface SettleFacts {
  readonly nowMs: number;
  /** Uniform in [0, 1), fresh for this call; as many draws as are needed are made from it. */
  readonly random: number;
  readonly settings: DeliverySettings;
  /** Whether events wait at or behind `nextFreshSeq(row, live)` as they were before this call, or any redriven one. */
  readonly freshWaiting: boolean;
  /** Rows of set-aside events (lane `aside`) before this call, those in flight included. */
  readonly asideCount: number;
}

export type DeathReason = "exhausted" | "refused" | "gave-up" | "crash";

export interface DeadEvent {
  readonly seq: number;
  readonly reason: DeathReason;
  /** What it had gone through. */
  readonly aside: AsideEvent;
}

/** Raising one that is raised, or clearing one that is not, changes nothing: the log keeps which are. */
export type AlertKind = "breaker-open" | "destination-disabled" | "hold-long" | "aside-full" | "head-blocked";

export interface RaisedAlert {
  readonly kind: AlertKind;
  readonly detail: string;
}

/** What became of a request: everything that is to be written in one transaction. */
export interface Settlement {
  readonly row: DeliveryRow;
  readonly live: Live;
  readonly delivered: readonly number[];
  /** Passed over by the filter, and settled with the events around them. */
  readonly filtered: readonly number[];
  /** Insert or update. */
  readonly setAside: readonly AsideEvent[];
  /** Delivered and dead events that had a row of their own lose it. */
  readonly dead: readonly DeadEvent[];
  readonly alerts: { readonly raise: readonly RaisedAlert[]; readonly clear: readonly AlertKind[] };
}

/** A settlement in the making. `row` and `live` are replaced, never changed. */
export interface Draft {
  row: DeliveryRow;
  live: Live;
  readonly facts: SettleFacts;
  /** The time of this result, later than that of any result before it. */
  readonly resultAtMs: number;
  readonly delivered: number[];
  readonly filtered: number[];
  readonly setAside: AsideEvent[];
  readonly dead: DeadEvent[];
  readonly raise: RaisedAlert[];
  readonly clear: AlertKind[];
  /** What went back to the fresh events in this call. */
  readonly returned: Piece[];
  /** Change in the number of set-aside rows. */
  asideDelta: number;
  draws: number;
}

export function startDraft(row: DeliveryRow, live: Live, facts: SettleFacts): Draft {
  const resultAtMs = Math.max(facts.nowMs, row.lastResultAtMs + 1);
  return {
    row: { ...row, lastResultAtMs: resultAtMs },
    live,
    facts,
    resultAtMs,
    delivered: [],
    filtered: [],
    setAside: [],
    dead: [],
    raise: [],
    clear: [],
    returned: [],
    asideDelta: 0,
    draws: 0,
  };
}

export function finishDraft(draft: Draft): Settlement {
  const { row, live, delivered, filtered, setAside, dead, raise, clear } = draft;
  return { row, live, delivered, filtered, setAside, dead, alerts: { raise, clear } };
}

export function nothingHappened(row: DeliveryRow, live: Live): Settlement {
  return { row, live, delivered: [], filtered: [], setAside: [], dead: [], alerts: { raise: [], clear: [] } };
}

export function draw(draft: Draft): number {
  return drawOf(draft.facts.random, draft.draws++);
}

export function isStrict(draft: Draft): boolean {
  return draft.facts.settings.ordering === "strict";
}

/** Set-aside rows there will be after this call. */
export function asideCountAfter(draft: Draft): number {
  return draft.facts.asideCount + draft.asideDelta;
}

/** The stretch is dealt with: each of its events is delivered, dead or set aside, the rest was passed over [V14]. */
export function settlePiece(draft: Draft, piece: Piece): void {
  const { position, ranges } = settleRange(draft.row.position, draft.row.settledRanges, piece.fromSeq, piece.toSeq);
  const head = draft.row.head !== null && draft.row.head.seq <= position ? null : draft.row.head;
  draft.row = { ...draft.row, position, settledRanges: ranges, head };
  draft.filtered.push(...piece.passedOver);
  const isInside = (seq: number): boolean => piece.fromSeq <= seq && seq <= piece.toSeq;
  const live = forgetSeqs(draft.live, isInside);
  draft.live = { ...live, window: live.window.filter(([, to]) => to > position) };
}

/** The stretch goes back to the fresh events, to be taken again in other batches. */
export function returnPiece(draft: Draft, piece: Piece): void {
  draft.returned.push(piece);
  const range = [piece.fromSeq, piece.toSeq] as const;
  draft.live = { ...draft.live, window: draft.live.window.filter((batch) => !overlaps(batch, range)) };
}

/** Remembers when these events first failed [V22]. */
export function rememberFailure(draft: Draft, events: readonly PlannedEvent[]): void {
  const firstFailures = new Map(draft.live.firstFailures);
  for (const { seq } of events) if (!firstFailures.has(seq)) firstFailures.set(seq, draft.resultAtMs);
  draft.live = { ...draft.live, firstFailures };
}

/** These events are settled or set aside: what memory holds of them goes. */
export function forget(draft: Draft, events: readonly PlannedEvent[]): void {
  const seqs = new Set(events.map((event) => event.seq));
  draft.live = forgetSeqs(draft.live, (seq) => seqs.has(seq));
}

export function forgetSeqs(live: Live, isGone: (seq: number) => boolean): Live {
  if (live.firstFailures.size === 0 && live.charges.size === 0) return live;
  const kept = (known: ReadonlyMap<number, number>) => new Map([...known].filter(([seq]) => !isGone(seq)));
  return { ...live, firstFailures: kept(live.firstFailures), charges: kept(live.charges) };
}
