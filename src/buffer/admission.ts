/** Whether one more event may be stored [R1] [R3] [L4]: tokens in memory, and what stands against storing anything. */
import { unreachable } from "../core/assert.ts";
import { admit, type Bucket, fullBucket, rebuildBucket, refill } from "../core/rate-limit.ts";
import { OBJECT_BYTES_MAX } from "../core/segments.ts";
import type { Log } from "../log/log.ts";
import type { TenantConfig } from "../tenants/config.ts";
import type { IngestAnswer, IngestCall } from "./contract.ts";
import type { Roster } from "./roster.ts";

export type Refusal = Extract<IngestAnswer, { kind: "rate-limited" | "unavailable" }>;

/** How often the size of the store is asked for. */
const LOOK_EVERY_MS = 1_000;

export class Admission {
  readonly #log: Log;
  readonly #roster: Roster;
  readonly #random: () => number;
  #config: TenantConfig;
  #bucket: Bucket;
  #isFull = false;
  #lookedAtMs = 0;

  /** The tokens are what the newest events left of them, so that an eviction is no way around the limit. */
  constructor(log: Log, roster: Roster, config: TenantConfig, nowMs: number, random: () => number) {
    this.#log = log;
    this.#roster = roster;
    this.#random = random;
    this.#config = config;
    const sinceMs = nowMs - config.rateLimit.windowSeconds * 1000;
    this.#bucket = rebuildBucket(config.rateLimit, log.events.newestReceipts(sinceMs, config.rateLimit.events), nowMs);
  }

  /** A changed configuration; tokens stay as far as the new limit allows. */
  reconfigure(config: TenantConfig, nowMs: number): void {
    const current = refill(this.#bucket, this.#config.rateLimit, nowMs);
    const full = fullBucket(config.rateLimit, nowMs);
    this.#config = config;
    this.#bucket = {
      ...current,
      tokens: Math.min(current.tokens, full.tokens),
      absorbable: Math.min(current.absorbable, full.absorbable),
    };
  }

  /**
   * Looks whether there is room on disk; to be called before a transaction that stores. Asking the store costs as much as
   * storing an event, and the bound leaves room for a second's worth: once a second is enough.
   */
  look(nowMs: number): void {
    if (Math.abs(nowMs - this.#lookedAtMs) < LOOK_EVERY_MS) return;
    this.#lookedAtMs = nowMs;
    this.#isFull = this.#log.sizeBytes >= OBJECT_BYTES_MAX;
  }

  /** What memory holds, to be put back where storing fails. */
  snapshot(): Bucket {
    return this.#bucket;
  }

  restore(bucket: Bucket): void {
    this.#bucket = bucket;
  }

  /** Takes a token for an event that the log does not hold yet; null: it may be stored. */
  toStore(call: IngestCall, nowMs: number): Refusal | null {
    return this.#refusal() ?? this.take(call, nowMs);
  }

  /** Takes a token; null: there was one. */
  take(call: IngestCall, nowMs: number): Refusal | null {
    const admission = admit(this.#bucket, this.#config.rateLimit, call.overLimit, nowMs, this.#random());
    this.#bucket = admission.bucket;
    switch (admission.kind) {
      case "admitted":
      case "absorbed":
        return null;
      case "refused":
        this.#log.meter.totals.rateLimited += 1;
        return { kind: "rate-limited", retryAfterSeconds: admission.retryAfterSeconds };
      default:
        return unreachable(admission);
    }
  }

  /** What `toStore` would answer now; takes no token where that is null. */
  foresee(call: IngestCall, nowMs: number): Refusal | null {
    const before = this.#bucket;
    const refusal = this.toStore(call, nowMs);
    if (refusal === null) this.#bucket = before;
    return refusal;
  }

  #refusal(): Refusal | null {
    if (this.#roster.isAheadOfLog()) {
      return { kind: "unavailable", code: "position-beyond-log", retryAfterSeconds: 60 };
    }
    if (this.#isFull) {
      return { kind: "unavailable", code: "storage-full", retryAfterSeconds: 60 };
    }
    return null;
  }
}
