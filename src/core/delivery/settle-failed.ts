import { attemptCountMax } from "./backoff.ts";
import { countAgainst, countRefusedProbe, reopenBreaker } from "./breaker.ts";
import { type Draft, isStrict, rememberFailure, returnPiece, settlePiece } from "./draft.ts";
import { hasContrast, recordResult } from "./guilt.ts";
import { answerHalf, answerSingle, before, halfOf, isSingleOf } from "./isolation.ts";
import { bury, historyOf, judgeAlone, keepUncharged } from "./judge.ts";
import type { Flight, PlannedEvent, Waiting } from "./live.ts";
import { isRetry, judgeNamed } from "./settle-accepted.ts";
import { stopClock } from "./waiting-time.ts";

/** How a request did not succeed; `named`: a 2xx that named every event in it. */
type Failure = "refused" | "failed" | "gone" | "named";

export function settleFailed(draft: Draft, flight: Flight, failure: Failure): void {
  const [first] = flight.events;
  if (first === undefined) return;
  const isAlone = flight.events.length === 1;
  rememberFailure(draft, flight.events);
  draft.row = { ...draft.row, lastFailedAtMs: draft.resultAtMs };
  const isExcused = isAlone && hasContrast(draft.row, historyOf(draft, first).firstFailureAtMs);
  if (failure === "named") judgeAllNamed(draft, flight);
  if (!isRetry(flight)) {
    draft.row = recordResult(draft.row, {
      atMs: draft.resultAtMs,
      seq: isAlone ? first.seq : null,
      eventCount: flight.events.length,
      acceptedCount: 0,
      against: !isExcused,
    });
  }
  if (draft.row.breaker.state !== "closed") {
    settleWhileOpen(draft, flight, first, failure);
    return;
  }
  if (!isExcused) countAgainst(draft, flight.events);
  if (!isAlone && failure !== "named" && draft.facts.settings.retry.countDestinationFaults) {
    if (chargeAll(draft, flight, failure)) return;
  }
  if (flight.lane === "isolation") settlePart(draft, flight, first, failure);
  else settleByItself(draft, flight, first, failure);
}

/** A request that belongs to no isolation. */
function settleByItself(draft: Draft, flight: Flight, first: PlannedEvent, failure: Failure): void {
  if (failure === "named") return;
  if (flight.events.length === 1) judge(draft, flight, first, failure);
  else takeApart(draft, flight, failure);
}

/** A probe, or a request that was under way when the breaker opened. */
function settleWhileOpen(draft: Draft, flight: Flight, first: PlannedEvent, failure: Failure): void {
  if (failure !== "named") {
    if (flight.events.length > 1) giveBack(draft, flight);
    else if (flight.probe) judge(draft, flight, first, failure);
    else keepUncharged(draft, flight, first, failure);
  }
  if (!flight.probe) return;
  if (failure === "failed") reopenBreaker(draft, flight.events);
  else countRefusedProbe(draft, flight.events);
}

/** Nothing is charged while the breaker is open. */
function giveBack(draft: Draft, flight: Flight): void {
  if (flight.inLog) returnPiece(draft, flight);
}

function judge(draft: Draft, flight: Flight, event: PlannedEvent, failure: Failure): void {
  if (failure === "gone") judgeGone(draft, flight, event);
  else judgeAlone(draft, flight, event, failure === "failed" ? "failed" : "refused");
}

/** [V24] Two different events that get 410 alone, with nothing accepted in between, disable the destination. */
function judgeGone(draft: Draft, flight: Flight, event: PlannedEvent): void {
  if (hasContrast(draft.row, historyOf(draft, event).firstFailureAtMs)) {
    judgeAlone(draft, flight, event, "refused", "gone");
    return;
  }
  const { gone } = draft.row;
  keepUncharged(draft, flight, event, "gone");
  if (gone === null || gone.seq === event.seq) {
    draft.row = { ...draft.row, gone: { seq: event.seq, atMs: draft.resultAtMs } };
    return;
  }
  const disabled = { reason: "gone", atMs: draft.facts.nowMs };
  draft.row = stopClock({ ...draft.row, disabled }, draft.facts.nowMs);
  draft.raise.push({ kind: "destination-disabled", detail: "the destination answered 410 Gone" });
}

/** A request of a running isolation. */
function settlePart(draft: Draft, flight: Flight, first: PlannedEvent, failure: Failure): void {
  const { isolation } = draft.live;
  const isAlone = flight.events.length === 1;
  const side = halfOf(isolation, flight);
  if (side !== null) {
    const isGoneAlone = failure === "gone" && isAlone;
    if (isGoneAlone) judgeGone(draft, flight, first);
    answerHalf(draft, side, failure === "failed" ? "failed" : "refused", isGoneAlone || failure === "named");
  } else if (isSingleOf(isolation, flight)) {
    if (failure !== "named") judge(draft, flight, first, failure);
    answerSingle(draft, isolation, flight, false);
  } else if (isolation?.kind === "front") {
    draft.live = { ...draft.live, isolation: isAlone ? null : { kind: "front", bad: flight } };
    if (isAlone) judge(draft, flight, first, failure);
  } else {
    // A batch that had been Busy before, sent again as it was, while another one is under isolation or none is.
    settleByItself(draft, flight, first, failure);
  }
}

/** A batch did not succeed: it waits to be halved, or to be tried event by event [V9] [V24]. */
function takeApart(draft: Draft, flight: Flight, failure: Failure): void {
  if (!flight.inLog) {
    // Redriven events are not under isolation: their batches get smaller until one is alone [X2].
    draft.live = { ...draft.live, redriveMax: Math.max(1, Math.floor(flight.events.length / 2)) };
  } else if (isStrict(draft)) {
    draft.live = { ...draft.live, isolation: { kind: "front", bad: flight } };
  } else {
    const mode = failure === "gone" ? "singles" : "split";
    const { fromSeq, toSeq, events, passedOver } = flight;
    const piece: Waiting = { fromSeq, toSeq, events, passedOver, mode, heldBack: false, busies: 0, firstBusyAtMs: 0 };
    draft.live = { ...draft.live, waiting: [...draft.live.waiting, piece] };
  }
}

function judgeAllNamed(draft: Draft, flight: Flight): void {
  if (isStrict(draft) && flight.inLog) {
    const [head] = flight.events;
    const companions = { acceptedCount: 0, eventCount: flight.events.length - 1 };
    draft.live = { ...draft.live, isolation: null };
    if (head !== undefined) {
      judgeAlone(draft, before(flight, head.seq + 1), head, "refused", "refused", companions);
    }
    return;
  }
  judgeNamed(draft, flight, flight.events, 0);
  if (flight.inLog) settlePiece(draft, flight);
}

/**
 * `countDestinationFaults`: every attempt counts, also one made in a batch [V6]. Returns true where events died of it;
 * what is left of the batch is then fresh again.
 */
function chargeAll(draft: Draft, flight: Flight, failure: Failure): boolean {
  const charges = new Map(draft.live.charges);
  for (const { seq } of flight.events) charges.set(seq, (charges.get(seq) ?? 0) + 1);
  draft.live = { ...draft.live, charges };
  const countMax = attemptCountMax(draft.facts.settings.retry);
  const dying = flight.events.filter((event) => historyOf(draft, event).charged >= countMax);
  if (dying.length === 0) return false;
  const left = flight.events.filter((event) => !dying.includes(event));
  for (const event of dying) {
    const single = { fromSeq: event.seq, toSeq: event.seq, events: [event], passedOver: [] };
    bury(draft, single, event, historyOf(draft, event), failure === "failed" ? "exhausted" : "refused");
  }
  if (flight.inLog && left.length === 0) settlePiece(draft, flight);
  else if (flight.inLog) returnPiece(draft, { ...flight, events: left });
  const side = halfOf(draft.live.isolation, flight);
  if (side !== null) answerHalf(draft, side, failure === "failed" ? "failed" : "refused", true);
  else if (draft.live.isolation?.kind === "front") draft.live = { ...draft.live, isolation: null };
  return true;
}
