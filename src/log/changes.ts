/** What operators changed, the newest of it [O11]. */
import type { Sql, SqlRow } from "./sql.ts";

interface Change {
  readonly atMs: number;
  readonly who: string;
  /** Method and path within the tenant, such as `POST /dead-letters/redrive`. */
  readonly what: string;
  /** The answer's status: also what was refused is on record. */
  readonly status: number;
  /** How many events it was about; null where it was not about events. */
  readonly count: number | null;
}

interface Row extends SqlRow {
  id: number;
  at_ms: number;
  who: string;
  what: string;
  status: number;
  event_count: number | null;
}

/** Older ones go. */
const CHANGES_MAX = 1_000;

export class Changes {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  record(change: Change): void {
    this.#sql.run(
      "INSERT INTO change (at_ms, who, what, status, event_count) VALUES (?, ?, ?, ?, ?)",
      change.atMs,
      change.who,
      change.what,
      change.status,
      change.count,
    );
    this.#sql.run(`DELETE FROM change WHERE id <= (SELECT max(id) FROM change) - ${CHANGES_MAX}`);
  }

  /** Newest first, those before `beforeId` (null: from the newest on). */
  page(beforeId: number | null, limit: number): (Change & { readonly id: number })[] {
    return this.#sql
      .all<Row>(
        "SELECT id, at_ms, who, what, status, event_count FROM change WHERE id < ? ORDER BY id DESC LIMIT ?",
        beforeId ?? Number.MAX_SAFE_INTEGER,
        limit,
      )
      .map((row) => ({
        id: row.id,
        atMs: row.at_ms,
        who: row.who,
        what: row.what,
        status: row.status,
        count: row.event_count,
      }));
  }
}
