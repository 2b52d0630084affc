/** The configuration as the tenant's first object owns it [O4]: sealed, numbered, and whether KV still has to be told. */
import type { Sql, SqlRow } from "./sql.ts";

interface TenantRecord {
  readonly tenant: string;
  /** The sealed record, as JSON. */
  readonly record: string;
  readonly changedAtMs: number;
  /** KV has not got this version yet; the alarm goes on telling it. */
  readonly untold: boolean;
}

interface Row extends SqlRow {
  tenant: string;
  record: string;
  changed_at_ms: number;
  untold: number;
}

export class TenantRecords {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  read(): TenantRecord | null {
    const row = this.#sql.first<Row>("SELECT tenant, record, changed_at_ms, untold FROM tenant WHERE id = 1");
    return row === null
      ? null
      : { tenant: row.tenant, record: row.record, changedAtMs: row.changed_at_ms, untold: row.untold === 1 };
  }

  write(record: TenantRecord): void {
    this.#sql.run(
      `INSERT INTO tenant (id, tenant, record, changed_at_ms, untold) VALUES (1, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET record = excluded.record, changed_at_ms = excluded.changed_at_ms, untold = excluded.untold`,
      record.tenant,
      record.record,
      record.changedAtMs,
      record.untold ? 1 : 0,
    );
  }

  markTold(): void {
    this.#sql.run("UPDATE tenant SET untold = 0 WHERE id = 1");
  }
}
