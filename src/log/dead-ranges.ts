/** Events that died together, as ranges of the log [L6]: at most one row per 1,000 events. */
import type { DeadState } from "./dead-letters.ts";
import type { Sql, SqlRow, SqlValue } from "./sql.ts";

export interface DeadRange {
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** Events of the range that are dead; those that the filter passes over are not. */
  readonly eventCount: number;
  readonly state: DeadState;
  readonly reason: string;
  readonly diedAtMs: number;
  readonly expiresAtMs: number;
  /** The destination's filter when they died, as JSON: what it passes over is not dead. */
  readonly filter: string;
}

/** One row of the ranges stands for at most this many events [L6]. */
export const RANGE_EVENTS_MAX = 1_000;

interface RangeRow extends SqlRow {
  first_seq: number;
  last_seq: number;
  event_count: number;
  state: DeadState;
  reason: string;
  died_at_ms: number;
  expires_at_ms: number;
  filter: string;
}

const RANGE = "first_seq, last_seq, event_count, state, reason, died_at_ms, expires_at_ms, filter";

export class DeadRanges {
  readonly #sql: Sql;
  /** Kept until a range changes: it is asked for at every step of a run, and has no index that each range would pay for. */
  #nextExpiryMs: number | null | undefined;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Forgets what it knows of the table: a transaction was rolled back, or the table was made anew. */
  reload(): void {
    this.#nextExpiryMs = undefined;
  }

  /** Records that `eventCount` events of a range died together; a range that goes on from the last one is joined to it. */
  insert(destination: string, range: DeadRange): void {
    const before = this.#rangeUpTo(destination, range.firstSeq - 1);
    if (
      before !== null &&
      before.lastSeq === range.firstSeq - 1 &&
      before.state === range.state &&
      before.reason === range.reason &&
      before.filter === range.filter &&
      range.diedAtMs - before.diedAtMs < 3_600_000 &&
      before.eventCount + range.eventCount <= RANGE_EVENTS_MAX
    ) {
      this.#change(
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

  /** The range that holds `seq`, or null. */
  find(destination: string, seq: number): DeadRange | null {
    const range = this.#rangeUpTo(destination, seq);
    return range !== null && range.lastSeq >= seq ? range : null;
  }

  /** Takes one event out of a range, which is split there; `countIn` says how many dead events a part holds. */
  split(destination: string, range: DeadRange, seq: number, countIn: (first: number, last: number) => number): void {
    this.#change("DELETE FROM dead_range WHERE destination = ? AND first_seq = ?", destination, range.firstSeq);
    const before = seq > range.firstSeq ? countIn(range.firstSeq, seq - 1) : 0;
    const after = range.eventCount - 1 - before;
    if (before > 0) this.#writeRange(destination, { ...range, lastSeq: seq - 1, eventCount: before });
    if (after > 0) this.#writeRange(destination, { ...range, firstSeq: seq + 1, eventCount: after });
  }

  /** Ranges of `destination` that reach beyond `afterSeq`, oldest first. */
  list(destination: string, state: DeadState, afterSeq: number, limit: number): DeadRange[] {
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

  /** When the next range's time is over, or null; to be asked outside a transaction. */
  nextExpiryMs(): number | null {
    if (this.#nextExpiryMs === undefined) {
      const row = this.#sql.first<{ at: number | null }>(
        "SELECT min(expires_at_ms) AS at FROM dead_range WHERE state = 'dead'",
      );
      this.#nextExpiryMs = row?.at ?? null;
    }
    return this.#nextExpiryMs;
  }

  /** Marks ranges past their time, at most `limit`. */
  expire(nowMs: number, limit: number): { destination: string; range: DeadRange }[] {
    const rows = this.#sql.all<RangeRow & { destination: string }>(
      `SELECT destination, ${RANGE} FROM dead_range WHERE state = 'dead' AND expires_at_ms <= ? LIMIT ?`,
      nowMs,
      limit,
    );
    for (const row of rows) {
      this.#change(
        "UPDATE dead_range SET state = 'expired' WHERE destination = ? AND first_seq = ?",
        row.destination,
        row.first_seq,
      );
    }
    return rows.map((row) => ({ destination: row.destination, range: rangeFromRow(row) }));
  }

  forgetUpTo(destination: string, seq: number): void {
    this.#change(
      "DELETE FROM dead_range WHERE destination = ? AND last_seq <= ? AND state <> 'dead'",
      destination,
      seq,
    );
  }

  removeAll(destination: string): void {
    this.#change("DELETE FROM dead_range WHERE destination = ?", destination);
  }

  #change(statement: string, ...bindings: readonly SqlValue[]): void {
    this.#sql.run(statement, ...bindings);
    this.#nextExpiryMs = undefined;
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
    this.#change(
      `INSERT INTO dead_range (destination, ${RANGE}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      destination,
      range.firstSeq,
      range.lastSeq,
      range.eventCount,
      range.state,
      range.reason,
      range.diedAtMs,
      range.expiresAtMs,
      range.filter,
    );
  }
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
    filter: row.filter,
  };
}
