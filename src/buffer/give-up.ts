/** Events that die together: given up on after a long outage [V12], or to make room at a destination that is off [R4] [L6]. */
import { type AsideEvent, giveUp, type SettleFacts, unsettledRanges } from "../core/delivery/machine.ts";
import { RANGE_EVENTS_MAX } from "../log/dead-letters.ts";
import type { Log } from "../log/log.ts";
import { asideChanged, counted, type Memory, settledAhead } from "./memory.ts";
import type { Recording } from "./record.ts";

/** Set-aside events that die in one step; the next plan finds the rest. */
const ASIDE_GIVEN_UP_MAX = 500;

/** Everything received, or waiting, since before `waitingSinceMs` becomes a dead letter, reason `gave-up`. */
export function giveUpBefore(
  log: Log,
  before: Memory,
  waitingSinceMs: number,
  recording: Recording,
  facts: SettleFacts,
): Memory {
  const { position } = before.row;
  const throughSeq = log.events.lastReceivedBefore(position + 1, log.segments.high.seq, waitingSinceMs + 1);
  const memory = throughSeq === null ? before : buryThrough(log, before, throughSeq, "gave-up", recording, facts);
  return giveUpAside(log, memory, waitingSinceMs, recording);
}

/** All that is unsettled up to `throughSeq` dies, as ranges of at most 1,000 events [L6]. */
export function buryThrough(
  log: Log,
  before: Memory,
  throughSeq: number,
  reason: string,
  recording: Recording,
  facts: SettleFacts,
): Memory {
  let deadCount = 0;
  let span = 0;
  for (const [fromSeq, toSeq] of unsettledRanges(before.row, throughSeq)) {
    span += toSeq - fromSeq + 1;
    for (let first = fromSeq; first <= toSeq; first += RANGE_EVENTS_MAX) {
      const last = Math.min(toSeq, first + RANGE_EVENTS_MAX - 1);
      const eventCount = last - first + 1;
      deadCount += eventCount;
      log.dead.insertRange(recording.destination, {
        firstSeq: first,
        lastSeq: last,
        eventCount,
        state: "dead",
        reason,
        diedAtMs: recording.nowMs,
        expiresAtMs: recording.nowMs + recording.deadLetterTtlSeconds * 1000,
      });
    }
  }
  const { row, live } = giveUp(before.row, before.live, throughSeq, facts);
  const silent = span - deadCount;
  return counted(settledAhead({ ...before, row, live }, -silent), { dead: deadCount });
}

function giveUpAside(log: Log, before: Memory, waitingSinceMs: number, recording: Recording): Memory {
  let memory = before;
  for (const row of log.aside.due(recording.destination, ASIDE_GIVEN_UP_MAX)) {
    const event = JSON.parse(row.event) as AsideEvent;
    if (event.waitingSinceMs > waitingSinceMs) continue;
    log.aside.remove(recording.destination, row.seq);
    log.dead.insert(recording.destination, {
      seq: row.seq,
      state: "dead",
      reason: "gave-up",
      diedAtMs: recording.nowMs,
      expiresAtMs: recording.nowMs + recording.deadLetterTtlSeconds * 1000,
      charged: event.charged,
      attempts: row.attempts,
    });
    const bytes = log.events.head(row.seq)?.sizeBytes ?? 0;
    memory = counted(asideChanged(memory, -1, -bytes), { dead: 1 });
  }
  return memory;
}
