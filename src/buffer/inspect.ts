/** One event as an operator sees it [X7], and the dead letters of a destination [X1]. Reads only. */
import type { AsideEvent } from "../core/delivery/machine.ts";
import { type Attempt, parseAttempts } from "../log/attempts.ts";
import type { EventHead } from "../log/events.ts";
import type { Log } from "../log/log.ts";
import type { AttemptView, DeadLetterQuery, DeadLetterView, EventDestinationView, EventView } from "./contract.ts";
import type { Destination } from "./destination.ts";
import { placeOf } from "./event-state.ts";
import type { Roster } from "./roster.ts";
import { nextDead } from "./walk.ts";

/** The event of this id with its state at each destination; null where it is not known, or its row is gone. */
export function eventView(log: Log, roster: Roster, seq: number): EventView | null {
  const meta = log.events.meta(seq);
  const head = log.events.head(seq);
  if (meta === null || head === null) return null;
  return {
    id: meta.eventId,
    seq: String(meta.seq),
    source: meta.source,
    provider: meta.provider,
    type: meta.type,
    receivedAt: new Date(meta.receivedAtMs).toISOString(),
    contentType: meta.contentType,
    headers: meta.headers,
    bodySizeBytes: meta.bodySizeBytes,
    destinations: Object.fromEntries(
      roster.all.map((destination) => [destination.name, stateAt(log, destination, head)]),
    ),
  };
}

function stateAt(log: Log, destination: Destination, head: EventHead): EventDestinationView {
  const { name } = destination;
  const { state, aside, letter, range } = placeOf(log, destination, head);
  const own = parseAttempts(aside?.attempts ?? letter?.attempts ?? "");
  const attempts = views(joined(log.attempts.of(name, head.seq), own));
  if (aside !== null) {
    const event = JSON.parse(aside.event) as AsideEvent;
    return { state, reason: event.reason, nextAttemptAt: new Date(event.dueAtMs).toISOString(), attempts };
  }
  const reason = letter?.reason ?? range?.reason;
  return reason === undefined ? { state, attempts } : { state, reason, attempts };
}

/** Both lists hold the same attempts where an event was alone in its request. */
function joined(a: readonly Attempt[], b: readonly Attempt[]): Attempt[] {
  const byTime = new Map<string, Attempt>();
  for (const attempt of [...a, ...b]) byTime.set(`${attempt.atMs}/${attempt.batchId}`, attempt);
  return [...byTime.values()].sort((x, y) => x.atMs - y.atMs);
}

function views(attempts: readonly Attempt[]): AttemptView[] {
  return attempts.map((attempt) => ({
    at: new Date(attempt.atMs).toISOString(),
    batchId: attempt.batchId,
    durationMs: attempt.durationMs,
    status: attempt.status,
    outcome: attempt.outcome,
    response: attempt.excerpt,
  }));
}

const DEAD_ROWS_MAX = 5_000;
const DEAD_STRETCH_ROWS = 200;

/** A page of dead letters, oldest first; the cursor is the last sequence number looked at. It may be empty and have one. */
export function deadLetterPage(
  log: Log,
  query: DeadLetterQuery,
): { readonly items: readonly DeadLetterView[]; readonly cursor: string | null } {
  const { destination, limit } = query;
  const throughSeq = log.segments.high.seq;
  const items: DeadLetterView[] = [];
  let fromSeq = query.cursor === null ? 1 : Number(query.cursor) + 1;
  for (let rows = 0; rows < DEAD_ROWS_MAX; rows += DEAD_STRETCH_ROWS) {
    const stretch = nextDead(log, destination, query, fromSeq, throughSeq, DEAD_STRETCH_ROWS);
    for (const head of stretch.heads) {
      const line = deadLetterView(log, destination, head.seq);
      if (line !== null) items.push(line);
      if (items.length >= limit) return { items, cursor: String(head.seq) };
    }
    if (stretch.nextSeq === null) return { items, cursor: null };
    fromSeq = stretch.nextSeq;
  }
  return { items, cursor: String(fromSeq - 1) };
}

function deadLetterView(log: Log, destination: string, seq: number): DeadLetterView | null {
  const meta = log.events.meta(seq);
  const letter = log.dead.find(destination, seq);
  const died = letter ?? log.dead.ranges.find(destination, seq);
  if (meta === null || died === null) return null;
  const last = parseAttempts(letter?.attempts ?? "").at(-1);
  return {
    id: meta.eventId,
    seq: String(seq),
    destination,
    source: meta.source,
    type: meta.type,
    reason: died.reason,
    receivedAt: new Date(meta.receivedAtMs).toISOString(),
    diedAt: new Date(died.diedAtMs).toISOString(),
    attempts: letter?.charged ?? 0,
    lastStatus: last?.status ?? null,
    lastResponse: last?.excerpt ?? "",
  };
}
