/**
 * The calls between Worker and tenant object, as plain data [O12]: a Worker of the previous release must be able to
 * talk to an object of this one and the other way round, so fields are only ever added.
 */
import type { IdTrust, StoredEvent } from "../core/event.ts";
import type { Place } from "../core/place.ts";
import type { Rejection } from "../core/rejections.ts";
import type { ConfigRecord } from "../tenants/config.ts";
import type {
  BodyAnswer,
  ChangeView,
  DeadLetterQuery,
  DeadLetterView,
  EventPage,
  EventQuery,
  EventView,
  JobAnswer,
  JobCall,
  JobView,
  TenantStats,
} from "./views.ts";

export type * from "./views.ts";

/** One verified arrival. Digests are made by the Worker, where the time is spread over many isolates. */
export interface IngestCall {
  readonly tenant: string;
  /** The version of the configuration the request was verified with [O4]. */
  readonly version: number;
  readonly source: string;
  readonly provider: string;
  readonly eventId: string;
  readonly trust: IdTrust;
  readonly type: string | null;
  readonly contentType: string | null;
  /** JSON object of the kept headers [I14], "" when there are none. */
  readonly headers: string;
  readonly hops: number;
  /** What to do with this provider's events over the limit [R3]. */
  readonly overLimit: "reject" | "absorb";
  /** The object it goes to [S1]; absent: the first. */
  readonly shard?: number;
  /** The caller understands `true` as an answer. */
  readonly brief?: boolean;
  /**
   * Digests in one piece: 16 bytes of SHA-256(eventId), 8 bytes of SHA-256(body) and, only where `trust` is
   * `unsigned`, 16 bytes of SHA-256(suffixed event id) [D8].
   */
  readonly keys: Uint8Array;
  readonly body: Uint8Array;
}

/**
 * A large event [V25]: `body` is empty, and its bytes come as a stream beside the call, so that neither side holds them
 * twice.
 */
export interface LargeIngestCall extends IngestCall {
  readonly bodySizeBytes: number;
  /** The body is UTF-8: found by the Worker, where the time is spread over many isolates. */
  readonly isText: boolean;
}

export type IngestAnswer =
  | {
      readonly kind: "buffered" | "deduplicated" | "reopened";
      readonly eventId: string;
      /** Nothing had arrived for an hour: the Worker enters the object in the registry [V20](f). */
      readonly wasIdle?: boolean;
    }
  | { readonly kind: "rate-limited"; readonly retryAfterSeconds: number }
  | { readonly kind: "unavailable"; readonly code: string; readonly retryAfterSeconds: number }
  | { readonly kind: "stale"; readonly record: ConfigRecord }
  | { readonly kind: "unconfigured" };

/**
 * What `ingest` says. `true`, to a caller that is `brief`: buffered, under the id of the call, and nothing else to tell.
 * The ordinary case is spared the object, which would cost as much as the signature's check.
 */
export type IngestReply = true | IngestAnswer;

/** `ifVersion`: only if the stored version is this one [O4] (null: whatever it is). */
export interface ConfigureCall {
  readonly tenant: string;
  readonly ifVersion: number | null;
  /** Remove destinations that have a backlog; their events are counted as purged [V21]. */
  readonly force: boolean;
  /** Sealed by the Worker; the object numbers it, `version` in here is ignored. */
  readonly record: ConfigRecord;
}

export type ConfigureAnswer =
  | { readonly kind: "configured"; readonly record: ConfigRecord; readonly everywhere: boolean }
  | { readonly kind: "version-conflict"; readonly version: number }
  | { readonly kind: "has-backlog"; readonly destinations: Readonly<Record<string, number>> }
  | { readonly kind: "refused"; readonly code: string; readonly detail: string };

/** What an object of an earlier layout says of an event [S2]. */
export type RecallAnswer =
  | IngestAnswer
  /** It does not know the event. `taken`: it knows the id with another body, so the event gets its suffix [D8]. */
  | { readonly kind: "unknown"; readonly taken: boolean }
  /** It has not been told of the caller's configuration yet: nothing may be stored on its word. */
  | { readonly kind: "behind" };

/** The first object tells another one of a configuration. */
export interface AdoptCall {
  readonly tenant: string;
  readonly shard: number;
  readonly record: ConfigRecord;
}

/** What an isolate turned away of a tenant since its last report [O7]. */
export interface RejectionReport {
  readonly tenant: string;
  readonly kinds: readonly Rejection[];
}

/** What an object tells the sweep [V20](f) [O8]. */
export interface TendAnswer {
  readonly stats: TenantStats;
  /** Nothing arrived for an hour, and nothing waits. */
  readonly isIdle: boolean;
}

/** The provider handed over its secret, in a request that nothing signs [I7]. */
export interface TakeSecretCall {
  readonly source: string;
  readonly secret: string;
}

export type TakeSecretAnswer =
  /** It is stored; `record` is the configuration that has it. */
  | { readonly kind: "taken"; readonly record: ConfigRecord }
  /** The source has a secret already, or nobody expects one now. */
  | { readonly kind: "closed" };

export interface ChangeCall {
  readonly who: string;
  readonly what: string;
  readonly status: number;
  readonly count: number | null;
}

/** A message that ended in the dead-letter queue. */
export interface ExhaustedCall {
  readonly eventId: string;
  readonly destination: string;
  /** The event as its message holds it, for the case that nothing is stored of it any more; absent: it was a claim. */
  readonly event?: Omit<StoredEvent, "body"> & { readonly body: Uint8Array };
}

/** What the tenant's object answers to; every method takes and returns plain data. */
export interface TenantBufferCalls {
  ingest(call: IngestCall): Promise<IngestReply>;
  /** As `ingest`. A body that ends early, or takes too long, leaves nothing behind; of a duplicate none is read. */
  ingestLarge(call: LargeIngestCall, body: ReadableStream<Uint8Array>): Promise<IngestAnswer>;
  /** An object of the current layout asks one of an earlier layout for an event it does not know [S2]. */
  recall(call: IngestCall): Promise<RecallAnswer>;
  /** Takes over a configuration that the tenant's first object numbered; false where it cannot be opened. */
  adopt(call: AdoptCall): Promise<boolean>;
  /** Events waiting at each destination of this object. */
  backlogs(): Promise<Readonly<Record<string, number>>>;
  /** The newest configuration, or null where there is none. */
  readConfig(): Promise<ConfigRecord | null>;
  configure(call: ConfigureCall): Promise<ConfigureAnswer>;
  /** 409-like `has-backlog` unless forced; leaves a tombstone for 24 h. */
  deleteTenant(call: {
    readonly tenant: string;
    readonly ifVersion: number | null;
    readonly force: boolean;
  }): Promise<ConfigureAnswer>;
  /** null: no configuration. */
  stats(): Promise<TenantStats | null>;
  /** What an isolate turned away since its last report; an object without configuration does not care. */
  reportRejections(report: RejectionReport): Promise<void>;
  /** Sets the alarm again where it was lost, and says how things stand; null: no configuration. */
  tend(): Promise<TendAnswer | null>;
  drain(): Promise<{ readonly drained: true }>;
  pause(destination: string): Promise<boolean>;
  resume(destination: string): Promise<boolean>;
  event(eventId: string): Promise<EventView | null>;
  body(eventId: string): Promise<BodyAnswer>;
  deadLetters(
    query: DeadLetterQuery,
  ): Promise<{ readonly items: readonly DeadLetterView[]; readonly cursor: string | null } | null>;
  /** Puts dead letters back in the backlog by event id; null: no such destination. */
  redrive(call: {
    readonly destination: string;
    readonly ids: readonly string[];
    readonly dryRun: boolean;
  }): Promise<{ readonly count: number } | null>;
  /** Redrive, purge, replay, erase: a durable job, or its dry run [X2] [X3] [X4] [X6]. */
  startJob(call: JobCall): Promise<JobAnswer>;
  job(id: string): Promise<JobView | null>;
  /** Ends a job where it is; null: there is none of that id. */
  cancelJob(id: string): Promise<JobView | null>;
  events(query: EventQuery): Promise<EventPage | null>;
  /**
   * The queue gave a message up: its event, delivered so far, is a dead letter [V19]. False: it was not delivered there.
   * Null: this object cannot say now.
   */
  queueExhausted(call: ExhaustedCall): Promise<boolean | null>;
  /** The queue's consumer has delivered an event that it had fetched from here; false: nothing was kept for it. */
  claimTaken(call: { readonly eventId: string; readonly destination: string }): Promise<boolean>;
  /** The recent ones, newest first; null: no configuration. */
  rejections(): Promise<readonly Rejection[] | null>;
  /** Stores a secret that a provider hands over, once, while its window is open [I7]. */
  takeSecret(call: TakeSecretCall): Promise<TakeSecretAnswer>;
  /** Notes what an operator changed [O11]; false: no configuration. */
  recordChange(call: ChangeCall): Promise<boolean>;
  /** Newest first; `cursor` is where to go on. null: no configuration. */
  changes(query: {
    readonly cursor: string | null;
    readonly limit: number;
  }): Promise<{ readonly items: readonly ChangeView[]; readonly cursor: string | null } | null>;
  /** Gives an event up by hand [V15]; false where it is in no backlog there. Null: no such destination. */
  giveUpEvent(call: { readonly eventId: string; readonly destination: string }): Promise<boolean | null>;
}

/** Where the objects of tenants are found; each call to `of` makes a fresh stub, as one is broken after an exception. */
export interface TenantObjects {
  /**
   * `retryLimitMs`: how long the runtime may go on trying by itself [I13]; `shard`: 0 unless said. `place`: where a tenant
   * lives that is being created; that of one which exists is found out.
   */
  of(tenant: string, retryLimitMs: number, shard?: number, place?: Place): TenantBufferCalls;
}
