/** Events that die together: given up on after a long outage [V12], or to make room at a destination that is off [R4] [L6]. */
import { type AsideEvent, giveUp, type SettleFacts, unsettledRanges } from "../core/delivery/machine.ts";
import { type EventFilter, passes } from "../core/filter.ts";
import { RANGE_EVENTS_MAX } from "../log/dead-ranges.ts";
import type { Log } from "../log/log.ts";
import { deathNow, diedNow } from "./died-now.ts";
import { asideChanged, counted, type Memory } from "./memory.ts";
import { passSilently, type Recording } from "./record.ts";

/** Events that die in one step: a filter has to look at each. */
const GIVEN_UP_MAX = 20_000;
/** Set-aside events that die in one step; the next plan finds the rest. */
const ASIDE_GIVEN_UP_MAX = 500;

/** Everything received, or waiting, since before `waitingSinceMs` becomes a dead letter, reason `gave-up`; a part at a time. */
export function giveUpBefore(
  log: Log,
  before: Memory,
  waitingSinceMs: number,
  filter: EventFilter | null,
  recording: Recording,
  facts: SettleFacts,
): Memory {
  const { position } = before.row;
  const markSeq = Math.min(log.segments.high.seq, position + GIVEN_UP_MAX);
  const throughSeq = log.events.lastReceivedBefore(position + 1, markSeq, waitingSinceMs + 1);
  const memory =
    throughSeq === null ? before : buryThrough(log, before, throughSeq, "gave-up", filter, recording, facts);
  return giveUpAside(log, memory, waitingSinceMs, recording);
}

/** All that is unsettled up to `throughSeq` dies, as ranges of at most 1,000 events [L6]; what the filter passes over does not. */
export function buryThrough(
  log: Log,
  before: Memory,
  throughSeq: number,
  reason: string,
  filter: EventFilter | null,
  recording: Recording,
  facts: SettleFacts,
): Memory {
  let dead = 0;
  let filtered = 0;
  let span = 0;
  const isPlain = filter === null && before.cursor.settledAhead === 0 && !recording.mayMeetErased;
  const stretches = unsettledRanges(before.row, throughSeq);
  for (const [fromSeq, toSeq] of stretches) {
    span += toSeq - fromSeq + 1;
    for (let first = fromSeq; first <= toSeq; first += RANGE_EVENTS_MAX) {
      const last = Math.min(toSeq, first + RANGE_EVENTS_MAX - 1);
      const runs = isPlain
        ? [{ first, last, eventCount: last - first + 1 }]
        : deadRuns(log, recording, filter, first, last);
      for (const run of runs) {
        dead += run.eventCount;
        log.dead.ranges.insert(recording.destination, {
          firstSeq: run.first,
          lastSeq: run.last,
          eventCount: run.eventCount,
          ...deathNow(reason, recording),
          filter: JSON.stringify(filter),
        });
      }
      if (!isPlain) filtered += passedOverCount(recording, filter, first, last);
    }
  }
  const { row, live } = giveUp(before.row, before.live, throughSeq, facts);
  const silent = span - dead - filtered;
  const memory = counted({ ...before, row, live }, { dead, filtered });
  return silent === 0 ? memory : passSilently(memory, silent, stretches, recording);
}

/** The parts of a stretch whose events die; an event that was erased, or is dead on its own already, ends a part. */
function deadRuns(log: Log, recording: Recording, filter: EventFilter | null, first: number, last: number) {
  const runs: { first: number; last: number; eventCount: number }[] = [];
  let from = first;
  let eventCount = 0;
  const end = (toSeq: number): void => {
    if (eventCount > 0) runs.push({ first: from, last: toSeq, eventCount });
    eventCount = 0;
  };
  for (const head of log.events.heads(first - 1, last - first + 1)) {
    if (head.seq > last) break;
    if (head.erased || log.dead.find(recording.destination, head.seq) !== null) {
      end(head.seq - 1);
      from = head.seq + 1;
    } else if (passes(filter, head.source, head.type)) eventCount += 1;
  }
  end(last);
  return runs;
}

function passedOverCount(recording: Recording, filter: EventFilter | null, first: number, last: number): number {
  const { log, destination } = recording;
  return log.events
    .heads(first - 1, last - first + 1)
    .filter((head) => head.seq <= last && !head.erased && !passes(filter, head.source, head.type))
    .filter((head) => log.dead.find(destination, head.seq) === null).length;
}

function giveUpAside(log: Log, before: Memory, waitingSinceMs: number, recording: Recording): Memory {
  let memory = before;
  for (const row of log.aside.due(recording.destination, ASIDE_GIVEN_UP_MAX)) {
    const event = JSON.parse(row.event) as AsideEvent;
    if (event.waitingSinceMs > waitingSinceMs) continue;
    log.aside.remove(recording.destination, row.seq);
    const history = { charged: event.charged, attempts: row.attempts };
    log.dead.insert(recording.destination, diedNow(row.seq, "gave-up", recording, history));
    const bytes = log.events.head(row.seq)?.sizeBytes ?? 0;
    memory = counted(asideChanged(memory, -1, -bytes), { dead: 1 });
  }
  return memory;
}
