/**
 * Storing what arrives [D3] [R1] [L5]. The first call is stored at once; while its commit is on its way to disk the
 * others gather, and are stored together when it ends: a lone event waits for nobody, a crowd shares its commits.
 */
import { BODY_DIGEST_BYTES, EVENT_KEY_BYTES } from "../core/event-key.ts";
import { hexOf } from "../core/hex.ts";
import type { Bucket } from "../core/rate-limit.ts";
import type { KeyEntry } from "../log/keys.ts";
import type { Log } from "../log/log.ts";
import type { ConfigRecord, TenantConfig } from "../tenants/config.ts";
import { Admission, type Refusal } from "./admission.ts";
import { type Arrived, bodyOf, newEvent, sizeOf } from "./arrived.ts";
import type { IngestAnswer, IngestCall, RecallAnswer } from "./contract.ts";
import { hadBeenIdle } from "./idle.ts";
import { bodySegment, keySegment } from "./open-segments.ts";
import type { Roster, RosterSnapshot } from "./roster.ts";
import type { Wake } from "./wake.ts";

const GROUP_EVENTS_MAX = 200;
const GROUP_BYTES_MAX = 8_000_000;

interface Waiting {
  readonly call: Arrived;
  readonly how: How;
  readonly resolve: (answer: RecallAnswer) => void;
}

/**
 * `store`: the ordinary case. `suffix`: another object knows the id with another body [S2]. `recall`: only looked for, on
 * behalf of the object that would store it now.
 */
type How = "store" | "suffix" | "recall";

/** Who an event is in the log. */
interface Named {
  readonly eventId: string;
  readonly key: Uint8Array;
  readonly digest: Uint8Array;
}

const UNKNOWN: RecallAnswer = { kind: "unknown", taken: false };
const TAKEN: RecallAnswer = { kind: "unknown", taken: true };

export class Intake {
  readonly #storage: DurableObjectStorage;
  readonly #log: Log;
  readonly #roster: Roster;
  readonly #wake: Wake;
  readonly #record: () => ConfigRecord;
  readonly #admission: Admission;
  #config: TenantConfig;
  #gathered: Waiting[] = [];
  #isFlushing = false;
  /** What has to be done before anything is stored: storage failed while memory was being put back. */
  #owedRestore: (() => void) | null = null;
  #isClosed = false;
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
    this.#admission = new Admission(log, roster, config, nowMs, random);
  }

  reconfigure(config: TenantConfig, nowMs: number): void {
    this.#config = config;
    this.#admission.reconfigure(config, nowMs);
  }

  /** The tenant is deleted, or its memory made anew: what still waits here is not stored, and its sender hears so. */
  close(): void {
    this.#isClosed = true;
  }

  /** Verified with a configuration that is not the newest any more, or meant for another object [O4] [S2]. */
  isStale(call: IngestCall): boolean {
    const { version, shards = 1 } = this.#record();
    return call.version < version || (call.shard ?? 0) >= shards;
  }

  /** Whether the event's id is known here; where it is not, an earlier layout may have to be asked [S2]. */
  knows(call: IngestCall): boolean {
    return this.#log.keys.find(call.keys.subarray(0, EVENT_KEY_BYTES)) !== null;
  }

  /**
   * Whether a large event's bytes are needed before it is known what becomes of it; else what is answered without them,
   * `"known"`: by `accept`. Nothing changes but the count of those over the limit.
   */
  foresee(call: IngestCall, isTaken: boolean, nowMs: number): "needed" | "known" | Refusal {
    const { known } = this.#identify(call, isTaken);
    if (known !== null && this.#isWithinWindow(call, known, nowMs)) {
      const isStillHere = this.#log.events.has(known.seq);
      if (isStillHere || this.#roster.closedAt(known.seq, call).length === 0) return "known";
    }
    this.#admission.look(nowMs);
    return this.#admission.foresee(call, nowMs) ?? "needed";
  }

  /** Stores one event; answers once it is on disk [I12]. `isTaken`: under its suffixed id. Never throws. */
  accept(call: Arrived, isTaken = false): Promise<IngestAnswer> {
    this.onArrival?.(call.source);
    return new Promise((resolve) => {
      this.#gather(call, isTaken ? "suffix" : "store", (answer) => {
        resolve(answer.kind === "unknown" || answer.kind === "behind" ? notStored : answer);
      });
    });
  }

  /** What is known of an event here; it waits for what is being stored, and stores nothing itself but a re-opening. */
  recall(call: IngestCall): Promise<RecallAnswer> {
    return new Promise((resolve) => this.#gather(call, "recall", resolve));
  }

  #gather(call: Arrived, how: How, resolve: Waiting["resolve"]): void {
    this.#gathered.push({ call, how, resolve });
    if (!this.#isFlushing) void this.#flush();
  }

  async #flush(): Promise<void> {
    this.#isFlushing = true;
    while (this.#gathered.length > 0) {
      const group = this.#takeGroup();
      let answers: readonly RecallAnswer[];
      try {
        answers = this.#storeGroup(group);
        await this.#storage.sync();
      } catch {
        // Storage fails altogether, or the commit did not reach the disk: nobody may be told otherwise, or left waiting.
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
      // A large event is stored by itself.
      if (call.upload !== undefined && count > 0) break;
      if (count > 0 && (count >= GROUP_EVENTS_MAX || bytes > GROUP_BYTES_MAX)) break;
      count += 1;
      if (call.upload !== undefined) break;
    }
    return this.#gathered.splice(0, count);
  }

  /** One transaction for all; where it fails, one for each, so that only an event that fails alone is refused [L5]. */
  #storeGroup(group: readonly Waiting[]): RecallAnswer[] {
    if (this.#isClosed) return group.map(() => notStored);
    this.#owedRestore?.();
    const bucketBefore = this.#admission.snapshot();
    const highBefore = this.#log.segments.high;
    const rosterBefore = this.#roster.snapshot();
    const nowMs = Date.now();
    this.#admission.look(nowMs);
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

  /** Puts memory back to what is stored; where storage cannot be read either, before the next event is looked at [L5]. */
  #restore(bucket: Bucket, roster: RosterSnapshot): void {
    this.#owedRestore = () => this.#restore(bucket, roster);
    this.#admission.restore(bucket);
    this.#log.reload();
    this.#roster.restore(roster);
    this.#owedRestore = null;
  }

  #store(call: Arrived, how: How, nowMs: number): RecallAnswer {
    if (how !== "recall" && this.isStale(call)) return { kind: "stale", record: this.#record() };
    const as = this.#identify(call, how === "suffix");
    if (how === "recall" && (as.known === null || !this.#isWithinWindow(call, as.known, nowMs))) {
      return as.eventId === call.eventId ? UNKNOWN : TAKEN;
    }
    return as.known === null ? this.#insert(call, as, nowMs) : this.#repeat(call, as, as.known, nowMs);
  }

  /** Under which id and key an event is looked for, and what is known there. */
  #identify(call: IngestCall, isTaken: boolean): Named & { readonly known: KeyEntry | null } {
    const key = call.keys.subarray(0, EVENT_KEY_BYTES);
    const digest = call.keys.subarray(EVENT_KEY_BYTES, EVENT_KEY_BYTES + BODY_DIGEST_BYTES);
    const known = this.#log.keys.find(key);
    const isOther = known !== null && call.trust === "unsigned" && !sameBytes(known.bodyDigest, digest);
    if (!isOther && (!isTaken || known !== null)) return { eventId: call.eventId, key, digest, known };
    // The same id over another body is another event: nobody may make it look like a duplicate [D7].
    const suffixedFrom = EVENT_KEY_BYTES + BODY_DIGEST_BYTES;
    const suffixedKey = call.keys.subarray(suffixedFrom, suffixedFrom + EVENT_KEY_BYTES);
    const eventId = `${call.eventId}~${hexOf(digest)}`;
    return { eventId, key: suffixedKey, digest, known: this.#log.keys.find(suffixedKey) };
  }

  #isWithinWindow(call: IngestCall, known: KeyEntry, nowMs: number): boolean {
    const seconds = call.trust === "content" ? this.#config.contentDedupeSeconds : this.#config.dedupeWindowSeconds;
    return Math.max(nowMs, this.#log.segments.high.receivedAtMs) - known.receivedAtMs < seconds * 1000;
  }

  /** An event whose key is known: a duplicate, one that re-opens a dead letter, or a new one after its window. */
  #repeat(call: Arrived, named: Named, known: KeyEntry, nowMs: number): IngestAnswer {
    const { eventId, digest } = named;
    if (!this.#isWithinWindow(call, known, nowMs)) {
      const receivedAtMs = Math.max(nowMs, this.#log.segments.high.receivedAtMs);
      const anewAtMs = Math.max(receivedAtMs, known.receivedAtMs + 1);
      return this.#insert(call, { ...named, eventId: `${eventId}~${anewAtMs}` }, anewAtMs, true);
    }
    const { totals } = this.#log.meter;
    const closed = this.#roster.closedAt(known.seq, call);
    if (closed.length > 0) {
      const isStillHere = this.#log.events.has(known.seq);
      const body = isStillHere ? null : bodyOf(call);
      if (!isStillHere && body === null) return notStored;
      const refusal = this.#admission.take(call, nowMs);
      if (refusal !== null) return refusal;
      if (body !== null) this.#log.events.revive(newEvent(call, body, eventId, known.seq, known.receivedAtMs, 0));
      this.#roster.reopen(known.seq, closed, nowMs);
      totals.reopened += 1;
      return stored("reopened", eventId, hadBeenIdle(this.#log, nowMs));
    }
    totals.deduplicated += 1;
    if (call.trust === "signed" && !sameBytes(known.bodyDigest, digest)) totals.deduplicatedWithOtherBody += 1;
    return { kind: "deduplicated", eventId };
  }

  #insert(call: Arrived, { eventId, key, digest }: Named, nowMs: number, isKnown = false): IngestAnswer {
    const body = bodyOf(call);
    if (body === null) return notStored;
    const refusal = this.#admission.toStore(call, nowMs);
    if (refusal !== null) return refusal;
    const full = this.#roster.makeRoom(this.#config, sizeOf(call), nowMs);
    if (full !== null) return full;
    const { segments, keys, events } = this.#log;
    const wasIdle = hadBeenIdle(this.#log, nowMs);
    const receivedAtMs = Math.max(nowMs, segments.high.receivedAtMs);
    const keysInto = keySegment(this.#log, this.#config, nowMs);
    const bodiesInto = bodySegment(this.#log, this.#config, nowMs);
    const seq = segments.high.seq + 1;
    if (isKnown) keys.replace(keysInto, key, seq, receivedAtMs, digest);
    else keys.insert(keysInto, key, seq, receivedAtMs, digest);
    const offeredBytes = segments.high.offeredBytes + sizeOf(call);
    events.insert(bodiesInto, newEvent(call, body, eventId, seq, receivedAtMs, offeredBytes));
    segments.high = { seq, offeredBytes, receivedAtMs };
    return stored("buffered", eventId, wasIdle);
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
