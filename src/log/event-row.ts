/** The row of an event: its columns, in a segment and among the copied-out events alike, and what is read from them. */
import type { EventMeta, KeptHeaders } from "../core/event.ts";
import type { SqlValue } from "./sql.ts";

/** What a look ahead needs to know of an event. */
export interface EventHead {
  readonly seq: number;
  readonly receivedAtMs: number;
  readonly sizeBytes: number;
  /** Bytes of what is kept of its headers, beside the body. */
  readonly headersSizeBytes: number;
  /** Running total of offered bytes, this event's included. */
  readonly offeredBytes: number;
  readonly source: string;
  readonly type: string | null;
  readonly erased: boolean;
  /** Its body is in chunk rows: it is sent alone [V25]. */
  readonly large: boolean;
}

/** A large body that was stored chunk by chunk before its event. */
export interface UploadedBody {
  readonly upload: string;
  readonly isText: boolean;
}

export interface NewEvent {
  readonly seq: number;
  readonly receivedAtMs: number;
  readonly sizeBytes: number;
  readonly offeredBytes: number;
  readonly source: string;
  readonly provider: string;
  readonly eventId: string;
  readonly type: string | null;
  readonly contentType: string | null;
  /** JSON, or "" for none. */
  readonly headers: string;
  readonly hops: number;
  readonly body: Uint8Array | UploadedBody;
}

type CommonRow = [
  seq: number,
  receivedAtMs: number,
  sizeBytes: number,
  offeredBytes: number,
  source: string,
  type: string | null,
  erasedAtMs: number | null,
  upload: string | null,
];
/** What a query by `HEAD` gives. */
export type HeadRow = [...CommonRow, headersSizeBytes: number];
/** What a query by `META` gives. */
export type MetaRow = [
  ...CommonRow,
  provider: string,
  eventId: string,
  contentType: string | null,
  headers: string,
  hops: number,
];
/** What a query by `STORED` gives. */
export type StoredRow = [...MetaRow, body: ArrayBuffer | null, isText: number | null];

/** The columns as the first version of the schema had them. */
export const FIRST_BODY_COLUMNS = `seq INTEGER PRIMARY KEY, received_at_ms INTEGER NOT NULL, size_bytes INTEGER NOT NULL,
  offered_bytes INTEGER NOT NULL, source TEXT NOT NULL, provider TEXT NOT NULL, event_id TEXT NOT NULL, type TEXT,
  content_type TEXT, headers TEXT NOT NULL, hops INTEGER NOT NULL, erased_at_ms INTEGER, body BLOB`;
/** Of a large event only, whose `body` is null: the upload its chunk rows are found by, and whether they are UTF-8. */
export const ADDED_BODY_COLUMNS: readonly string[] = ["upload TEXT", "is_text INTEGER"];
export const BODY_COLUMNS = [FIRST_BODY_COLUMNS, ...ADDED_BODY_COLUMNS].join(", ");

const COMMON = "seq, received_at_ms, size_bytes, offered_bytes, source, type, erased_at_ms, upload";
export const HEAD = `${COMMON}, octet_length(headers) + ifnull(octet_length(content_type), 0) AS headers_bytes`;
export const META = `${COMMON}, provider, event_id, content_type, headers, hops`;
export const STORED = `${META}, body, is_text`;

const INSERTED =
  "seq, received_at_ms, size_bytes, offered_bytes, source, provider, event_id, type, content_type, headers, hops";

/** The rest of `INSERT INTO <table>` for this event, and the values that go with it. */
export function insertion(event: NewEvent): { readonly into: string; readonly values: readonly SqlValue[] } {
  const { body } = event;
  const values: SqlValue[] = [
    event.seq,
    event.receivedAtMs,
    event.sizeBytes,
    event.offeredBytes,
    event.source,
    event.provider,
    event.eventId,
    event.type,
    event.contentType,
    event.headers,
    event.hops,
  ];
  if (body instanceof Uint8Array) {
    values.push(body);
    return { into: `(${INSERTED}, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, values };
  }
  values.push(body.upload, Number(body.isText));
  return { into: `(${INSERTED}, upload, is_text) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, values };
}

/** By index, because destructuring walks an iterator: over the rows of a batch that costs more than reading them. */
export function headFromRow(row: HeadRow): EventHead {
  return {
    seq: row[0],
    receivedAtMs: row[1],
    sizeBytes: row[2],
    offeredBytes: row[3],
    source: row[4],
    type: row[5],
    erased: row[6] !== null,
    large: row[7] !== null,
    headersSizeBytes: row[8],
  };
}

/** Throws where the kept headers are damaged, unless others are given. */
export function metaFromRow(row: MetaRow | StoredRow, given?: KeptHeaders): EventMeta {
  return {
    seq: row[0],
    receivedAtMs: row[1],
    bodySizeBytes: row[2],
    source: row[4],
    type: row[5],
    provider: row[8],
    eventId: row[9],
    contentType: row[10],
    headers: given ?? (row[11] === "" ? {} : (JSON.parse(row[11]) as KeptHeaders)),
    hops: row[12],
  };
}
