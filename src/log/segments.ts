/**
 * The registry of the log's segments. A body segment holds events, a key segment holds the keys of duplicates; each is a
 * table of its own that is dropped whole, because `DROP TABLE` writes no rows and deleting one by one does.
 */
import { invariant } from "../core/assert.ts";
import { ADDED_BODY_COLUMNS, BODY_COLUMNS } from "./event-row.ts";
import type { Sql } from "./sql.ts";

export interface Segment {
  readonly id: number;
  readonly kind: "body" | "key";
  readonly firstSeq: number;
  readonly openedAtMs: number;
  /** The running total of offered bytes before the segment's first event. */
  readonly bytesBefore: number;
  /** All null while the segment is open. */
  readonly sealed: { readonly atMs: number; readonly lastSeq: number; readonly sizeBytes: number } | null;
  /** It has a table for the chunks of large bodies, which comes with the first of them [V25]. */
  readonly hasChunks: boolean;
}

/** What must never go back, whatever is dropped or restarted [L3] [L7]. */
interface HighWater {
  /** The highest sequence number ever given; also the number of events ever accepted, for there are no gaps. */
  readonly seq: number;
  /** Running total of the bytes of all events ever accepted. */
  readonly offeredBytes: number;
  /** The receipt of the newest event. */
  readonly receivedAtMs: number;
}

interface SegmentRow extends Record<string, string | number | null> {
  id: number;
  kind: "body" | "key";
  first_seq: number;
  opened_at_ms: number;
  bytes_before: number;
  sealed_at_ms: number | null;
  last_seq: number | null;
  size_bytes: number | null;
}

export class Segments {
  readonly #sql: Sql;
  /** Oldest first. Only the last of each kind may be open. */
  bodies: readonly Segment[] = [];
  keys: readonly Segment[] = [];
  high: HighWater = { seq: 0, offeredBytes: 0, receivedAtMs: 0 };
  #nextId = 1;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Makes the registry's own row; once per object. */
  create(meter: string): void {
    this.#sql.run(
      "INSERT INTO log_state (id, high_seq, offered_bytes, received_at_ms, meter) VALUES (1, 0, 0, 0, ?) ON CONFLICT DO NOTHING",
      meter,
    );
  }

  /** Reads everything anew from storage, as after a start or a rolled-back transaction. Answers the stored meter. */
  load(): string {
    const state = this.#sql.first<{
      high_seq: number;
      offered_bytes: number;
      received_at_ms: number;
      meter: string;
    }>("SELECT high_seq, offered_bytes, received_at_ms, meter FROM log_state WHERE id = 1");
    invariant(state !== null, "log_state has its row");
    const chunked = new Set(this.#tables("chunk").map((table) => table.name));
    const segments = this.#sql
      .all<SegmentRow>(
        "SELECT id, kind, first_seq, opened_at_ms, bytes_before, sealed_at_ms, last_seq, size_bytes FROM segment ORDER BY id LIMIT 10000",
      )
      .map((row) => segmentFromRow(row, chunked.has(`chunk_${row.id}`)));
    this.bodies = segments.filter((segment) => segment.kind === "body");
    this.keys = segments.filter((segment) => segment.kind === "key");
    this.#nextId = (segments.at(-1)?.id ?? 0) + 1;
    this.high = { seq: state.high_seq, offeredBytes: state.offered_bytes, receivedAtMs: state.received_at_ms };
    const open = this.openBody;
    if (open !== null) {
      const newest = this.#sql.first<{ seq: number; offered_bytes: number; received_at_ms: number }>(
        `SELECT seq, offered_bytes, received_at_ms FROM body_${open.id} ORDER BY seq DESC LIMIT 1`,
      );
      if (newest !== null) {
        this.high = { seq: newest.seq, offeredBytes: newest.offered_bytes, receivedAtMs: newest.received_at_ms };
      }
    }
    return state.meter;
  }

  get openBody(): Segment | null {
    const last = this.bodies.at(-1);
    return last !== undefined && last.sealed === null ? last : null;
  }

  get openKey(): Segment | null {
    const last = this.keys.at(-1);
    return last !== undefined && last.sealed === null ? last : null;
  }

  /** The body segment whose range holds `seq`, or null where it was dropped. */
  bodyOf(seq: number): Segment | null {
    let low = 0;
    let high = this.bodies.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const segment = this.bodies[middle];
      if (segment === undefined) return null;
      if (seq < segment.firstSeq) high = middle - 1;
      else if (seq > (segment.sealed?.lastSeq ?? this.high.seq)) low = middle + 1;
      else return segment;
    }
    return null;
  }

  /** Opens a segment of `kind` above the high-water mark; the mark was stored when the one before was sealed [L3]. */
  open(kind: "body" | "key", nowMs: number): Segment {
    const segment: Segment = {
      id: this.#nextId,
      kind,
      firstSeq: this.high.seq + 1,
      openedAtMs: nowMs,
      bytesBefore: this.high.offeredBytes,
      sealed: null,
      hasChunks: false,
    };
    this.#sql.run(
      "INSERT INTO segment (id, kind, first_seq, opened_at_ms, bytes_before) VALUES (?, ?, ?, ?, ?)",
      segment.id,
      kind,
      segment.firstSeq,
      nowMs,
      segment.bytesBefore,
    );
    for (const table of tablesOf(segment)) this.#create(table);
    this.#nextId += 1;
    if (kind === "body") this.bodies = [...this.bodies, segment];
    else this.keys = [...this.keys, segment];
    return segment;
  }

  /** Makes the table for the chunks of large bodies in `segment`, where it is not there yet. */
  addChunkTable(segment: Segment): void {
    const current = this.bodies.find((other) => other.id === segment.id);
    if (current === undefined || current.hasChunks) return;
    this.#create(chunkTable(segment.id));
    this.bodies = this.bodies.map((other) => (other === current ? { ...current, hasChunks: true } : other));
  }

  /** Adds the columns that a segment made by an earlier release has not. */
  widen(): void {
    for (const { name, sql } of this.#tables("body")) {
      if (sql.includes("upload")) continue;
      for (const column of ADDED_BODY_COLUMNS) this.#sql.run(`ALTER TABLE ${name} ADD COLUMN ${column}`);
    }
  }

  /** Ends the open segment of `kind`, if there is one with events in it. */
  seal(kind: "body" | "key", nowMs: number, meter: string): Segment | null {
    const open = kind === "body" ? this.openBody : this.openKey;
    if (open === null || this.high.seq < open.firstSeq) return null;
    const sealed: Segment = {
      ...open,
      sealed: { atMs: nowMs, lastSeq: this.high.seq, sizeBytes: this.high.offeredBytes - open.bytesBefore },
    };
    this.#sql.run(
      "UPDATE segment SET sealed_at_ms = ?, last_seq = ?, size_bytes = ? WHERE id = ?",
      nowMs,
      this.high.seq,
      this.high.offeredBytes - open.bytesBefore,
      open.id,
    );
    // The open body segment's own rows carry the mark; once it is sealed it may be dropped, so the mark moves here.
    if (kind === "body") this.#storeHighWater(meter);
    if (kind === "body") this.bodies = [...this.bodies.slice(0, -1), sealed];
    else this.keys = [...this.keys.slice(0, -1), sealed];
    return sealed;
  }

  /** Drops a sealed segment with all it holds. That nothing refers to it is the caller's promise [L1]. */
  drop(segment: Segment): void {
    invariant(segment.sealed !== null, "only a sealed segment is dropped");
    for (const table of tablesOf(segment)) this.#sql.run(`DROP TABLE ${table.name}`);
    this.#sql.run("DELETE FROM segment WHERE id = ?", segment.id);
    this.bodies = this.bodies.filter((other) => other.id !== segment.id);
    this.keys = this.keys.filter((other) => other.id !== segment.id);
  }

  #create(table: SegmentTable): void {
    this.#sql.run(`CREATE TABLE ${table.name} (${table.columns}) ${table.options}`);
  }

  #tables(prefix: "body" | "chunk"): { name: string; sql: string }[] {
    return this.#sql.all<{ name: string; sql: string }>(
      `SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name GLOB '${prefix}_[0-9]*' LIMIT 10000`,
    );
  }

  #storeHighWater(meter: string): void {
    this.#sql.run(
      "UPDATE log_state SET high_seq = ?, offered_bytes = ?, received_at_ms = ?, meter = ? WHERE id = 1",
      this.high.seq,
      this.high.offeredBytes,
      this.high.receivedAtMs,
      meter,
    );
  }
}

function segmentFromRow(row: SegmentRow, hasChunks: boolean): Segment {
  const sealed =
    row.sealed_at_ms === null || row.last_seq === null || row.size_bytes === null
      ? null
      : { atMs: row.sealed_at_ms, lastSeq: row.last_seq, sizeBytes: row.size_bytes };
  return {
    id: row.id,
    kind: row.kind,
    firstSeq: row.first_seq,
    openedAtMs: row.opened_at_ms,
    bytesBefore: row.bytes_before,
    sealed,
    hasChunks,
  };
}

/** The bytes of large bodies, by the upload they came in [V25]. */
export const CHUNK_COLUMNS = "upload TEXT NOT NULL, n INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (upload, n)";

interface SegmentTable {
  readonly name: string;
  readonly columns: string;
  readonly options: string;
}

/** The tables of one segment: events and the attempts made for them, or keys. */
function tablesOf(segment: Segment): readonly SegmentTable[] {
  if (segment.kind === "key") {
    return [
      {
        name: `key_${segment.id}`,
        columns:
          "key BLOB PRIMARY KEY, seq INTEGER NOT NULL, received_at_ms INTEGER NOT NULL, body_digest BLOB NOT NULL",
        options: "STRICT, WITHOUT ROWID",
      },
    ];
  }
  return [
    { name: `body_${segment.id}`, columns: BODY_COLUMNS, options: "STRICT" },
    {
      name: `attempt_${segment.id}`,
      columns: `destination TEXT NOT NULL, last_seq INTEGER NOT NULL, at_ms INTEGER NOT NULL, first_seq INTEGER NOT NULL,
        batch_id TEXT NOT NULL, duration_ms INTEGER NOT NULL, status INTEGER, outcome TEXT NOT NULL, excerpt TEXT NOT NULL,
        PRIMARY KEY (destination, last_seq, at_ms)`,
      options: "STRICT, WITHOUT ROWID",
    },
    ...(segment.hasChunks ? [chunkTable(segment.id)] : []),
  ];
}

function chunkTable(segmentId: number): SegmentTable {
  return { name: `chunk_${segmentId}`, columns: CHUNK_COLUMNS, options: "STRICT, WITHOUT ROWID" };
}
