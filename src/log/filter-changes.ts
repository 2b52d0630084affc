/** Which filter a destination had for which events [X7]: a row for each change, from a sequence number on up to the next. */
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

  /**
   * Makes it true that this filter held for all of `[first, last]`: events that were looked at with an earlier one, and
   * were not settled then, have been looked at again.
   */
  assign(destination: string, first: number, last: number, filter: EventFilter | null): void {
    const text = JSON.stringify(filter);
    const isSame = (other: EventFilter | null): boolean => JSON.stringify(other) === text;
    if (isSame(this.at(destination, first)) && !this.#changesWithin(destination, first, last)) return;
    const after = this.at(destination, last + 1);
    this.#sql.run(
      "DELETE FROM filter_change WHERE destination = ? AND from_seq BETWEEN ? AND ?",
      destination,
      first,
      last,
    );
    if (!isSame(this.at(destination, first))) this.record(destination, first, filter);
    if (!isSame(after)) this.record(destination, last + 1, after);
  }

  #changesWithin(destination: string, first: number, last: number): boolean {
    const statement =
      "SELECT 1 AS found FROM filter_change WHERE destination = ? AND from_seq > ? AND from_seq <= ? LIMIT 1";
    return this.#sql.first(statement, destination, first, last) !== null;
  }

  removeAll(destination: string): void {
    this.#sql.run("DELETE FROM filter_change WHERE destination = ?", destination);
  }
}
