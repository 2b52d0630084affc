/**
 * What operators are shown of a tenant, and what they ask for: the plain data of the calls in contract.ts. As there,
 * fields are only ever added [O12].
 */
import type { DestinationState } from "../core/delivery/machine.ts";
import type { Selection } from "../core/selection.ts";

export type { DestinationState, Selection };

/** The ledger of one destination [X5]: offered = delivered + backlog + dead + filtered + purged + expired + erased. */
export interface DestinationStats {
  readonly state: DestinationState;
  readonly offered: number;
  readonly delivered: number;
  readonly backlog: number;
  readonly retrying: number;
  readonly dead: number;
  readonly filtered: number;
  readonly purged: number;
  readonly expired: number;
  readonly erased: number;
  readonly oldestBacklogAgeMs: number | null;
  readonly nextAttemptAt: string | null;
}

export interface AlertRow {
  readonly kind: string;
  readonly destination: string | null;
  /** A source, or what an event was, where there are several alerts of a kind. */
  readonly subject?: string;
  readonly raisedAt: string;
  readonly clearedAt: string | null;
  readonly detail: string;
  /** A message of it that has not reached everybody; `nextTryAt` null: given up after five tries [O9]. */
  readonly untold?: {
    readonly what: "raised" | "cleared";
    readonly tries: number;
    readonly failure: string;
    readonly nextTryAt: string | null;
  };
}

export interface TenantStats {
  readonly tenant: string;
  readonly version: number;
  readonly accepted: number;
  /** These five are approximate [X9]. */
  readonly deduplicated: number;
  readonly deduplicatedWithOtherBody: number;
  readonly rateLimited: number;
  readonly reopened: number;
  /** Requests that failed their verification, or were meant for a source that there is not [O7]. */
  readonly rejected?: number;
  readonly destinations: Readonly<Record<string, DestinationStats>>;
  readonly storage: { readonly bytes: number; readonly segments: number };
  readonly cost: {
    readonly since: string;
    readonly rowsWritten: number;
    readonly rowsRead: number;
    readonly setupRows: number;
    /** Transactions that wrote something. */
    readonly commits: number;
  };
  readonly alerts: readonly AlertRow[];
}

/** One event as `GET …/events/:id` shows it; no bytes. */
export interface EventView {
  readonly id: string;
  readonly seq: string;
  readonly source: string;
  readonly provider: string;
  readonly type: string | null;
  readonly receivedAt: string;
  readonly contentType: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly bodySizeBytes: number;
  readonly destinations: Readonly<Record<string, EventDestinationView>>;
}

export interface EventDestinationView {
  readonly state:
    | "backlog"
    | "retrying"
    | "delivered"
    | "dead"
    | "filtered"
    | "purged"
    | "expired"
    | "erased"
    | "not-offered";
  readonly reason?: string;
  readonly nextAttemptAt?: string;
  readonly attempts: readonly AttemptView[];
}

export interface AttemptView {
  readonly at: string;
  readonly batchId: string;
  readonly durationMs: number;
  readonly status: number | null;
  readonly outcome: string;
  readonly response: string;
}

export type BodyAnswer =
  | { readonly kind: "body"; readonly body: Uint8Array; readonly contentType: string | null }
  /** A large body [V25], as it is read from the log: to be read, or cancelled. */
  | {
      readonly kind: "stream";
      readonly stream: ReadableStream<Uint8Array>;
      readonly sizeBytes: number;
      readonly contentType: string | null;
    }
  | { readonly kind: "not-found" }
  | { readonly kind: "expired" };

export interface DeadLetterView {
  readonly id: string;
  readonly seq: string;
  readonly destination: string;
  readonly source: string;
  readonly type: string | null;
  readonly reason: string;
  readonly receivedAt: string;
  readonly diedAt: string;
  readonly attempts: number;
  readonly lastStatus: number | null;
  readonly lastResponse: string;
}

export interface DeadLetterQuery extends Selection {
  readonly destination: string;
  readonly limit: number;
  readonly cursor: string | null;
}

export type JobKind = "redrive" | "purge" | "replay" | "erase";

/** Exactly one of `ids`, `filter` and `all`; `all` only for dead letters. */
export interface JobCall {
  readonly kind: JobKind;
  /** redrive and purge: the one whose dead letters are meant. replay: where to, empty for those that had it delivered. */
  readonly destinations: readonly string[];
  readonly ids?: readonly string[];
  readonly filter?: Selection;
  readonly all?: boolean;
  readonly dryRun: boolean;
  /** The job's id, where several objects are to share it. */
  readonly id?: string;
}

/** `job` null: a dry run, or it is done already. `count`: the events it is about. */
export type JobAnswer =
  | { readonly kind: "started"; readonly job: string | null; readonly count: number }
  | { readonly kind: "no-such-destination"; readonly destination: string };

export interface JobView {
  readonly id: string;
  readonly kind: JobKind;
  readonly state: "running" | "done" | "cancelled";
  readonly destinations: readonly string[];
  /** Events it was about when it began. */
  readonly count: number;
  readonly done: number;
  readonly startedAt: string;
  readonly endedAt: string | null;
}

export type EventState = EventDestinationView["state"];

/** A search [X8]; `state` may need `destination` where there are several. */
export interface EventQuery extends Selection {
  readonly state?: EventState;
  readonly destination?: string;
  readonly limit: number;
  readonly cursor: string | null;
}

/** One line of a search: the event and its state at each destination, newest first. */
export interface EventLine {
  readonly id: string;
  readonly seq: string;
  readonly source: string;
  readonly type: string | null;
  readonly receivedAt: string;
  readonly bodySizeBytes: number;
  readonly states: Readonly<Record<string, EventState>>;
}

export interface EventPage {
  readonly items: readonly EventLine[];
  /** Where to go on; null: everything was looked at. A page may be empty and still have one. */
  readonly cursor: string | null;
}

/** A call of an operator that changed something, or was to [O11]. */
export interface ChangeView {
  readonly at: string;
  readonly who: string;
  readonly what: string;
  readonly status: number;
  readonly count: number | null;
}
