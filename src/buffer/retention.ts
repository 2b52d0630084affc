/**
 * Taking out what is over, a little at a time [L1] [L2] [X1]: dead letters past their time, body segments past their
 * retention, key segments past the window. One turn drops at most one segment and copies at most 8 MB.
 */
import {
  BODY_SEGMENT_AGE_MAX_MS,
  COPY_BYTES_MAX,
  COPY_EVENTS_MAX,
  isWorthCopying,
  overdueCount,
} from "../core/segments.ts";
import type { Log } from "../log/log.ts";
import type { Segment } from "../log/segments.ts";
import type { TenantConfig } from "../tenants/config.ts";
import type { Roster } from "./roster.ts";

const EXPIRE_ROWS_MAX = 500;
/** A segment that cannot go yet, for the dead letters in it, is looked at again after this. */
const LOOK_AGAIN_MS = 3_600_000;

/** One in which a large body is coming in, or being read, after this. */
const UPLOAD_LOOK_AGAIN_MS = 60_000;

/** What one turn did; the counters tests watch [L1]. */
export interface Turn {
  readonly droppedBytes: number;
  readonly copiedBytes: number;
  readonly expiredEvents: number;
}

export class RetentionTurns {
  readonly #log: Log;
  readonly #roster: Roster;
  /** The last 1,000 turns that did something. */
  readonly turns: Turn[] = [];
  /** Body segments that had to stay when last looked at, and when to look again. */
  readonly #staying = new Map<number, number>();

  constructor(log: Log, roster: Roster) {
    this.#log = log;
    this.#roster = roster;
  }

  /** When the next turn is due, or null while nothing stored will ever be over by itself. */
  nextDueMs(config: TenantConfig, nowMs: number): number | null {
    const dues: number[] = [];
    const expiryMs = this.#log.dead.nextExpiryMs();
    if (expiryMs !== null) dues.push(expiryMs);
    const claimEndMs = this.#log.claims.nextEndMs();
    if (claimEndMs !== null) dues.push(claimEndMs);
    const settled = this.#settledBodies();
    if (this.#overdueBody(settled, config, nowMs) !== null) dues.push(nowMs);
    for (const segment of settled) {
      const stayUntilMs = this.#staying.get(segment.id) ?? 0;
      dues.push(Math.max(stayUntilMs, this.#endedAtMs(segment) + config.retainSeconds * 1000));
    }
    const [key] = this.#log.segments.keys;
    if (key !== undefined && this.#isForgettable(key)) {
      dues.push(this.#endedAtMs(key) + config.dedupeWindowSeconds * 1000);
    }
    return dues.length === 0 ? null : Math.min(...dues);
  }

  /** Does one turn, in a transaction of its own; true when something was done and another turn may find more. */
  turn(config: TenantConfig, nowMs: number): boolean {
    const turn = this.#log.transaction(
      () =>
        this.#expire(nowMs) ?? this.#endClaims(nowMs) ?? this.#dropBody(config, nowMs) ?? this.#dropKey(config, nowMs),
    );
    if (turn === null) return false;
    this.turns.push(turn);
    if (this.turns.length > 1_000) this.turns.shift();
    return true;
  }

  #expire(nowMs: number): Turn | null {
    const expired = this.#log.dead.expire(nowMs, EXPIRE_ROWS_MAX);
    if (expired.length === 0) return null;
    let expiredEvents = 0;
    for (const { destination, seqs, ranges, eventCount } of expired) {
      expiredEvents += eventCount;
      this.#roster.count(destination, { dead: -eventCount, expired: eventCount });
      for (const seq of seqs) this.#roster.releaseKept(seq);
      for (const range of ranges) {
        for (const seq of this.#log.events.keptSeqs(range.firstSeq - 1, range.lastSeq, EXPIRE_ROWS_MAX)) {
          this.#roster.releaseKept(seq);
        }
      }
    }
    return { droppedBytes: 0, copiedBytes: 0, expiredEvents };
  }

  /** Bytes that a queue's consumer may have fetched go, where nobody else needs them [V19]. */
  #endClaims(nowMs: number): Turn | null {
    const seqs = this.#log.claims.end(nowMs, EXPIRE_ROWS_MAX);
    for (const seq of seqs) this.#roster.releaseKept(seq);
    return seqs.length === 0 ? null : { droppedBytes: 0, copiedBytes: 0, expiredEvents: 0 };
  }

  #dropBody(config: TenantConfig, nowMs: number): Turn | null {
    const segment = this.#overdueBody(this.#settledBodies(), config, nowMs);
    if (segment === null) return null;
    const { segments, events, chunks, meter } = this.#log;
    const lastSeq = segment.sealed?.lastSeq ?? segments.high.seq;
    if (chunks.isStagedIn(segment)) {
      this.#staying.set(segment.id, nowMs + UPLOAD_LOOK_AGAIN_MS);
      return null;
    }
    const references = this.#references(segment.firstSeq, lastSeq, nowMs);
    if (references === null || !isWorthCopying(references.length, lastSeq - segment.firstSeq + 1)) {
      this.#staying.set(segment.id, nowMs + LOOK_AGAIN_MS);
      return null;
    }
    let copiedBytes = 0;
    let copiedEvents = 0;
    for (const seq of references) {
      if (events.isKept(seq)) continue;
      if (copiedEvents >= COPY_EVENTS_MAX || copiedBytes >= COPY_BYTES_MAX) {
        return { droppedBytes: 0, copiedBytes, expiredEvents: 0 };
      }
      copiedBytes += events.keep(segment, seq, COPY_BYTES_MAX - copiedBytes);
      // A large event that was copied in part goes on in the next turn.
      if (!events.isKept(seq)) return { droppedBytes: 0, copiedBytes, expiredEvents: 0 };
      copiedEvents += 1;
    }
    const sealed = segment.sealed === null ? segments.seal("body", nowMs, meter.encodeWithWrite(1)) : segment;
    if (sealed === null) return null;
    chunks.forgetCopies(sealed);
    segments.drop(sealed);
    return { droppedBytes: sealed.sealed?.sizeBytes ?? 0, copiedBytes, expiredEvents: 0 };
  }

  #dropKey(config: TenantConfig, nowMs: number): Turn | null {
    const { segments, meter } = this.#log;
    const [segment] = segments.keys;
    if (segment === undefined || !this.#isForgettable(segment)) return null;
    if (nowMs < this.#endedAtMs(segment) + config.dedupeWindowSeconds * 1000) return null;
    const sealed = segment.sealed === null ? segments.seal("key", nowMs, meter.encodeWithWrite(1)) : segment;
    if (sealed?.sealed == null) return null;
    segments.drop(sealed);
    for (const name of this.#roster.names()) {
      this.#log.dead.forgetUpTo(name, sealed.sealed.lastSeq);
      this.#log.claims.forgetUpTo(name, sealed.sealed.lastSeq);
    }
    return { droppedBytes: 0, copiedBytes: 0, expiredEvents: 0 };
  }

  #overdueBody(settled: readonly Segment[], config: TenantConfig, nowMs: number): Segment | null {
    const ages = settled.map((segment) => ({
      sizeBytes: this.#sizeBytes(segment),
      endedAtMs: this.#endedAtMs(segment),
    }));
    const overdue = settled.slice(0, overdueCount(ages, config, nowMs, this.#log.sizeBytes));
    return overdue.find((segment) => (this.#staying.get(segment.id) ?? 0) <= nowMs) ?? null;
  }

  /** Body segments with events in them that every destination has passed, oldest first. */
  #settledBodies(): Segment[] {
    const { segments } = this.#log;
    const settledSeq = this.#roster.lowestPosition();
    return segments.bodies.filter((segment) => {
      const lastSeq = segment.sealed?.lastSeq ?? segments.high.seq;
      return lastSeq <= settledSeq && lastSeq >= segment.firstSeq;
    });
  }

  /** Events in `[firstSeq, lastSeq]` that a destination still needs; null: more than could be copied. */
  #references(firstSeq: number, lastSeq: number, nowMs: number): number[] | null {
    const limit = Math.ceil((lastSeq - firstSeq + 1) / 100) + 1;
    const seqs = new Set<number>();
    for (const name of this.#roster.names()) {
      const dead = this.#log.dead.referencesIn(name, firstSeq, lastSeq, limit);
      for (const seq of dead.seqs) seqs.add(seq);
      for (const seq of this.#log.aside.seqsIn(name, firstSeq, lastSeq, limit)) seqs.add(seq);
      if (seqs.size + dead.inRanges > limit) return null;
      for (const seq of dead.rangeSeqs) seqs.add(seq);
      for (const seq of this.#log.claims.seqsIn(name, firstSeq, lastSeq, nowMs, limit)) seqs.add(seq);
    }
    return [...seqs].sort((a, b) => a - b);
  }

  /** No event that the key segment names is stored any more. */
  #isForgettable(key: Segment): boolean {
    const { segments } = this.#log;
    const lastSeq = key.sealed?.lastSeq ?? segments.high.seq;
    const [oldestBody] = segments.bodies;
    if (oldestBody !== undefined && oldestBody.firstSeq <= lastSeq && segments.high.seq >= oldestBody.firstSeq)
      return false;
    const [oldestKept] = this.#log.events.keptSeqs(0, lastSeq, 1);
    return oldestKept === undefined;
  }

  /** An open segment has not ended before its hour is over: a lone event is not worth a segment of its own. */
  #endedAtMs(segment: Segment): number {
    if (segment.sealed !== null) return segment.sealed.atMs;
    return Math.max(this.#log.segments.high.receivedAtMs, segment.openedAtMs + BODY_SEGMENT_AGE_MAX_MS);
  }

  #sizeBytes(segment: Segment): number {
    return segment.sealed?.sizeBytes ?? this.#log.segments.high.offeredBytes - segment.bytesBefore;
  }
}
