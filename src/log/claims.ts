/** Events whose bytes a queue's consumer will fetch [V19]: their segment stays until then [L1]. */
import type { Sql } from "./sql.ts";

export class Claims {
  readonly #sql: Sql;
  /** Kept until claims end: it is asked for at every step of a run. May be too early, never too late. */
  #nextEndMs: number | null | undefined;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Forgets what it knows of the table: a transaction was rolled back, or the table was made anew. */
  reload(): void {
    this.#nextEndMs = undefined;
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
    if (this.#nextEndMs !== undefined) this.#nextEndMs = Math.min(this.#nextEndMs ?? untilMs, untilMs);
  }

  /** When the next claim is over, or null. */
  nextEndMs(): number | null {
    if (this.#nextEndMs === undefined) {
      this.#nextEndMs = this.#sql.first<{ at: number | null }>("SELECT min(until_ms) AS at FROM claim")?.at ?? null;
    }
    return this.#nextEndMs;
  }

  /** Forgets claims whose time is over, at most `limit`; answers the events they were on. */
  end(nowMs: number, limit: number): number[] {
    const over = this.#sql.all<{ destination: string; seq: number }>(
      "SELECT destination, seq FROM claim WHERE until_ms <= ? LIMIT ?",
      nowMs,
      limit,
    );
    for (const { destination, seq } of over) {
      this.#sql.run("DELETE FROM claim WHERE destination = ? AND seq = ?", destination, seq);
    }
    this.reload();
    return over.map(({ seq }) => seq);
  }

  /** The consumer has the bytes; false: there was no such claim. */
  remove(destination: string, seq: number): boolean {
    return this.#sql.run("DELETE FROM claim WHERE destination = ? AND seq = ?", destination, seq) > 0;
  }

  has(destination: string, seq: number): boolean {
    return this.#sql.first("SELECT 1 AS found FROM claim WHERE destination = ? AND seq = ?", destination, seq) !== null;
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

  /** Claims on events up to `seq` whose key is forgotten go with it. */
  forgetUpTo(destination: string, seq: number): void {
    this.#sql.run("DELETE FROM claim WHERE destination = ? AND seq <= ?", destination, seq);
  }

  removeAll(destination: string): void {
    this.#sql.run("DELETE FROM claim WHERE destination = ?", destination);
  }
}
