/**
 * A tenant's log on its object's SQLite: the parts together, and what must be read anew after a start or a transaction
 * that was rolled back (which takes its tables back with it).
 */
import { Alerts } from "./alerts.ts";
import { Aside } from "./aside.ts";
import { Attempts } from "./attempts.ts";
import { Changes } from "./changes.ts";
import { Chunks } from "./chunks.ts";
import { Claims } from "./claims.ts";
import { Cursors } from "./cursors.ts";
import { DeadLetters } from "./dead-letters.ts";
import { Events } from "./events.ts";
import { FilterChanges } from "./filter-changes.ts";
import { Jobs } from "./jobs.ts";
import { Keys } from "./keys.ts";
import { Meter } from "./meter.ts";
import { Rejections } from "./rejections.ts";
import { migrate, SCHEMA_VERSION, schemaVersion } from "./schema.ts";
import { Segments } from "./segments.ts";
import { SourcesHeard } from "./sources-heard.ts";
import { Sql } from "./sql.ts";
import { TenantRecords } from "./tenant-record.ts";

export class Log {
  readonly #storage: DurableObjectStorage;
  readonly #sql: Sql;
  readonly meter: Meter;
  readonly segments: Segments;
  readonly keys: Keys;
  readonly events: Events;
  readonly chunks: Chunks;
  readonly cursors: Cursors;
  readonly attempts: Attempts;
  readonly aside: Aside;
  readonly dead: DeadLetters;
  readonly alerts: Alerts;
  readonly tenants: TenantRecords;
  readonly filters: FilterChanges;
  readonly jobs: Jobs;
  readonly claims: Claims;
  readonly heard: SourcesHeard;
  readonly rejections: Rejections;
  readonly changes: Changes;
  /** A transaction was rolled back, and storage could not be read since: memory may be ahead of it. */
  #owesReload = false;

  constructor(storage: DurableObjectStorage, nowMs: number) {
    this.#storage = storage;
    this.meter = new Meter(nowMs);
    this.#sql = new Sql(storage.sql, this.meter);
    this.segments = new Segments(this.#sql);
    this.keys = new Keys(this.#sql, this.segments);
    this.chunks = new Chunks(this.#sql, this.segments);
    this.events = new Events(this.#sql, this.segments, this.chunks);
    this.cursors = new Cursors(this.#sql);
    this.attempts = new Attempts(this.#sql, this.segments);
    this.aside = new Aside(this.#sql);
    this.dead = new DeadLetters(this.#sql);
    this.alerts = new Alerts(this.#sql);
    this.tenants = new TenantRecords(this.#sql);
    this.filters = new FilterChanges(this.#sql);
    this.jobs = new Jobs(this.#sql);
    this.claims = new Claims(this.#sql);
    this.heard = new SourcesHeard(this.#sql);
    this.rejections = new Rejections(this.#sql);
    this.changes = new Changes(this.#sql);
  }

  /** Opens what is stored; false, and nothing written, where this object has never been set up [I2]. */
  open(): boolean {
    const stored = schemaVersion(this.#sql);
    if (stored === 0) return false;
    if (stored < SCHEMA_VERSION) this.#storage.transactionSync(() => migrate(this.#sql, stored));
    this.reload();
    this.#storage.transactionSync(() => {
      this.segments.widen();
      this.chunks.discardAll();
    });
    return true;
  }

  /** Makes the tables of a new object. */
  create(): void {
    this.#storage.transactionSync(() => {
      migrate(this.#sql, schemaVersion(this.#sql));
      this.segments.create(this.meter.encodeWithWrite(1));
    });
    this.reload();
  }

  /** Drops every table and makes them anew, within the caller's transaction: the tenant is deleted [X6]. */
  eraseAll(): void {
    const tables = this.#sql.all<{ name: string }>(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '\\_cf%' ESCAPE '\\' LIMIT 20000",
    );
    for (const { name } of tables) this.#sql.run(`DROP TABLE "${name}"`);
    migrate(this.#sql, 0);
    this.segments.create(this.meter.encodeWithWrite(1));
  }

  /** Reads from storage what memory holds: segments, the high-water mark, alerts, and the meter as it was last written. */
  reload(): void {
    this.meter.restore(this.segments.load());
    for (const meter of this.cursors.readAll().meters) this.meter.restore(meter);
    this.dead.ranges.reload();
    this.claims.reload();
    this.alerts.load();
    this.#owesReload = false;
  }

  /**
   * One commit: everything in `change` or nothing. After a throw the log has read anew what it holds in memory [L5], or
   * does so before anything else is written; what a caller holds is the caller's to restore.
   */
  transaction<T>(change: () => T): T {
    if (this.#owesReload) this.reload();
    const before = this.meter.totals.rowsWritten + this.meter.totals.setupRows;
    let result: T;
    try {
      result = this.#storage.transactionSync(change);
    } catch (error) {
      this.#owesReload = true;
      this.#tryReload();
      throw error;
    }
    if (this.meter.totals.rowsWritten + this.meter.totals.setupRows > before) this.meter.countCommit();
    return result;
  }

  #tryReload(): void {
    try {
      this.reload();
    } catch {
      // It is owed: the next transaction begins with it.
    }
  }

  get sizeBytes(): number {
    return this.#sql.sizeBytes;
  }
}
