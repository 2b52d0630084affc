/** When each source was last heard, for the alert of a source that is silent [O9]; written now and then, only where it is wanted. */
import type { Sql, SqlRow } from "./sql.ts";

interface Row extends SqlRow {
  source: string;
  heard_at_ms: number;
}

export class SourcesHeard {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  read(): Map<string, number> {
    const rows = this.#sql.all<Row>("SELECT source, heard_at_ms FROM source_heard LIMIT 1000");
    return new Map(rows.map((row) => [row.source, row.heard_at_ms]));
  }

  write(source: string, heardAtMs: number): void {
    this.#sql.run(
      "INSERT INTO source_heard (source, heard_at_ms) VALUES (?, ?) ON CONFLICT DO UPDATE SET heard_at_ms = excluded.heard_at_ms",
      source,
      heardAtMs,
    );
  }
}
