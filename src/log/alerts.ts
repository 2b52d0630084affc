/** Alerts as rows: raised once, cleared once, shown in `stats`. */
import type { Sql, SqlRow } from "./sql.ts";

export interface Alert {
  readonly kind: string;
  /** "" for an alert of the tenant as a whole. */
  readonly destination: string;
  readonly raisedAtMs: number;
  readonly clearedAtMs: number | null;
  readonly detail: string;
}

interface Row extends SqlRow {
  kind: string;
  destination: string;
  raised_at_ms: number;
  cleared_at_ms: number | null;
  detail: string;
}

export class Alerts {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Raises an alert; one that is up already stays as it is and costs no row. */
  raise(kind: string, destination: string, nowMs: number, detail: string): void {
    this.#sql.run(
      `INSERT INTO alert (kind, destination, raised_at_ms, cleared_at_ms, detail) VALUES (?, ?, ?, NULL, ?)
       ON CONFLICT DO UPDATE SET raised_at_ms = excluded.raised_at_ms, cleared_at_ms = NULL, detail = excluded.detail
       WHERE cleared_at_ms IS NOT NULL`,
      kind,
      destination,
      nowMs,
      detail,
    );
  }

  clear(kind: string, destination: string, nowMs: number): void {
    this.#sql.run(
      "UPDATE alert SET cleared_at_ms = ? WHERE kind = ? AND destination = ? AND cleared_at_ms IS NULL",
      nowMs,
      kind,
      destination,
    );
  }

  /** The 50 newest, raised ones first. */
  list(): Alert[] {
    return this.#sql
      .all<Row>(
        "SELECT kind, destination, raised_at_ms, cleared_at_ms, detail FROM alert ORDER BY cleared_at_ms IS NOT NULL, raised_at_ms DESC LIMIT 50",
      )
      .map((row) => ({
        kind: row.kind,
        destination: row.destination,
        raisedAtMs: row.raised_at_ms,
        clearedAtMs: row.cleared_at_ms,
        detail: row.detail,
      }));
  }

  removeOf(destination: string): void {
    this.#sql.run("DELETE FROM alert WHERE destination = ?", destination);
  }
}
