/**
 * Turns a planned request into one that can be sent: the events with their bytes, what the filter passed over, and what
 * could not be read.
 */
import type { AsideEvent, PlannedEvent, PlannedRequest, StartedRequest } from "../core/delivery/machine.ts";
import type { StoredEvent } from "../core/event.ts";
import type { AsideRow } from "../log/aside.ts";
import type { Log } from "../log/log.ts";
import type { DeliveredEvent } from "../sinks/delivery.ts";
import type { FreshEvents } from "./look-ahead.ts";

export interface LoadedRequest {
  readonly started: StartedRequest;
  readonly events: readonly DeliveredEvent[];
  /** It may be what kills the object: nothing else is in flight beside it [V26]. */
  readonly exclusive: boolean;
  /** The redrive or replay these events belong to: part of the batch id [V4]. */
  readonly job: string | undefined;
  /** The rows of set-aside events as they are stored, by sequence number. */
  readonly asideRows: ReadonlyMap<number, AsideRow>;
  /** Events of the stretch that are stored but cannot be read [L7]. */
  readonly unreadable: readonly number[];
}

/** Where a request reads: a stretch of the log, or events with rows of their own. */
interface Stretch {
  readonly lane: StartedRequest["lane"];
  readonly fromSeq: number;
  readonly toSeq: number;
  readonly seqs: readonly number[];
  readonly inLog: boolean;
}

/** Where a request is loaded from, and what is to be left out of a stretch of the log. */
interface Shelf {
  readonly log: Log;
  readonly destination: string;
  readonly isLeftOut: (seq: number) => boolean;
}

/** Loads what `request` names. Its `started.events` may be empty where nothing of it can be sent any more. */
export function loadRequest(
  shelf: Shelf,
  id: number,
  request: PlannedRequest,
  fresh: FreshEvents,
  bytesMax: number,
): LoadedRequest {
  const { log, destination } = shelf;
  const asked = stretchOf(request, fresh);
  const stretch = asked.inLog ? { ...asked, seqs: asked.seqs.filter((seq) => !shelf.isLeftOut(seq)) } : asked;
  const asideRows = stretch.inLog ? new Map<number, AsideRow>() : readAside(log, destination, stretch.seqs);
  const seqs = request.lane === "redrive" ? withinBytes(log, stretch.seqs, bytesMax) : stretch.seqs;
  const stored = readSafely(log, seqs);
  const planned: PlannedEvent[] = [];
  const events: DeliveredEvent[] = [];
  for (const event of stored) {
    const row = asideRows.get(event.seq);
    if (!stretch.inLog && row === undefined) continue;
    const aside = row === undefined ? null : (JSON.parse(row.event) as AsideEvent);
    planned.push({ seq: event.seq, eventId: event.eventId, receivedAtMs: event.receivedAtMs, aside });
    events.push({ ...event, attempt: 1 + (aside?.charged ?? 0), replay: aside?.replay === true });
  }
  const readable = new Set(stored.map((event) => event.seq));
  return {
    started: {
      id,
      batchId: request.lane === "resend" ? (request.batchId ?? "") : "",
      lane: stretch.lane,
      fromSeq: stretch.inLog ? stretch.fromSeq : (planned[0]?.seq ?? stretch.fromSeq),
      toSeq: stretch.inLog ? stretch.toSeq : (planned.at(-1)?.seq ?? stretch.toSeq),
      events: planned,
      passedOver: stretch.inLog ? passedOver(shelf, stretch) : [],
    },
    events,
    exclusive: request.lane === "resend" && request.exclusive,
    job: planned.find((event) => event.aside?.job !== undefined)?.aside?.job,
    asideRows,
    unreadable: seqs.filter((seq) => !readable.has(seq)),
  };
}

function stretchOf(request: PlannedRequest, fresh: FreshEvents): Stretch {
  switch (request.lane) {
    case "fresh":
    case "probe": {
      const seqs = fresh.heads.slice(0, request.takeMax).map((head) => head.seq);
      const isAll = seqs.length === fresh.headsAhead;
      const lastSeq = seqs.at(-1) ?? request.fromSeq - 1;
      const scannedToSeq = Math.min(fresh.scannedToSeq, request.toSeq ?? fresh.scannedToSeq);
      return {
        lane: request.lane,
        fromSeq: request.fromSeq,
        toSeq: isAll ? Math.max(lastSeq, scannedToSeq) : lastSeq,
        seqs,
        inLog: true,
      };
    }
    case "isolation":
      return { ...request, inLog: true };
    case "resend":
      return request;
    case "aside":
      return { lane: "aside", fromSeq: request.seq, toSeq: request.seq, seqs: [request.seq], inLog: false };
    case "redrive": {
      const [first = 0] = request.seqs;
      return { lane: "redrive", fromSeq: first, toSeq: request.seqs.at(-1) ?? first, seqs: request.seqs, inLog: false };
    }
  }
}

function readAside(log: Log, destination: string, seqs: readonly number[]): Map<number, AsideRow> {
  const rows = new Map<number, AsideRow>();
  for (const seq of seqs) {
    const row = log.aside.find(destination, seq);
    if (row !== null) rows.set(seq, row);
  }
  return rows;
}

/** One event that cannot be decoded must not keep its neighbours from being read [L7]. */
function readSafely(log: Log, seqs: readonly number[]): StoredEvent[] {
  try {
    return log.events.readMany(seqs);
  } catch {
    return seqs.flatMap((seq) => {
      try {
        return log.events.read(seq) ?? [];
      } catch {
        return [];
      }
    });
  }
}

/** As many from the first on as fit in one request, by their sizes, before any bytes are read; a large one goes alone. */
function withinBytes(log: Log, seqs: readonly number[], bytesMax: number): number[] {
  const fitting: number[] = [];
  let bytes = 0;
  for (const seq of seqs) {
    const head = log.events.head(seq);
    bytes += head === null ? 0 : head.sizeBytes + head.headersSizeBytes;
    const isLarge = head?.large === true;
    if (fitting.length > 0 && (isLarge || bytes > bytesMax)) break;
    fitting.push(seq);
    if (isLarge) break;
  }
  return fitting;
}

/** The numbers of a stretch that are not sent: those that the filter passes over; erased ones are settled silently. */
function passedOver({ log, isLeftOut }: Shelf, stretch: Stretch): number[] {
  const span = stretch.toSeq - stretch.fromSeq + 1;
  if (span === stretch.seqs.length) return [];
  const sent = new Set(stretch.seqs);
  return log.events
    .heads(stretch.fromSeq - 1, span)
    .filter((head) => head.seq <= stretch.toSeq && !head.erased && !sent.has(head.seq) && !isLeftOut(head.seq))
    .map((head) => head.seq);
}
