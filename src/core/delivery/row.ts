import type { Range } from "./ranges.ts";

/** What a request is made of. `isolation` and `resend` name exactly what to send; `aside` and `redrive` have rows. */
export type Lane = "fresh" | "probe" | "isolation" | "aside" | "redrive" | "resend";

/** A row of its own in the database: only for events that failed on their own, and for redriven ones [V9] [X2]. */
export interface AsideEvent {
  readonly seq: number;
  /** `redrive`: put back by a person, a replay or a re-opening and not failed since; sent in batches of their own. */
  readonly lane: "aside" | "redrive";
  /** n of [V10]: attempts that failed, charged or not. */
  readonly failures: number;
  /** The attempts that count towards `retry.maxAttempts`. */
  readonly charged: number;
  /** The first request holding it that did not succeed [V22]; 0: none yet. */
  readonly firstFailureAtMs: number;
  readonly lastFailureAtMs: number;
  readonly dueAtMs: number;
  /** Acceptance, or last redrive, replay or re-opening [V12]. */
  readonly waitingSinceMs: number;
  /** Busy answers it got alone, further ones only where another event was accepted since the last [V7]. */
  readonly busies: number;
  readonly reason: "refused" | "failed" | "busy" | "gone" | "redrive";
  /** Sent again on an operator's wish: the request says so [X3]. */
  readonly replay?: true;
  /** The redrive or replay that put it here: part of the batch id [V4]. */
  readonly job?: string;
}

/** [V11] `few`: the events that opened it where they were fewer than ten, else null. */
export type Breaker =
  | { readonly state: "closed" }
  | {
      readonly state: "open";
      readonly untilMs: number;
      /** Without the ±20 %, so that it doubles evenly. */
      readonly openForMs: number;
      readonly few: readonly number[] | null;
      readonly probedSeq: number | null;
    }
  | {
      readonly state: "half-open";
      readonly openForMs: number;
      readonly few: readonly number[] | null;
      readonly probedSeq: number | null;
      /** Different events that were refused as probes since it became half-open. */
      readonly refusedSeqs: readonly number[];
    };

/** [V7] */
interface Hold {
  readonly sinceMs: number;
  /** The end for the events that were answered so. */
  readonly untilMs: number;
  /** The end for other events: sooner, where one bad event may be all there is to it. */
  readonly othersUntilMs: number;
}

/** Answers with a hold since the last accepted event. */
interface Busy {
  /** k of [V7]. */
  readonly count: number;
  readonly sinceMs: number;
  /** The events that were in every one of these requests: empty means no single event can be the reason. */
  readonly suspects: readonly Range[];
}

/** One of the last 20 results [V22]. */
export interface Result {
  readonly atMs: number;
  /** The event, where the request held one. */
  readonly seq: number | null;
  readonly eventCount: number;
  readonly acceptedCount: number;
  /** Counts as a failure for the breaker [V11]. */
  readonly against: boolean;
}

/** [V26] What is in flight, written before it is sent. */
export interface InFlightRecord {
  readonly batchId: string;
  readonly lane: Lane;
  readonly fromSeq: number;
  readonly toSeq: number;
  /** It covers that stretch of the log; else its events have rows of their own (set aside, redriven). */
  readonly inLog: boolean;
  /** null: every number from `fromSeq` to `toSeq`. */
  readonly seqs: readonly Range[] | null;
  /** Unfinished runs in a row in which this was in flight. */
  readonly crashes: number;
  /** `again`: was in flight in a run that did not end and is to be sent again. */
  readonly state: "sent" | "again";
}

/** One per destination, persisted as plain JSON with each outcome. The counters of the ledger are kept by the log. */
export interface DeliveryRow {
  readonly v: 1;
  /** Every number up to here is settled or set aside. */
  readonly position: number;
  /** Settled or set aside beyond the position, at most `maxInFlight` + 2 [V14]. */
  readonly settledRanges: readonly Range[];
  readonly paused: boolean;
  readonly disabled: { readonly reason: string; readonly atMs: number } | null;
  /** Since when it is paused or disabled, and the last times it was: they do not count for [V12]. */
  readonly stoppedSinceMs: number | null;
  readonly stops: readonly Range[];
  readonly breaker: Breaker;
  /** Requests in a row that did not succeed, up to ten different events in them, and how many of these died [V11]. */
  readonly streak: { readonly count: number; readonly seqs: readonly number[]; readonly deadCount: number };
  readonly hold: Hold | null;
  readonly busy: Busy | null;
  /** The event that got 410 alone with nothing accepted since [V24]. */
  readonly gone: { readonly seq: number; readonly atMs: number } | null;
  readonly results: readonly Result[];
  /** Who was tried last and when the last one before that was another: outlives the forgetting of results [V11]. */
  readonly tried: { readonly seq: number | null; readonly atMs: number; readonly otherAtMs: number };
  /** The most events a batch holds now [V13], before the setting is applied. */
  readonly batchSize: number;
  readonly inFlight: readonly InFlightRecord[];
  /** `ordering: "strict"`: the first event, where it failed alone [V15]. */
  readonly head: AsideEvent | null;
  /** Strictly growing, so that "later than" holds where the clock stands still. 0: none yet. */
  readonly lastResultAtMs: number;
  readonly lastAcceptedAtMs: number;
  readonly lastFailedAtMs: number;
}

/** The largest batch the configuration allows. */
export const BATCH_EVENTS_MAX = 1_000;
/** Set-aside events of one destination; beyond it the breaker opens [V9]. */
export const ASIDE_COUNT_MAX = 10_000;

export const NO_STREAK: DeliveryRow["streak"] = { count: 0, seqs: [], deadCount: 0 };

/** A destination that begins after `position`. */
export function createRow(position: number): DeliveryRow {
  return {
    v: 1,
    position,
    settledRanges: [],
    paused: false,
    disabled: null,
    stoppedSinceMs: null,
    stops: [],
    breaker: { state: "closed" },
    streak: NO_STREAK,
    hold: null,
    busy: null,
    gone: null,
    results: [],
    tried: { seq: null, atMs: 0, otherAtMs: 0 },
    batchSize: BATCH_EVENTS_MAX,
    inFlight: [],
    head: null,
    lastResultAtMs: 0,
    lastAcceptedAtMs: 0,
    lastFailedAtMs: 0,
  };
}

export type DestinationState = "closed" | "open" | "half-open" | "holding" | "paused" | "disabled";

/** What `stats` shows. */
export function stateOf(row: DeliveryRow, nowMs: number): DestinationState {
  if (row.disabled !== null) return "disabled";
  if (row.paused) return "paused";
  if (row.hold !== null && row.hold.untilMs > nowMs) return "holding";
  if (row.breaker.state === "open" && row.breaker.untilMs <= nowMs) return "half-open";
  return row.breaker.state;
}
