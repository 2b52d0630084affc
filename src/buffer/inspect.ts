/** One event as an operator sees it [X7], and the dead letters of a destination [X1]. Reads only. */
import type { AsideEvent } from "../core/delivery/machine.ts";
import { type Attempt, parseAttempts } from "../log/attempts.ts";
import type { EventHead } from "../log/events.ts";
import type { Log } from "../log/log.ts";
import type { AttemptView, DeadLetterQuery, DeadLetterView, EventDestinationView, EventView } from "./contract.ts";
import type { Destination } from "./destination.ts";
import { placeOf } from "./event-state.ts";
import type { Roster } from "./roster.ts";

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

/** A page of dead letters, oldest first; the cursor is the last sequence number shown. */
export function deadLetterPage(
  log: Log,
  query: DeadLetterQuery,
): { readonly items: readonly DeadLetterView[]; readonly cursor: string | null } {
  const afterSeq = query.cursor === null ? 0 : Number(query.cursor);
  const alone = log.dead.list(query.destination, "dead", afterSeq, query.limit);
  const together = log.dead.ranges.list(query.destination, "dead", afterSeq, query.limit);
  const items: DeadLetterView[] = alone.flatMap((letter) => {
    const attempts = parseAttempts(letter.attempts);
    return view(log, query.destination, letter.seq, letter.reason, letter.diedAtMs, attempts, letter.charged);
  });
  for (const range of together) {
    const first = Math.max(range.firstSeq, afterSeq + 1);
    const last = Math.min(range.lastSeq, first + query.limit - 1);
    for (let seq = first; seq <= last; seq += 1) {
      items.push(...view(log, query.destination, seq, range.reason, range.diedAtMs, [], 0));
    }
  }
  items.sort((a, b) => Number(a.seq) - Number(b.seq));
  const page = items.slice(0, query.limit);
  return { items: page, cursor: page.length < query.limit ? null : (page.at(-1)?.seq ?? null) };
}

function view(
  log: Log,
  destination: string,
  seq: number,
  reason: string,
  diedAtMs: number,
  attempts: readonly Attempt[],
  charged: number,
): DeadLetterView[] {
  const meta = log.events.meta(seq);
  if (meta === null) return [];
  const last = attempts.at(-1);
  return [
    {
      id: meta.eventId,
      seq: String(seq),
      destination,
      source: meta.source,
      type: meta.type,
      reason,
      receivedAt: new Date(meta.receivedAtMs).toISOString(),
      diedAt: new Date(diedAtMs).toISOString(),
      attempts: charged,
      lastStatus: last?.status ?? null,
      lastResponse: last?.excerpt ?? "",
    },
  ];
}
