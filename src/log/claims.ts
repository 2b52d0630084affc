/** Events whose bytes a queue's consumer will fetch [V19]: their segment stays until then [L1]. */
import type { Sql } from "./sql.ts";

export class Claims {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** The bytes of `seq` are kept at least until `untilMs`. */
  record(destination: string, seq: number, untilMs: number): void {
    this.#sql.run(
      `INSERT INTO claim (destination, seq, until_ms) VALUES (?, ?, ?)
       ON CONFLICT DO UPDATE SET until_ms = max(until_ms, excluded.until_ms)`,
      destination,
      seq,
      untilMs,
    );
  }

  /** Claimed events in `[fromSeq, toSeq]` whose time is not over, at most `limit`. */
  seqsIn(destination: string, fromSeq: number, toSeq: number, nowMs: number, limit: number): number[] {
    return this.#sql
      .all<{ seq: number }>(
        "SELECT seq FROM claim WHERE destination = ? AND seq BETWEEN ? AND ? AND until_ms > ? ORDER BY seq LIMIT ?",
        destination,
        fromSeq,
        toSeq,
        nowMs,
        limit,
      )
      .map((row) => row.seq);
  }

  isClaimed(destination: string, seq: number, nowMs: number): boolean {
    return this.seqsIn(destination, seq, seq, nowMs, 1).length > 0;
  }

  /** Claims on events up to `seq` whose key is forgotten go with it. */
  forgetUpTo(destination: string, seq: number): void {
    this.#sql.run("DELETE FROM claim WHERE destination = ? AND seq <= ?", destination, seq);
  }

  removeAll(destination: string): void {
    this.#sql.run("DELETE FROM claim WHERE destination = ?", destination);
  }
}
