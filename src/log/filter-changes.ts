/** Which filter a destination had for which events [X7]: a row for each change, from a sequence number on. */
import type { EventFilter } from "../core/filter.ts";
import type { Sql } from "./sql.ts";

export class FilterChanges {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** From `fromSeq` on the destination has this filter; null: none. */
  record(destination: string, fromSeq: number, filter: EventFilter | null): void {
    this.#sql.run(
      `INSERT INTO filter_change (destination, from_seq, filter) VALUES (?, ?, ?)
       ON CONFLICT DO UPDATE SET filter = excluded.filter`,
      destination,
      fromSeq,
      JSON.stringify(filter),
    );
  }

  /** The filter that held for `seq`; no row: none. */
  at(destination: string, seq: number): EventFilter | null {
    const row = this.#sql.first<{ filter: string }>(
      "SELECT filter FROM filter_change WHERE destination = ? AND from_seq <= ? ORDER BY from_seq DESC LIMIT 1",
      destination,
      seq,
    );
    return row === null ? null : (JSON.parse(row.filter) as EventFilter | null);
  }

  removeAll(destination: string): void {
    this.#sql.run("DELETE FROM filter_change WHERE destination = ?", destination);
  }
}
