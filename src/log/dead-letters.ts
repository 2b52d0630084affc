/**
 * Events given up on for one destination [X1]: a row each where an event died alone, a range of the log where many died
 * together [L6]. Rows stay, without bytes, as `expired` or `purged` until the event's key goes [D6].
 */
import { type EventFilter, passes } from "../core/filter.ts";
import { DeadRanges } from "./dead-ranges.ts";
import type { Sql, SqlRow } from "./sql.ts";

export type DeadState = "dead" | "expired" | "purged";

/**
 * A closed row that is no dead letter any more and says what the position cannot: the event was erased while it waited,
 * or is sent, or was, outside the order of the log (redriven from ahead of the position, or replayed to a destination
 * that it was not meant for). It stands as `purged`, so that a repeat stays closed.
 */
type Mark = "erased" | "delivered";

/** The reason of a row whose event was erased: a repeat does not open it, whether it stands as `purged` or `expired`. */
export const ERASED: Mark = "erased";

export function markOf(letter: DeadLetter): Mark | null {
  const { state, reason } = letter;
  return state === "purged" && (reason === "erased" || reason === "delivered") ? reason : null;
}

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

/** What one turn expired for one destination. */
interface Expired {
  readonly destination: string;
  readonly seqs: number[];
  readonly ranges: { readonly firstSeq: number; readonly lastSeq: number }[];
  eventCount: number;
}

interface DeadRow extends SqlRow {
  seq: number;
  state: DeadState;
  reason: string;
  died_at_ms: number;
  expires_at_ms: number;
  charged: number;
  attempts: string;
}

const DEAD = "seq, state, reason, died_at_ms, expires_at_ms, charged, attempts";
export class DeadLetters {
  readonly #sql: Sql;
  readonly ranges: DeadRanges;

  constructor(sql: Sql) {
    this.#sql = sql;
    this.ranges = new DeadRanges(sql);
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

  /** Leaves a mark in place of whatever row the event has here; a range that holds it is not touched. */
  mark(destination: string, seq: number, mark: Mark): void {
    const none = { diedAtMs: 0, expiresAtMs: 0, charged: 0, attempts: "" };
    this.insert(destination, { seq, state: "purged", reason: mark, ...none });
  }

  find(destination: string, seq: number): DeadLetter | null {
    const row = this.#sql.first<DeadRow>(
      `SELECT ${DEAD} FROM dead WHERE destination = ? AND seq = ?`,
      destination,
      seq,
    );
    return row === null ? null : letterFromRow(row);
  }

  /** Whether the event is dead or expired there and a repeat brings it back [D6]: not where it was erased or is filtered. */
  isReopenable(destination: string, seq: number, source: string, type: string | null): boolean {
    const letter = this.find(destination, seq);
    if (letter !== null) return letter.state !== "purged" && letter.reason !== ERASED;
    const range = this.ranges.find(destination, seq);
    return (
      range !== null && range.state !== "purged" && passes(JSON.parse(range.filter) as EventFilter | null, source, type)
    );
  }

  /**
   * Takes one event out of the dead: its row, or its place in a range, which is split there [D6]. `countIn` says how many
   * dead events a part of the range holds.
   */
  remove(destination: string, seq: number, countIn: (first: number, last: number) => number): void {
    if (this.#sql.run("DELETE FROM dead WHERE destination = ? AND seq = ?", destination, seq) > 0) return;
    const range = this.ranges.find(destination, seq);
    if (range === null) return;
    this.ranges.split(destination, range, seq, countIn);
  }

  /** The attempts of an expired or purged letter may quote the event: they are forgotten [X6]. */
  forgetAttempts(destination: string, seq: number): void {
    this.#sql.run(
      "UPDATE dead SET attempts = '' WHERE destination = ? AND seq = ? AND attempts <> ''",
      destination,
      seq,
    );
  }

  markPurged(destination: string, seq: number): void {
    this.#sql.run(
      "UPDATE dead SET state = 'purged', attempts = '' WHERE destination = ? AND seq = ?",
      destination,
      seq,
    );
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
    // Each range holds at least one: so many suffice to know that there are more than `limit`.
    for (const range of this.ranges.list(destination, "dead", fromSeq - 1, limit + 1)) {
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
    const rangeAtMs = this.ranges.nextExpiryMs();
    if (row === null) return rangeAtMs;
    return rangeAtMs === null ? row.at : Math.min(row.at, rangeAtMs);
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
    for (const { destination, range } of this.ranges.expire(nowMs, limit)) {
      const entry = of(destination);
      entry.ranges.push({ firstSeq: range.firstSeq, lastSeq: range.lastSeq });
      entry.eventCount += range.eventCount;
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
    this.ranges.removeAll(destination);
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
