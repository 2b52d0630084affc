/**
 * Storing what arrives [D3] [R1] [L5]. The first call is stored at once; while its commit is on its way to disk the
 * others gather, and are stored together when it ends: a lone event waits for nobody, a crowd shares its commits.
 */
import { unreachable } from "../core/assert.ts";
import { hexOf } from "../core/hex.ts";
import { admit, type Bucket, fullBucket, rebuildBucket, refill } from "../core/rate-limit.ts";
import { BODY_SEGMENT_AGE_MAX_MS, bodySegmentBytesMax, isKeySegmentDue } from "../core/segments.ts";
import type { NewEvent } from "../log/events.ts";
import type { KeyEntry } from "../log/keys.ts";
import { KEYS_PER_SEGMENT_MAX } from "../log/keys.ts";
import type { Log } from "../log/log.ts";
import type { Segment } from "../log/segments.ts";
import type { ConfigRecord, TenantConfig } from "../tenants/config.ts";
import type { IngestAnswer, IngestCall, RecallAnswer } from "./contract.ts";
import { hadBeenIdle } from "./idle.ts";
import type { Roster, RosterSnapshot } from "./roster.ts";
import type { Wake } from "./wake.ts";

const GROUP_EVENTS_MAX = 200;
const GROUP_BYTES_MAX = 8_000_000;
/** An object holds no more than this; the platform's limit is 10 GB [L4]. */
const OBJECT_BYTES_MAX = 8_000_000_000;

const KEY_BYTES = 16;
const DIGEST_BYTES = 8;

interface Waiting {
  readonly call: IngestCall;
  readonly how: How;
  readonly resolve: (answer: RecallAnswer) => void;
}

/**
 * `store`: the ordinary case. `suffix`: another object knows the id with another body [S2]. `recall`: only looked for, on
 * behalf of the object that would store it now.
 */
type How = "store" | "suffix" | "recall";

const UNKNOWN: RecallAnswer = { kind: "unknown", taken: false };
const TAKEN: RecallAnswer = { kind: "unknown", taken: true };

type Refusal = Extract<IngestAnswer, { kind: "rate-limited" | "unavailable" }>;

export class Intake {
  readonly #storage: DurableObjectStorage;
  readonly #log: Log;
  readonly #roster: Roster;
  readonly #wake: Wake;
  readonly #random: () => number;
  readonly #record: () => ConfigRecord;
  #config: TenantConfig;
  #bucket: Bucket;
  #gathered: Waiting[] = [];
  #isFlushing = false;
  /** Hears of every arrival, whatever becomes of it. */
  onArrival: ((source: string) => void) | null = null;

  constructor(
    storage: DurableObjectStorage,
    log: Log,
    roster: Roster,
    wake: Wake,
    config: TenantConfig,
    nowMs: number,
    random: () => number,
    record: () => ConfigRecord,
  ) {
    this.#record = record;
    this.#storage = storage;
    this.#log = log;
    this.#roster = roster;
    this.#wake = wake;
    this.#config = config;
    this.#random = random;
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

  /** Verified with a configuration that is not the newest any more, or meant for another object [O4] [S2]. */
  isStale(call: IngestCall): boolean {
    const { version, shards = 1 } = this.#record();
    return call.version < version || (call.shard ?? 0) >= shards;
  }

  /** Whether the event's id is known here; where it is not, an earlier layout may have to be asked [S2]. */
  knows(call: IngestCall): boolean {
    return this.#log.keys.find(call.keys.subarray(0, KEY_BYTES)) !== null;
  }

  /** Stores one event; answers once it is on disk [I12]. `isTaken`: under its suffixed id. Never throws. */
  async accept(call: IngestCall, isTaken = false): Promise<IngestAnswer> {
    this.onArrival?.(call.source);
    const answer = await this.#gather(call, isTaken ? "suffix" : "store");
    return answer.kind === "unknown" || answer.kind === "behind" ? notStored : answer;
  }

  /** What is known of an event here; it waits for what is being stored, and stores nothing itself but a re-opening. */
  recall(call: IngestCall): Promise<RecallAnswer> {
    return this.#gather(call, "recall");
  }

  #gather(call: IngestCall, how: How): Promise<RecallAnswer> {
    return new Promise((resolve) => {
      this.#gathered.push({ call, how, resolve });
      if (!this.#isFlushing) void this.#flush();
    });
  }

  async #flush(): Promise<void> {
    this.#isFlushing = true;
    while (this.#gathered.length > 0) {
      const group = this.#takeGroup();
      let answers = this.#storeGroup(group);
      try {
        await this.#storage.sync();
      } catch {
        // The commit did not reach the disk: nobody may be told otherwise. The runtime resets the object after this.
        answers = group.map((): RecallAnswer => notStored);
      }
      group.forEach((waiting, index) => {
        waiting.resolve(answers[index] ?? notStored);
      });
    }
    this.#isFlushing = false;
  }

  #takeGroup(): Waiting[] {
    let bytes = 0;
    let count = 0;
    for (const { call } of this.#gathered) {
      bytes += call.body.byteLength;
      if (count > 0 && (count >= GROUP_EVENTS_MAX || bytes > GROUP_BYTES_MAX)) break;
      count += 1;
    }
    return this.#gathered.splice(0, count);
  }

  /** One transaction for all; where it fails, one for each, so that only an event that fails alone is refused [L5]. */
  #storeGroup(group: readonly Waiting[]): RecallAnswer[] {
    const bucketBefore = this.#bucket;
    const highBefore = this.#log.segments.high;
    const rosterBefore = this.#roster.snapshot();
    const nowMs = Date.now();
    try {
      const { answers, armedAtMs } = this.#log.transaction(() => {
        const answers = group.map(({ call, how }) => this.#store(call, how, nowMs));
        const stored = this.#log.segments.high.seq > highBefore.seq || answers.some((each) => each.kind === "reopened");
        // A run that is on is woken through memory, and nothing is armed [V20](a).
        const dueMs = stored && !this.#wake.isRunOn(nowMs) ? this.#roster.nextDueMs(nowMs) : null;
        return { answers, armedAtMs: dueMs === null ? this.#wake.armedAtMs : this.#wake.arm(dueMs, nowMs) };
      });
      if (this.#log.segments.high.seq > highBefore.seq || answers.some((each) => each.kind === "reopened")) {
        this.#wake.committed(armedAtMs);
      }
      return answers;
    } catch (error) {
      this.#restore(bucketBefore, rosterBefore);
      if (group.length === 1) {
        console.error(
          JSON.stringify({ event: "not-stored", reason: error instanceof Error ? error.message : "unknown" }),
        );
        return [notStored];
      }
      return group.map((waiting) => this.#storeGroup([waiting])[0] ?? notStored);
    }
  }

  #restore(bucket: Bucket, roster: RosterSnapshot): void {
    this.#bucket = bucket;
    this.#log.reload();
    this.#roster.restore(roster);
  }

  #store(call: IngestCall, how: How, nowMs: number): RecallAnswer {
    if (how !== "recall" && this.isStale(call)) return { kind: "stale", record: this.#record() };
    const key = call.keys.subarray(0, KEY_BYTES);
    const digest = call.keys.subarray(KEY_BYTES, KEY_BYTES + DIGEST_BYTES);
    const known = this.#log.keys.find(key);
    const isOther = known !== null && call.trust === "unsigned" && !sameBytes(known.bodyDigest, digest);
    if (isOther || (how === "suffix" && known === null)) {
      // The same id over another body is another event: nobody may make it look like a duplicate [D7].
      const suffixedKey = call.keys.subarray(KEY_BYTES + DIGEST_BYTES, KEY_BYTES * 2 + DIGEST_BYTES);
      const again = this.#log.keys.find(suffixedKey);
      return this.#storeAs(call, how, `${call.eventId}~${hexOf(digest)}`, suffixedKey, digest, again, nowMs);
    }
    return this.#storeAs(call, how, call.eventId, key, digest, known, nowMs);
  }

  #storeAs(
    call: IngestCall,
    how: How,
    eventId: string,
    key: Uint8Array,
    digest: Uint8Array,
    known: KeyEntry | null,
    nowMs: number,
  ): RecallAnswer {
    if (how === "recall" && (known === null || !this.#isWithinWindow(call, known, nowMs))) {
      return eventId === call.eventId ? UNKNOWN : TAKEN;
    }
    if (known === null) return this.#insert(call, eventId, key, digest, false, nowMs);
    return this.#repeat(call, eventId, key, digest, known, nowMs);
  }

  #isWithinWindow(call: IngestCall, known: KeyEntry, nowMs: number): boolean {
    const seconds = call.trust === "content" ? this.#config.contentDedupeSeconds : this.#config.dedupeWindowSeconds;
    return Math.max(nowMs, this.#log.segments.high.receivedAtMs) - known.receivedAtMs < seconds * 1000;
  }

  /** An event whose key is known: a duplicate, one that re-opens a dead letter, or a new one after its window. */
  #repeat(
    call: IngestCall,
    eventId: string,
    key: Uint8Array,
    digest: Uint8Array,
    known: KeyEntry,
    nowMs: number,
  ): IngestAnswer {
    if (!this.#isWithinWindow(call, known, nowMs)) {
      const receivedAtMs = Math.max(nowMs, this.#log.segments.high.receivedAtMs);
      const anewAtMs = Math.max(receivedAtMs, known.receivedAtMs + 1);
      return this.#insert(call, `${eventId}~${anewAtMs}`, key, digest, true, anewAtMs);
    }
    const { totals } = this.#log.meter;
    const closed = this.#roster.closedAt(known.seq);
    if (closed.length > 0) {
      const refusal = this.#takeToken(call, nowMs);
      if (refusal !== null) return refusal;
      if (!this.#log.events.has(known.seq)) {
        this.#log.events.revive(this.#newEvent(call, eventId, known.seq, known.receivedAtMs, 0));
      }
      this.#roster.reopen(known.seq, closed, nowMs);
      totals.reopened += 1;
      return stored("reopened", eventId, hadBeenIdle(this.#log, nowMs));
    }
    totals.deduplicated += 1;
    if (call.trust === "signed" && !sameBytes(known.bodyDigest, digest)) totals.deduplicatedWithOtherBody += 1;
    return { kind: "deduplicated", eventId };
  }

  #insert(
    call: IngestCall,
    eventId: string,
    key: Uint8Array,
    digest: Uint8Array,
    isKnown: boolean,
    nowMs: number,
  ): IngestAnswer {
    const refusal = this.#refusal() ?? this.#takeToken(call, nowMs);
    if (refusal !== null) return refusal;
    const full = this.#roster.makeRoom(this.#config, call.body.byteLength, nowMs);
    if (full !== null) return full;
    const { segments, keys, events } = this.#log;
    const wasIdle = hadBeenIdle(this.#log, nowMs);
    const receivedAtMs = Math.max(nowMs, segments.high.receivedAtMs);
    const keySegment = this.#keySegment(nowMs);
    const bodySegment = this.#bodySegment(nowMs);
    const seq = segments.high.seq + 1;
    if (isKnown) keys.replace(keySegment, key, seq, receivedAtMs, digest);
    else keys.insert(keySegment, key, seq, receivedAtMs, digest);
    const offeredBytes = segments.high.offeredBytes + call.body.byteLength;
    events.insert(bodySegment, this.#newEvent(call, eventId, seq, receivedAtMs, offeredBytes));
    segments.high = { seq, offeredBytes, receivedAtMs };
    return stored("buffered", eventId, wasIdle);
  }

  #newEvent(call: IngestCall, eventId: string, seq: number, receivedAtMs: number, offeredBytes: number): NewEvent {
    return {
      seq,
      receivedAtMs,
      sizeBytes: call.body.byteLength,
      offeredBytes,
      source: call.source,
      provider: call.provider,
      eventId,
      type: call.type,
      contentType: call.contentType,
      headers: call.headers,
      hops: call.hops,
      body: call.body,
    };
  }

  #refusal(): Refusal | null {
    if (this.#roster.isAheadOfLog()) {
      return { kind: "unavailable", code: "position-beyond-log", retryAfterSeconds: 60 };
    }
    if (this.#log.sizeBytes >= OBJECT_BYTES_MAX) {
      return { kind: "unavailable", code: "storage-full", retryAfterSeconds: 60 };
    }
    return null;
  }

  #takeToken(call: IngestCall, nowMs: number): Refusal | null {
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

  /** The key segment to write to; a new one each quarter of the window, or when it has grown too large [L1]. */
  #keySegment(nowMs: number): Segment {
    const { segments, meter } = this.#log;
    const open = segments.openKey;
    const isDue =
      open !== null &&
      (isKeySegmentDue(open.openedAtMs, this.#config.dedupeWindowSeconds, nowMs) ||
        segments.high.seq - open.firstSeq + 1 >= KEYS_PER_SEGMENT_MAX);
    if (open !== null && !isDue) return open;
    if (open !== null) segments.seal("key", nowMs, meter.encodeWithWrite(1));
    return segments.openKey ?? segments.open("key", nowMs);
  }

  #bodySegment(nowMs: number): Segment {
    const { segments, meter } = this.#log;
    const open = segments.openBody;
    const isDue =
      open !== null &&
      (nowMs - open.openedAtMs >= BODY_SEGMENT_AGE_MAX_MS ||
        segments.high.offeredBytes - open.bytesBefore >= bodySegmentBytesMax(this.#config.retainBytes));
    if (open !== null && !isDue) return open;
    if (open !== null) segments.seal("body", nowMs, meter.encodeWithWrite(1));
    return segments.openBody ?? segments.open("body", nowMs);
  }
}

const notStored: Refusal = { kind: "unavailable", code: "not-stored", retryAfterSeconds: 30 };

function stored(kind: "buffered" | "reopened", eventId: string, wasIdle: boolean): IngestAnswer {
  return wasIdle ? { kind, eventId, wasIdle } : { kind, eventId };
}

function sameBytes(stored: ArrayBuffer, given: Uint8Array): boolean {
  const bytes = new Uint8Array(stored);
  return bytes.byteLength === given.byteLength && bytes.every((byte, index) => byte === given[index]);
}
