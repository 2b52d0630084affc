/** Events that failed on their own, one row each [V9]: the exception pays, not the rule. `event` is the machine's own record. */
import type { Sql, SqlRow } from "./sql.ts";

export interface AsideRow {
  readonly seq: number;
  readonly dueAtMs: number;
  /** The state machine's record of the event, as JSON. */
  readonly event: string;
  /** The last attempts, as JSON (attempts.ts). */
  readonly attempts: string;
}

interface Row extends SqlRow {
  seq: number;
  due_at_ms: number;
  event: string;
  attempts: string;
}

export class Aside {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** The `limit` events due first. */
  due(destination: string, limit: number): AsideRow[] {
    return this.#sql
      .all<Row>(
        "SELECT seq, due_at_ms, event, attempts FROM aside INDEXED BY aside_due WHERE destination = ? ORDER BY due_at_ms LIMIT ?",
        destination,
        limit,
      )
      .map(fromRow);
  }

  find(destination: string, seq: number): AsideRow | null {
    const row = this.#sql.first<Row>(
      "SELECT seq, due_at_ms, event, attempts FROM aside WHERE destination = ? AND seq = ?",
      destination,
      seq,
    );
    return row === null ? null : fromRow(row);
  }

  put(destination: string, row: AsideRow): void {
    this.#sql.run(
      `INSERT INTO aside (destination, seq, due_at_ms, event, attempts) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET due_at_ms = excluded.due_at_ms, event = excluded.event, attempts = excluded.attempts`,
      destination,
      row.seq,
      row.dueAtMs,
      row.event,
      row.attempts,
    );
  }

  remove(destination: string, seq: number): void {
    this.#sql.run("DELETE FROM aside WHERE destination = ? AND seq = ?", destination, seq);
  }

  /** Sequence numbers in `[fromSeq, toSeq]`, at most `limit`, oldest first. */
  seqsIn(destination: string, fromSeq: number, toSeq: number, limit: number): number[] {
    return this.#sql
      .all<{ seq: number }>(
        "SELECT seq FROM aside WHERE destination = ? AND seq BETWEEN ? AND ? ORDER BY seq LIMIT ?",
        destination,
        fromSeq,
        toSeq,
        limit,
      )
      .map((row) => row.seq);
  }

  /** The oldest event set aside, or null. */
  oldestSeq(destination: string): number | null {
    return this.seqsIn(destination, 0, Number.MAX_SAFE_INTEGER, 1)[0] ?? null;
  }

  /** Redriven and replayed events that wait, counted up to `max`. */
  putBackCount(destination: string, max: number): number {
    const row = this.#sql.first<{ count: number }>(
      `SELECT count(*) AS count FROM
       (SELECT 1 FROM aside WHERE destination = ? AND event ->> 'lane' = 'redrive' LIMIT ?)`,
      destination,
      max,
    );
    return row?.count ?? 0;
  }

  removeAll(destination: string): void {
    this.#sql.run("DELETE FROM aside WHERE destination = ?", destination);
  }
}

function fromRow(row: Row): AsideRow {
  return { seq: row.seq, dueAtMs: row.due_at_ms, event: row.event, attempts: row.attempts };
}
