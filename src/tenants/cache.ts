/**
 * What an isolate remembers of tenants, so that the ingress path neither reads KV nor opens a sealed record for each
 * request [C4]: at most 1,000 tenants, unknown names included, KV read at most once per tenant in 30 s, one read for
 * all requests that wait for it. Memory never goes back to an older version [O4].
 */
import { withinLimit } from "../core/in-time.ts";
import type { ConfigRecord, TenantConfig } from "./config.ts";
import type { OpenFailure, SealingKeys } from "./sealing.ts";
import { openConfig } from "./sealing.ts";

export type TenantEntry =
  | { readonly kind: "live"; readonly version: number; readonly config: TenantConfig }
  | { readonly kind: "deleted"; readonly version: number }
  /** There is a record, and it cannot be opened: our fault, not the sender's [I7]. */
  | { readonly kind: "unreadable"; readonly version: number; readonly reason: OpenFailure }
  | { readonly kind: "unknown" };

/** `unavailable`: KV failed and memory holds nothing. */
export type TenantLookup = TenantEntry | { readonly kind: "unavailable" };

interface TenantCacheSources {
  /** Reads the tenant's record from KV; null where there is none. May throw. */
  readonly read: (tenant: string) => Promise<ConfigRecord | null>;
  readonly keys: SealingKeys;
  /** Hears of each record that is remembered. */
  readonly onRecord?: (tenant: string, record: ConfigRecord) => void;
}

/** The lifetime of a request: work that others share must not end with its answer, or with its sender's patience. */
export interface OutlivesAnswer {
  waitUntil(work: Promise<unknown>): void;
}

interface Remembered {
  readonly entry: TenantEntry;
  /** When KV has to be asked again; moves on without a new entry. */
  freshUntilMs: number;
  /** Until then KV may not have heard of what the tenant's object said: that it has nothing proves nothing. */
  readonly aheadOfKvUntilMs: number;
}

const FRESH_MS = 30_000;
/** For so long memory is good enough while KV is being read anew. */
const READ_ANEW_MS = 30_000;
/** A failed read is tried again sooner than a good one, or a hiccup of KV would refuse a tenant for 30 s. */
const RETRY_FAILED_READ_MS = 2_000;
/** A read that takes longer counts as failed: what memory holds is better than a sender that gives up. */
const READ_LIMIT_MS = 3_000;
/** KV takes up to a minute to show a new value, and remembers that it had none. */
const KV_LAG_MS = 90_000;
/** Unknown names have their own share, so that a flood of made-up names never drives out a tenant. */
const KNOWN_COUNT_MAX = 800;
const UNKNOWN_COUNT_MAX = 200;

const UNKNOWN: TenantEntry = { kind: "unknown" };
const UNAVAILABLE: TenantLookup = { kind: "unavailable" };

export class TenantCache {
  readonly #sources: TenantCacheSources;
  readonly #known = new Map<string, Remembered>();
  /** Unknown names, with the time until which they count as unknown. */
  readonly #unknown = new Map<string, number>();
  readonly #failedUntilMs = new Map<string, number>();
  readonly #reading = new Map<string, Promise<TenantLookup>>();

  constructor(sources: TenantCacheSources) {
    this.#sources = sources;
  }

  /**
   * What memory knows without asking anybody, or null when KV has to be read. While one request reads KV anew, the others
   * go on with what there is, unless it is too old: nobody waits in a crowd every 30 s.
   */
  peek(tenant: string, nowMs: number): TenantEntry | null {
    const remembered = this.#known.get(tenant);
    if (remembered !== undefined) {
      const goodUntilMs = remembered.freshUntilMs + (this.#reading.has(tenant) ? READ_ANEW_MS : 0);
      return nowMs < goodUntilMs ? remembered.entry : null;
    }
    const unknownUntilMs = this.#unknown.get(tenant);
    return unknownUntilMs !== undefined && nowMs < unknownUntilMs ? UNKNOWN : null;
  }

  /**
   * The tenant as KV has it now. Requests that ask meanwhile share the read, so the request that began it is asked to
   * outlive it.
   */
  load(tenant: string, nowMs: number, request: OutlivesAnswer): Promise<TenantLookup> {
    const reading = this.#reading.get(tenant);
    if (reading !== undefined) return reading;
    const failedUntilMs = this.#failedUntilMs.get(tenant);
    if (failedUntilMs !== undefined && nowMs < failedUntilMs) return Promise.resolve(UNAVAILABLE);
    const started = this.#read(tenant, nowMs).finally(() => this.#reading.delete(tenant));
    this.#reading.set(tenant, started);
    request.waitUntil(started);
    return started;
  }

  /** Remembers a record that came from the tenant's object, unless memory already has a newer one. */
  keep(tenant: string, record: ConfigRecord, nowMs: number): Promise<TenantEntry> {
    return this.#keep(tenant, record, nowMs, nowMs + KV_LAG_MS);
  }

  async #keep(tenant: string, record: ConfigRecord, nowMs: number, aheadOfKvUntilMs: number): Promise<TenantEntry> {
    const known = this.#known.get(tenant);
    if (known !== undefined && isUpToDate(known.entry, record)) return known.entry;
    this.#sources.onRecord?.(tenant, record);
    const entry = await this.#open(tenant, record);
    // Another request may have kept a newer one while this one was being opened.
    const newest = this.#known.get(tenant);
    if (newest !== undefined && isUpToDate(newest.entry, record)) return newest.entry;
    this.#unknown.delete(tenant);
    this.#known.delete(tenant);
    this.#known.set(tenant, { entry, freshUntilMs: nowMs + FRESH_MS, aheadOfKvUntilMs });
    forgetOldest(this.#known, KNOWN_COUNT_MAX);
    return entry;
  }

  async #read(tenant: string, nowMs: number): Promise<TenantLookup> {
    let record: ConfigRecord | null;
    try {
      record = await withinLimit(this.#sources.read(tenant), READ_LIMIT_MS);
    } catch {
      return this.#goOnWithMemory(tenant, nowMs);
    }
    this.#failedUntilMs.delete(tenant);
    const known = this.#known.get(tenant);
    if (record === null) {
      if (known !== undefined && nowMs < known.aheadOfKvUntilMs) return this.#touch(known, nowMs);
      this.#known.delete(tenant);
      this.#rememberUnknown(tenant, nowMs);
      return UNKNOWN;
    }
    if (known !== undefined && isUpToDate(known.entry, record)) {
      // Moved to the end of the map: what is asked for is forgotten last.
      this.#known.delete(tenant);
      this.#known.set(tenant, known);
      return this.#touch(known, nowMs);
    }
    return this.#keep(tenant, record, nowMs, nowMs);
  }

  #goOnWithMemory(tenant: string, nowMs: number): TenantLookup {
    const known = this.#known.get(tenant);
    if (known !== undefined) {
      known.freshUntilMs = nowMs + FRESH_MS;
      return known.entry;
    }
    this.#failedUntilMs.set(tenant, nowMs + RETRY_FAILED_READ_MS);
    forgetOldest(this.#failedUntilMs, UNKNOWN_COUNT_MAX);
    return UNAVAILABLE;
  }

  #touch(remembered: Remembered, nowMs: number): TenantEntry {
    remembered.freshUntilMs = nowMs + FRESH_MS;
    return remembered.entry;
  }

  async #open(tenant: string, record: ConfigRecord): Promise<TenantEntry> {
    if (record.state === "deleted") return { kind: "deleted", version: record.version };
    const opened = await openConfig(this.#sources.keys, tenant, record);
    if (!opened.ok) return { kind: "unreadable", version: record.version, reason: opened.reason };
    return { kind: "live", version: record.version, config: opened.value };
  }

  #rememberUnknown(tenant: string, nowMs: number): void {
    this.#unknown.delete(tenant);
    this.#unknown.set(tenant, nowMs + FRESH_MS);
    forgetOldest(this.#unknown, UNKNOWN_COUNT_MAX);
  }
}

/** Whether memory need not take `record`: it has that version or a newer one, and could open it. */
function isUpToDate(entry: TenantEntry, record: ConfigRecord): boolean {
  if (entry.kind === "unknown") return false;
  if (entry.kind === "unreadable" && entry.version === record.version) return false;
  return entry.version >= record.version;
}

function forgetOldest(map: Map<string, unknown>, countMax: number): void {
  for (const key of map.keys()) {
    if (map.size <= countMax) return;
    map.delete(key);
  }
}
