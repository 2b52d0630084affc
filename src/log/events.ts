/**
 * The events themselves: one row each in a body segment, or among the few that were copied out of a segment before it
 * was dropped (`kept`, [L1]). Sizes and filters are read from the metadata; bytes only for what is about to be sent.
 */
import type { EventMeta, StoredEvent } from "../core/event.ts";
import type { Chunks } from "./chunks.ts";
import {
  type EventHead,
  HEAD,
  type HeadRow,
  headFromRow,
  insertion,
  META,
  type MetaRow,
  metaFromRow,
  type NewEvent,
  STORED,
  type StoredRow,
} from "./event-row.ts";
import type { Segment, Segments } from "./segments.ts";
import type { Sql, SqlTuple } from "./sql.ts";

export type { EventHead, NewEvent, UploadedBody } from "./event-row.ts";

export class Events {
  readonly #sql: Sql;
  readonly #segments: Segments;
  readonly #chunks: Chunks;

  constructor(sql: Sql, segments: Segments, chunks: Chunks) {
    this.#sql = sql;
    this.#segments = segments;
    this.#chunks = chunks;
  }

  /** Stores an event; the body of a large one was staged before, and counts from here on [I12]. */
  insert(segment: Segment, event: NewEvent): void {
    const { into, values } = insertion(event);
    this.#sql.run(`INSERT INTO body_${segment.id} ${into}`, ...values);
    if (!(event.body instanceof Uint8Array)) this.#chunks.settle(event.body.upload, segment);
  }

  /** Heads of at most `limit` events after `afterSeq`, in order of arrival. Events copied out of segments are not among them. */
  heads(afterSeq: number, limit: number): EventHead[] {
    const heads: EventHead[] = [];
    for (const segment of this.#segments.bodies) {
      if ((segment.sealed?.lastSeq ?? this.#segments.high.seq) <= afterSeq) continue;
      const rows = this.#sql.tuples<HeadRow>(
        `SELECT ${HEAD} FROM body_${segment.id} WHERE seq > ? ORDER BY seq LIMIT ?`,
        afterSeq,
        limit - heads.length,
      );
      for (const row of rows) heads.push(headFromRow(row));
      if (heads.length >= limit) break;
    }
    return heads;
  }

  /** Heads of at most `limit` events before `beforeSeq`, newest first; copied-out ones follow where no segment is older. */
  headsBefore(beforeSeq: number, limit: number): EventHead[] {
    const { bodies } = this.#segments;
    const rows: HeadRow[] = [];
    for (let index = bodies.length - 1; index >= 0 && rows.length < limit; index -= 1) {
      const segment = bodies[index];
      if (segment === undefined || segment.firstSeq >= beforeSeq) continue;
      const statement = `SELECT ${HEAD} FROM body_${segment.id} WHERE seq < ? ORDER BY seq DESC LIMIT ?`;
      rows.push(...this.#sql.tuples<HeadRow>(statement, beforeSeq, limit - rows.length));
    }
    const keptBefore = Math.min(beforeSeq, bodies[0]?.firstSeq ?? beforeSeq);
    if (rows.length < limit) {
      const statement = `SELECT ${HEAD} FROM kept WHERE seq < ? ORDER BY seq DESC LIMIT ?`;
      rows.push(...this.#sql.tuples<HeadRow>(statement, keptBefore, limit - rows.length));
    }
    return rows.map(headFromRow);
  }

  head(seq: number): EventHead | null {
    const row = this.#one<HeadRow>(HEAD, seq);
    return row === null ? null : headFromRow(row);
  }

  meta(seq: number): (EventMeta & { readonly erased: boolean }) | null {
    const row = this.#one<MetaRow>(META, seq);
    if (row === null) return null;
    const [, , , , , , erasedAtMs] = row;
    const erased = erasedAtMs !== null;
    try {
      return { ...metaFromRow(row), erased };
    } catch {
      // Kept headers that are damaged: the event cannot be sent, but it must be seen [L7].
      return { ...metaFromRow(row, {}), erased };
    }
  }

  /** The event with its bytes; null where it, or its bytes, are no longer stored. */
  read(seq: number): StoredEvent | null {
    const row = this.#one<StoredRow>(STORED, seq);
    return row === null ? null : this.#stored(row);
  }

  /**
   * The events `seqs` (ascending) with their bytes, in that order. One range read per segment; rows in between that are
   * not asked for cost a read each, so a caller keeps its ranges dense. Those whose bytes are gone are left out.
   */
  readMany(seqs: readonly number[]): StoredEvent[] {
    const [first] = seqs;
    const last = seqs.at(-1);
    if (first === undefined || last === undefined) return [];
    const dense = last - first + 1 <= seqs.length * 2;
    const segment = this.#segments.bodyOf(first);
    if (!dense || segment === null || segment !== this.#segments.bodyOf(last)) {
      return seqs.map((seq) => this.read(seq)).filter((event) => event !== null);
    }
    const wanted = last - first + 1 === seqs.length ? null : new Set(seqs);
    const rows = this.#sql.tuples<StoredRow>(
      `SELECT ${STORED} FROM body_${segment.id} WHERE seq BETWEEN ? AND ? ORDER BY seq LIMIT ?`,
      first,
      last,
      last - first + 1,
    );
    const events: StoredEvent[] = [];
    for (const row of rows) {
      const event = wanted === null || wanted.has(row[0]) ? this.#stored(row) : null;
      if (event !== null) events.push(event);
    }
    return events;
  }

  /** Receipts of the newest events, newest first, not older than `sinceMs`: what the rate limit is rebuilt from [R1]. */
  newestReceipts(sinceMs: number, limit: number): number[] {
    const receipts: number[] = [];
    for (let index = this.#segments.bodies.length - 1; index >= 0 && receipts.length < limit; index -= 1) {
      const segment = this.#segments.bodies[index];
      if (segment === undefined) break;
      const rows = this.#sql.all<{ received_at_ms: number }>(
        `SELECT received_at_ms FROM body_${segment.id} ORDER BY seq DESC LIMIT ?`,
        limit - receipts.length,
      );
      for (const row of rows) {
        if (row.received_at_ms < sinceMs) return receipts;
        receipts.push(row.received_at_ms);
      }
    }
    return receipts;
  }

  /** The last sequence number in `[fromSeq, toSeq]` received before `beforeMs`, or null: receipts never go back [L7]. */
  lastReceivedBefore(fromSeq: number, toSeq: number, beforeMs: number): number | null {
    let found: number | null = null;
    let low = fromSeq;
    let high = toSeq;
    while (low <= high) {
      const middle = Math.floor((low + high) / 2);
      const head = this.head(middle);
      if (head !== null && head.receivedAtMs >= beforeMs) high = middle - 1;
      else {
        found = middle;
        low = middle + 1;
      }
    }
    return found;
  }

  /** Removes the bytes and the kept headers of an event, in its segment and among the copied-out ones [X6]. */
  erase(seq: number, nowMs: number): void {
    const own = this.#segments.bodyOf(seq);
    for (const segment of own === null ? [null] : [own, null]) {
      const table = tableOf(segment);
      const upload = this.#uploadIn(table, seq);
      if (upload !== null) this.#chunks.remove(upload, segment);
      const values = upload === null ? "body = NULL" : "upload = NULL, is_text = NULL";
      this.#sql.run(`UPDATE ${table} SET ${values}, headers = '', erased_at_ms = ? WHERE seq = ?`, nowMs, seq);
    }
  }

  /**
   * Copies one event out of its segment, so that the segment can be dropped [L1]; answers the bytes copied. Of a large
   * one at most `bytesMax` (or one chunk) in one call: until it is kept, there is more to copy.
   */
  keep(segment: Segment, seq: number, bytesMax: number): number {
    const upload = this.#uploadIn(`body_${segment.id}`, seq);
    const chunks = upload === null ? null : this.#chunks.keep(segment, upload, bytesMax);
    if (chunks !== null && !chunks.done) return chunks.copiedBytes;
    // Columns by name: where they were added to a table, they stand in another order.
    this.#sql.run(
      `INSERT INTO kept (${STORED}) SELECT ${STORED} FROM body_${segment.id} WHERE seq = ? ON CONFLICT DO NOTHING`,
      seq,
    );
    return chunks?.copiedBytes ?? this.head(seq)?.sizeBytes ?? 0;
  }

  /** Stores a repeat's bytes under the sequence number of an event whose own are gone [D6]. */
  revive(event: NewEvent): void {
    const { into, values } = insertion(event);
    this.#sql.run(`INSERT INTO kept ${into} ON CONFLICT DO NOTHING`, ...values);
    if (!(event.body instanceof Uint8Array)) this.#chunks.settle(event.body.upload, null);
  }

  /** Whether the event's row is still here, in a segment or copied out. */
  has(seq: number): boolean {
    return this.#segments.bodyOf(seq) !== null || this.isKept(seq);
  }

  isKept(seq: number): boolean {
    return this.#sql.first("SELECT 1 AS found FROM kept WHERE seq = ?", seq) !== null;
  }

  /** Copied-out events after `afterSeq` up to `toSeq`, oldest first. */
  keptSeqs(afterSeq: number, toSeq: number, limit: number): number[] {
    return this.#sql
      .all<{ seq: number }>(
        "SELECT seq FROM kept WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?",
        afterSeq,
        toSeq,
        limit,
      )
      .map((row) => row.seq);
  }

  /** Heads of copied-out events after `afterSeq` up to `toSeq`. */
  keptHeads(afterSeq: number, toSeq: number, limit: number): EventHead[] {
    return this.#sql
      .tuples<HeadRow>(
        `SELECT ${HEAD} FROM kept WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?`,
        afterSeq,
        toSeq,
        limit,
      )
      .map(headFromRow);
  }

  dropKept(seq: number): void {
    const upload = this.#uploadIn("kept", seq);
    if (upload !== null) this.#chunks.remove(upload, null);
    this.#sql.run("DELETE FROM kept WHERE seq = ?", seq);
  }

  #one<T extends SqlTuple>(columns: string, seq: number): T | null {
    const table = tableOf(this.#segments.bodyOf(seq));
    return this.#sql.tuples<T>(`SELECT ${columns} FROM ${table} WHERE seq = ?`, seq)[0] ?? null;
  }

  /** Null where its bytes are gone. */
  #stored(row: StoredRow): StoredEvent | null {
    const upload = row[7];
    const body = row[13];
    if (upload !== null) {
      return { ...metaFromRow(row), body: this.#chunks.body(row[0], upload, row[2], row[14] === 1) };
    }
    return body === null ? null : { ...metaFromRow(row), body: new Uint8Array(body) };
  }

  #uploadIn(table: string, seq: number): string | null {
    return this.#sql.first<{ upload: string | null }>(`SELECT upload FROM ${table} WHERE seq = ?`, seq)?.upload ?? null;
  }
}

function tableOf(segment: Segment | null): string {
  return segment === null ? "kept" : `body_${segment.id}`;
}
