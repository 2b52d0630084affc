/**
 * One row per destination: how far it has read the log, its ledger [X5], and the state of its delivery. Delivering a
 * batch writes this row once.
 */
import type { Sql, SqlRow } from "./sql.ts";

/** The counted part of the ledger. `offered` and `backlog` follow from the log's high-water mark (ledger.ts). */
export interface Counters {
  readonly delivered: number;
  readonly dead: number;
  readonly filtered: number;
  readonly purged: number;
  readonly expired: number;
  readonly erased: number;
}

export interface Cursor {
  readonly name: string;
  /** Tells a destination from a later one of the same name [V14]. */
  readonly incarnation: number;
  /** Events up to this one were not offered to the destination. */
  readonly baseSeq: number;
  /** The running total of offered bytes at the position. */
  readonly positionBytes: number;
  /** Events offered beside those after `baseSeq`: replays of events from before [X5]. */
  readonly offeredExtra: number;
  readonly counters: Counters;
  /** Events set aside, and their bytes; both are part of the backlog. */
  readonly aside: number;
  readonly asideBytes: number;
  /** Events beyond the position that are settled already, one by one: erased, or dead because they cannot be read. */
  readonly settledAhead: number;
  /** The state machine's row, as JSON. */
  readonly delivery: string;
}

interface CursorRow extends SqlRow {
  name: string;
  incarnation: number;
  base_seq: number;
  position_bytes: number;
  offered_extra: number;
  delivered: number;
  dead: number;
  filtered: number;
  purged: number;
  expired: number;
  erased: number;
  aside: number;
  aside_bytes: number;
  settled_ahead: number;
  delivery: string;
  meter: string;
}

const COLUMNS =
  "name, incarnation, base_seq, position_bytes, offered_extra, delivered, dead, filtered, purged, expired, erased, aside, aside_bytes, settled_ahead, delivery, meter";

export class Cursors {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** All destinations, and the meter as each row last stored it. */
  readAll(): { readonly cursors: Cursor[]; readonly meters: string[] } {
    const rows = this.#sql.all<CursorRow>(`SELECT ${COLUMNS} FROM destination ORDER BY name LIMIT 100`);
    return { cursors: rows.map(cursorFromRow), meters: rows.map((row) => row.meter) };
  }

  insert(cursor: Cursor, meter: string): void {
    this.#sql.run(
      `INSERT INTO destination (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      cursor.name,
      cursor.incarnation,
      cursor.baseSeq,
      ...changingValues(cursor),
      meter,
    );
  }

  /** Writes the row: one row, whatever was delivered. `meter` includes this very write. */
  update(cursor: Cursor, meter: string): void {
    this.#sql.run(
      `UPDATE destination SET position_bytes = ?, offered_extra = ?, delivered = ?, dead = ?, filtered = ?, purged = ?,
       expired = ?, erased = ?, aside = ?, aside_bytes = ?, settled_ahead = ?, delivery = ?, meter = ? WHERE name = ?`,
      ...changingValues(cursor),
      meter,
      cursor.name,
    );
  }

  remove(name: string): void {
    this.#sql.run("DELETE FROM destination WHERE name = ?", name);
  }
}

function changingValues(cursor: Cursor): (string | number)[] {
  const { counters } = cursor;
  return [
    cursor.positionBytes,
    cursor.offeredExtra,
    counters.delivered,
    counters.dead,
    counters.filtered,
    counters.purged,
    counters.expired,
    counters.erased,
    cursor.aside,
    cursor.asideBytes,
    cursor.settledAhead,
    cursor.delivery,
  ];
}

function cursorFromRow(row: CursorRow): Cursor {
  return {
    name: row.name,
    incarnation: row.incarnation,
    baseSeq: row.base_seq,
    positionBytes: row.position_bytes,
    offeredExtra: row.offered_extra,
    counters: {
      delivered: row.delivered,
      dead: row.dead,
      filtered: row.filtered,
      purged: row.purged,
      expired: row.expired,
      erased: row.erased,
    },
    aside: row.aside,
    asideBytes: row.aside_bytes,
    settledAhead: row.settled_ahead,
    delivery: row.delivery,
  };
}
