/** Search over the stored events [X8]: newest first, a bounded number of rows and a bounded time a call. */
import { isSelected } from "../core/selection.ts";
import type { EventHead } from "../log/events.ts";
import type { Log } from "../log/log.ts";
import type { EventLine, EventPage, EventQuery, EventState } from "./contract.ts";
import { placeOf } from "./event-state.ts";
import type { Roster } from "./roster.ts";

const ROWS_MAX = 5_000;
const TURN_MAX_MS = 50;
const STRETCH_ROWS = 200;

/** One page; it may be empty and still have a cursor. `query.cursor` is the last sequence number looked at. */
export function searchEvents(log: Log, roster: Roster, query: EventQuery, clock: () => number): EventPage {
  const endMs = clock() + TURN_MAX_MS;
  const items: EventLine[] = [];
  let beforeSeq = query.cursor === null ? upperEnd(log, query) : Number(query.cursor);
  const oldestSeq = lowerEnd(log, query);
  for (let rows = 0; rows < ROWS_MAX && beforeSeq > oldestSeq && items.length < query.limit; ) {
    const heads = log.events.headsBefore(beforeSeq, STRETCH_ROWS);
    rows += Math.max(heads.length, 1);
    if (heads.length === 0) return { items, cursor: null };
    for (const head of heads) {
      beforeSeq = head.seq;
      if (head.seq < oldestSeq || !isSelected(query, head)) continue;
      const line = lineOf(log, roster, query, head);
      if (line !== null) items.push(line);
      if (items.length >= query.limit) break;
    }
    if (clock() >= endMs) break;
  }
  return { items, cursor: beforeSeq > oldestSeq ? String(beforeSeq) : null };
}

/** The event as a line, or null where its state is not the one that is looked for. */
function lineOf(log: Log, roster: Roster, query: EventQuery, head: EventHead): EventLine | null {
  const states: Record<string, EventState> = {};
  for (const destination of roster.all) states[destination.name] = placeOf(log, destination, head).state;
  if (query.state !== undefined) {
    const looked = query.destination === undefined ? Object.values(states) : [states[query.destination]];
    if (!looked.includes(query.state)) return null;
  }
  const meta = log.events.meta(head.seq);
  if (meta === null) return null;
  return {
    id: meta.eventId,
    seq: String(head.seq),
    source: head.source,
    type: head.type,
    receivedAt: new Date(head.receivedAtMs).toISOString(),
    bodySizeBytes: head.sizeBytes,
    states,
  };
}

/** `to` chooses the segments first: nothing received later is read. */
function upperEnd(log: Log, query: EventQuery): number {
  const { high } = log.segments;
  if (query.toMs === undefined) return high.seq + 1;
  const oldest = lowestStored(log);
  return (log.events.lastReceivedBefore(oldest, high.seq, query.toMs) ?? oldest - 1) + 1;
}

function lowerEnd(log: Log, query: EventQuery): number {
  const oldest = lowestStored(log);
  if (query.fromMs === undefined) return log.events.keptSeqs(0, oldest, 1)[0] ?? oldest;
  return (log.events.lastReceivedBefore(oldest, log.segments.high.seq, query.fromMs) ?? oldest - 1) + 1;
}

function lowestStored(log: Log): number {
  return log.segments.bodies[0]?.firstSeq ?? log.segments.high.seq + 1;
}
