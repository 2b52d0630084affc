/**
 * Every statement of the log goes through here, so that the rows a tenant costs are counted and not guessed [O10].
 * Cursors are consumed at once: one left open makes every later `DROP TABLE` fail.
 */
import type { Meter } from "./meter.ts";

export type SqlValue = ArrayBuffer | Uint8Array | string | number | null;
export type SqlTuple = (ArrayBuffer | string | number | null)[];
export type SqlRow = Record<string, ArrayBuffer | string | number | null>;

export class Sql {
  readonly #sql: SqlStorage;
  readonly #meter: Meter;

  constructor(sql: SqlStorage, meter: Meter) {
    this.#sql = sql;
    this.#meter = meter;
  }

  /** Runs one statement and gives all its rows. A statement that grows with the data carries a LIMIT. */
  all<T extends SqlRow>(statement: string, ...bindings: readonly SqlValue[]): T[] {
    const cursor = this.#sql.exec<T>(statement, ...bindings);
    const rows = cursor.toArray();
    this.#meter.count(cursor.rowsRead, cursor.rowsWritten);
    return rows;
  }

  /**
   * As `all`, each row as its values in the order of its columns: to make an object of a row costs the runtime about as
   * much as everything else about it.
   */
  tuples<T extends SqlTuple>(statement: string, ...bindings: readonly SqlValue[]): T[] {
    const cursor = this.#sql.exec(statement, ...bindings);
    const rows = [...cursor.raw<T>()];
    this.#meter.count(cursor.rowsRead, cursor.rowsWritten);
    return rows;
  }

  /** The only row of a statement, or null where there is none. */
  first<T extends SqlRow>(statement: string, ...bindings: readonly SqlValue[]): T | null {
    return this.all<T>(statement, ...bindings)[0] ?? null;
  }

  /** Runs a statement for its effect; answers the rows it wrote, index entries included. */
  run(statement: string, ...bindings: readonly SqlValue[]): number {
    const cursor = this.#sql.exec(statement, ...bindings);
    const { rowsRead, rowsWritten } = cursor;
    this.#meter.count(rowsRead, rowsWritten);
    return rowsWritten;
  }

  /** Runs statements whose rows are counted as set-up of the object, apart from the events [C1]. */
  setUp(statements: readonly string[]): void {
    for (const statement of statements) {
      const cursor = this.#sql.exec(statement);
      this.#meter.countSetup(cursor.rowsRead, cursor.rowsWritten);
    }
  }

  /** Bytes of the whole database file. */
  get sizeBytes(): number {
    return this.#sql.databaseSize;
  }
}
