/**
 * The fresh events a destination comes to next: heads read ahead of the position, those that its filter passes over left
 * out, so that a batch is planned by sizes before any bytes are read.
 */
import { type EventFilter, passes } from "../core/filter.ts";
import type { EventHead, Events } from "../log/events.ts";

/** Rows read in one look ahead; a filter that passes most over is looked at again in the next one. */
const SCAN_ROWS_MAX = 1_000;

export interface FreshEvents {
  readonly heads: readonly EventHead[];
  readonly bytes: number;
  /** The batch is full, by number or by bytes. */
  readonly full: boolean;
  /** All events looked ahead up to `lastSeq`, those beyond this batch included. */
  readonly headsAhead: number;
  /** Everything up to here has been looked at. */
  readonly scannedToSeq: number;
  /** Receipt of the first event passed over since the stretch began, or null. */
  readonly passedOverSinceMs: number | null;
}

export class LookAhead {
  readonly #events: Events;
  #heads: EventHead[] = [];
  /** Everything up to here has been looked at. */
  #scannedToSeq = 0;
  #passedOverSinceMs: number | null = null;
  #nextSeq = 0;

  constructor(events: Events) {
    this.#events = events;
  }

  /** Forgets what was read: the filter changed, or a transaction was rolled back. */
  reset(): void {
    this.#heads = [];
    this.#scannedToSeq = 0;
    this.#passedOverSinceMs = null;
    this.#nextSeq = 0;
  }

  /**
   * The next batch from `nextSeq` on, of at most `eventsMax` events and `bytesMax` bytes, kept headers included (the first
   * event always fits), but for those left out.
   * `lastSeq`: the newest event stored, or the end of the stretch that may be read.
   */
  fresh(
    nextSeq: number,
    lastSeq: number,
    filter: EventFilter | null,
    eventsMax: number,
    bytesMax: number,
    isLeftOut: (seq: number) => boolean,
  ): FreshEvents {
    this.#begin(nextSeq);
    if (this.#heads.length < eventsMax && this.#scannedToSeq < lastSeq) {
      this.#read(
        lastSeq,
        (head) => !head.erased && passes(filter, head.source, head.type) && !isLeftOut(head.seq),
        eventsMax,
      );
    }
    const batch: EventHead[] = [];
    let bytes = 0;
    for (const head of this.#heads) {
      if (head.seq > lastSeq) break;
      if (batch.length >= eventsMax) break;
      // A large event is sent alone: a batch ends before it, and after it [V25].
      const sizeBytes = head.sizeBytes + head.headersSizeBytes;
      if (batch.length > 0 && (head.large || batch[0]?.large === true || bytes + sizeBytes > bytesMax)) break;
      batch.push(head);
      bytes += sizeBytes;
    }
    const isAlone = batch[0]?.large === true;
    const headsAhead = this.#headsUpTo(lastSeq);
    const full = batch.length >= eventsMax || batch.length < headsAhead || bytes >= bytesMax || isAlone;
    return {
      heads: batch,
      bytes,
      full,
      headsAhead,
      scannedToSeq: Math.min(this.#scannedToSeq, lastSeq),
      passedOverSinceMs: this.#passedOverSinceMs,
    };
  }

  /** The stretch begins at `nextSeq` now: events before it are dealt with. One that went back is read again. */
  #begin(nextSeq: number): void {
    if (nextSeq === this.#nextSeq) return;
    if (nextSeq < this.#nextSeq) this.reset();
    this.#nextSeq = nextSeq;
    this.#heads = this.#heads.filter((head) => head.seq >= nextSeq);
    if (this.#scannedToSeq < nextSeq) this.#passedOverSinceMs = null;
    this.#scannedToSeq = Math.max(this.#scannedToSeq, nextSeq - 1);
  }

  /** Those behind the stretch are not part of it: it can be over while they wait. */
  #headsUpTo(lastSeq: number): number {
    let count = this.#heads.length;
    for (let last = this.#heads[count - 1]; last !== undefined && last.seq > lastSeq; last = this.#heads[count - 1]) {
      count -= 1;
    }
    return count;
  }

  #read(lastSeq: number, isWanted: (head: EventHead) => boolean, eventsMax: number): void {
    let rowsLeft = SCAN_ROWS_MAX;
    while (this.#heads.length < eventsMax && this.#scannedToSeq < lastSeq && rowsLeft > 0) {
      const rows = this.#events.heads(this.#scannedToSeq, Math.min(rowsLeft, eventsMax - this.#heads.length));
      if (rows.length === 0) {
        this.#scannedToSeq = lastSeq;
        return;
      }
      rowsLeft -= rows.length;
      for (const head of rows) {
        this.#scannedToSeq = head.seq;
        if (isWanted(head)) this.#heads.push(head);
        else this.#passedOverSinceMs ??= head.receivedAtMs;
      }
    }
  }
}
