/**
 * Events given up on for one destination [X1]: a row each where an event died alone, a range of the log where many died
 * together [L6]. Rows stay, without bytes, as `expired` or `purged` until the event's key goes [D6].
 */
import type { Sql, SqlRow } from "./sql.ts";

export type DeadState = "dead" | "expired" | "purged";

export interface DeadLetter {
  readonly seq: number;
  readonly state: DeadState;
  readonly reason: string;
  readonly diedAtMs: number;
  readonly expiresAtMs: number;
  /** Attempts charged to the event. */
  readonly charged: number;
  /** The last attempts, as JSON (attempts.ts); "" where it died with many others. */
  readonly attempts: string;
}

export interface DeadRange {
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** Events of the range that are dead; those that the filter passes over are not. */
  readonly eventCount: number;
  readonly state: DeadState;
  readonly reason: string;
  readonly diedAtMs: number;
  readonly expiresAtMs: number;
}

/** What one turn expired for one destination. */
export interface Expired {
  readonly destination: string;
  readonly seqs: number[];
  readonly ranges: { readonly firstSeq: number; readonly lastSeq: number }[];
  eventCount: number;
}

/** One row of the ranges stands for at most this many events [L6]. */
export const RANGE_EVENTS_MAX = 1_000;

interface DeadRow extends SqlRow {
  seq: number;
  state: DeadState;
  reason: string;
  died_at_ms: number;
  expires_at_ms: number;
  charged: number;
  attempts: string;
}

interface RangeRow extends SqlRow {
  first_seq: number;
  last_seq: number;
  event_count: number;
  state: DeadState;
  reason: string;
  died_at_ms: number;
  expires_at_ms: number;
}

const DEAD = "seq, state, reason, died_at_ms, expires_at_ms, charged, attempts";
const RANGE = "first_seq, last_seq, event_count, state, reason, died_at_ms, expires_at_ms";

export class DeadLetters {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  insert(destination: string, letter: DeadLetter): void {
    this.#sql.run(
      `INSERT INTO dead (destination, ${DEAD}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET state = excluded.state, reason = excluded.reason, died_at_ms = excluded.died_at_ms,
       expires_at_ms = excluded.expires_at_ms, charged = excluded.charged, attempts = excluded.attempts`,
      destination,
      letter.seq,
      letter.state,
      letter.reason,
      letter.diedAtMs,
      letter.expiresAtMs,
      letter.charged,
      letter.attempts,
    );
  }

  /** Records that `eventCount` events of a range died together; a range that goes on from the last one is joined to it. */
  insertRange(destination: string, range: DeadRange): void {
    const before = this.#rangeUpTo(destination, range.firstSeq - 1);
    if (
      before !== null &&
      before.lastSeq === range.firstSeq - 1 &&
      before.state === range.state &&
      before.reason === range.reason &&
      range.diedAtMs - before.diedAtMs < 3_600_000 &&
      before.eventCount + range.eventCount <= RANGE_EVENTS_MAX
    ) {
      this.#sql.run(
        "UPDATE dead_range SET last_seq = ?, event_count = event_count + ?, expires_at_ms = ? WHERE destination = ? AND first_seq = ?",
        range.lastSeq,
        range.eventCount,
        range.expiresAtMs,
        destination,
        before.firstSeq,
      );
      return;
    }
    this.#writeRange(destination, range);
  }

  find(destination: string, seq: number): DeadLetter | null {
    const row = this.#sql.first<DeadRow>(
      `SELECT ${DEAD} FROM dead WHERE destination = ? AND seq = ?`,
      destination,
      seq,
    );
    return row === null ? null : letterFromRow(row);
  }

  /** The range that holds `seq`, or null. */
  findRange(destination: string, seq: number): DeadRange | null {
    const range = this.#rangeUpTo(destination, seq);
    return range !== null && range.lastSeq >= seq ? range : null;
  }

  /** Takes one event out of the dead: its row, or its place in a range, which is split there [D6]. */
  remove(destination: string, seq: number): void {
    if (this.#sql.run("DELETE FROM dead WHERE destination = ? AND seq = ?", destination, seq) > 0) return;
    const range = this.findRange(destination, seq);
    if (range === null) return;
    this.#sql.run("DELETE FROM dead_range WHERE destination = ? AND first_seq = ?", destination, range.firstSeq);
    const countBefore = seq - range.firstSeq;
    const countAfter = range.lastSeq - seq;
    if (countBefore > 0) {
      this.#writeRange(destination, {
        ...range,
        lastSeq: seq - 1,
        eventCount: Math.min(countBefore, range.eventCount - 1),
      });
    }
    if (countAfter > 0) {
      this.#writeRange(destination, {
        ...range,
        firstSeq: seq + 1,
        eventCount: range.eventCount - 1 - Math.min(countBefore, range.eventCount - 1),
      });
    }
  }

  /** Letters of `destination` with a row of their own, oldest first. */
  list(destination: string, state: DeadState, afterSeq: number, limit: number): DeadLetter[] {
    return this.#sql
      .all<DeadRow>(
        `SELECT ${DEAD} FROM dead WHERE destination = ? AND seq > ? AND state = ? ORDER BY seq LIMIT ?`,
        destination,
        afterSeq,
        state,
        limit,
      )
      .map(letterFromRow);
  }

  /** Ranges of `destination` that reach beyond `afterSeq`, oldest first. */
  ranges(destination: string, state: DeadState, afterSeq: number, limit: number): DeadRange[] {
    return this.#sql
      .all<RangeRow>(
        `SELECT ${RANGE} FROM dead_range WHERE destination = ? AND last_seq > ? AND state = ? ORDER BY first_seq LIMIT ?`,
        destination,
        afterSeq,
        state,
        limit,
      )
      .map(rangeFromRow);
  }

  /**
   * Dead letters in `[fromSeq, toSeq]` whose bytes must stay: those with a row of their own, and those in ranges, each at
   * most `limit`; `inRanges` counts the latter whatever the limit.
   */
  referencesIn(
    destination: string,
    fromSeq: number,
    toSeq: number,
    limit: number,
  ): { seqs: number[]; inRanges: number; rangeSeqs: number[] } {
    const seqs = this.#sql
      .all<{ seq: number }>(
        "SELECT seq FROM dead WHERE destination = ? AND seq BETWEEN ? AND ? AND state = 'dead' ORDER BY seq LIMIT ?",
        destination,
        fromSeq,
        toSeq,
        limit,
      )
      .map((row) => row.seq);
    let inRanges = 0;
    const rangeSeqs: number[] = [];
    for (const range of this.ranges(destination, "dead", fromSeq - 1, 100)) {
      if (range.firstSeq > toSeq) break;
      const first = Math.max(range.firstSeq, fromSeq);
      const last = Math.min(range.lastSeq, toSeq);
      inRanges += last - first + 1;
      for (let seq = first; seq <= last && rangeSeqs.length < limit; seq += 1) rangeSeqs.push(seq);
    }
    return { seqs, inRanges, rangeSeqs };
  }

  /** When the next dead letter's time is over, or null. */
  nextExpiryMs(): number | null {
    const row = this.#sql.first<{ at: number }>(
      "SELECT expires_at_ms AS at FROM dead INDEXED BY dead_expiry WHERE state = 'dead' ORDER BY expires_at_ms LIMIT 1",
    );
    const range = this.#sql.first<{ at: number | null }>(
      "SELECT min(expires_at_ms) AS at FROM dead_range WHERE state = 'dead'",
    );
    if (row === null) return range?.at ?? null;
    return range?.at == null ? row.at : Math.min(row.at, range.at);
  }

  /** Marks letters past their time, at most `limit` rows and ranges; answers how many events each destination lost. */
  expire(nowMs: number, limit: number): Expired[] {
    const rows = this.#sql.all<{ destination: string; seq: number }>(
      "SELECT destination, seq FROM dead INDEXED BY dead_expiry WHERE state = 'dead' AND expires_at_ms <= ? ORDER BY expires_at_ms LIMIT ?",
      nowMs,
      limit,
    );
    const expired = new Map<string, Expired>();
    const of = (destination: string) => {
      const entry = expired.get(destination) ?? { destination, seqs: [], ranges: [], eventCount: 0 };
      expired.set(destination, entry);
      return entry;
    };
    for (const { destination, seq } of rows) {
      this.#sql.run("UPDATE dead SET state = 'expired' WHERE destination = ? AND seq = ?", destination, seq);
      const entry = of(destination);
      entry.seqs.push(seq);
      entry.eventCount += 1;
    }
    const ranges = this.#sql.all<RangeRow & { destination: string }>(
      `SELECT destination, ${RANGE} FROM dead_range WHERE state = 'dead' AND expires_at_ms <= ? LIMIT ?`,
      nowMs,
      limit,
    );
    for (const range of ranges) {
      this.#sql.run(
        "UPDATE dead_range SET state = 'expired' WHERE destination = ? AND first_seq = ?",
        range.destination,
        range.first_seq,
      );
      const entry = of(range.destination);
      entry.ranges.push({ firstSeq: range.first_seq, lastSeq: range.last_seq });
      entry.eventCount += range.event_count;
    }
    return [...expired.values()];
  }

  /** Forgets what is left of letters whose keys are gone: events up to `seq` [D6]. */
  forgetUpTo(destination: string, seq: number): void {
    this.#sql.run("DELETE FROM dead WHERE destination = ? AND seq <= ? AND state <> 'dead'", destination, seq);
    this.#sql.run(
      "DELETE FROM dead_range WHERE destination = ? AND last_seq <= ? AND state <> 'dead'",
      destination,
      seq,
    );
  }

  removeAll(destination: string): void {
    this.#sql.run("DELETE FROM dead WHERE destination = ?", destination);
    this.#sql.run("DELETE FROM dead_range WHERE destination = ?", destination);
  }

  #rangeUpTo(destination: string, seq: number): DeadRange | null {
    const row = this.#sql.first<RangeRow>(
      `SELECT ${RANGE} FROM dead_range WHERE destination = ? AND first_seq <= ? ORDER BY first_seq DESC LIMIT 1`,
      destination,
      seq,
    );
    return row === null ? null : rangeFromRow(row);
  }

  #writeRange(destination: string, range: DeadRange): void {
    this.#sql.run(
      `INSERT INTO dead_range (destination, ${RANGE}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      destination,
      range.firstSeq,
      range.lastSeq,
      range.eventCount,
      range.state,
      range.reason,
      range.diedAtMs,
      range.expiresAtMs,
    );
  }
}

function letterFromRow(row: DeadRow): DeadLetter {
  return {
    seq: row.seq,
    state: row.state,
    reason: row.reason,
    diedAtMs: row.died_at_ms,
    expiresAtMs: row.expires_at_ms,
    charged: row.charged,
    attempts: row.attempts,
  };
}

function rangeFromRow(row: RangeRow): DeadRange {
  return {
    firstSeq: row.first_seq,
    lastSeq: row.last_seq,
    eventCount: row.event_count,
    state: row.state,
    reason: row.reason,
    diedAtMs: row.died_at_ms,
    expiresAtMs: row.expires_at_ms,
  };
}
