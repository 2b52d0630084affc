import { closeBreaker } from "./breaker.ts";
import { type Draft, forget, isStrict, settlePiece } from "./draft.ts";
import { recordResult } from "./guilt.ts";
import { endBusy } from "./hold.ts";
import { answerHalf, answerSingle, before, from, halfOf, isSingleOf } from "./isolation.ts";
import { judgeAlone } from "./judge.ts";
import type { Flight, Isolation, Piece, PlannedEvent } from "./live.ts";
import { BATCH_EVENTS_MAX, NO_STREAK } from "./row.ts";

/** A 2xx: all but the named events were accepted [V23], and at least one was. */
export function settleAccepted(draft: Draft, flight: Flight, named: readonly PlannedEvent[]): void {
  if (named.length > 0 && isStrict(draft) && flight.inLog) {
    settleInOrder(draft, flight, named);
    return;
  }
  const accepted = flight.events.filter((event) => !named.includes(event));
  deliver(draft, flight, accepted);
  judgeNamed(draft, flight, named, accepted.length);
  if (flight.inLog) settlePiece(draft, flight);
  noteAccepted(draft, flight, accepted.length);
  recordAccepted(draft, flight, accepted.length);
  advance(draft, flight);
}

/** Every event of a 2xx was named: each is refused, and the request did not succeed. */
export function judgeNamed(draft: Draft, flight: Flight, named: readonly PlannedEvent[], acceptedCount: number): void {
  const companions = { acceptedCount, eventCount: flight.events.length - 1 };
  for (const event of named) {
    const single = { fromSeq: event.seq, toSeq: event.seq, events: [event], passedOver: [] };
    judgeAlone(draft, single, event, "refused", "refused", companions);
  }
}

/** Strict order [V15]: what precedes the first named event is accepted, all from there on is not. */
function settleInOrder(draft: Draft, flight: Flight, named: readonly PlannedEvent[]): void {
  const culprit = named[0];
  if (culprit === undefined) return;
  const accepted = before(flight, culprit.seq);
  deliver(draft, flight, accepted.events);
  settlePiece(draft, accepted);
  const single = { ...from(before(flight, culprit.seq + 1), culprit.seq), passedOver: [] };
  const companions = { acceptedCount: accepted.events.length, eventCount: flight.events.length - 1 };
  draft.live = { ...draft.live, isolation: null };
  judgeAlone(draft, single, culprit, "refused", "refused", companions);
  if (accepted.events.length > 0) noteAccepted(draft, flight, accepted.events.length);
  recordAccepted(draft, flight, accepted.events.length);
}

function deliver(draft: Draft, flight: Flight, events: readonly PlannedEvent[]): void {
  for (const event of events) {
    draft.delivered.push(event.seq);
    if (event.aside?.lane === "aside") draft.asideDelta -= 1;
  }
  if (!flight.inLog) forget(draft, events);
}

/** Something was accepted: whatever was counted in a row begins anew. */
function noteAccepted(draft: Draft, flight: Flight, acceptedCount: number): void {
  endBusy(draft);
  draft.row = { ...draft.row, lastAcceptedAtMs: draft.resultAtMs, streak: NO_STREAK, gone: null };
  draft.live = { ...draft.live, waiting: draft.live.waiting.map((piece) => ({ ...piece, heldBack: false })) };
  if (draft.facts.settings.ordering === "strict") draft.clear.push("head-blocked");
  if (draft.row.breaker.state !== "closed") {
    if (flight.probe) closeBreaker(draft);
  } else if (flight.lane === "redrive") {
    draft.live = { ...draft.live, redriveMax: Math.max(draft.live.redriveMax, acceptedCount * 2) };
  } else if (flight.inLog && flight.lane !== "isolation") {
    const grown = Math.min(BATCH_EVENTS_MAX, acceptedCount * 2);
    draft.row = { ...draft.row, batchSize: Math.max(draft.row.batchSize, grown) };
  }
}

function recordAccepted(draft: Draft, flight: Flight, acceptedCount: number): void {
  if (isRetry(flight)) return;
  draft.row = recordResult(draft.row, {
    atMs: draft.resultAtMs,
    seq: flight.events.length === 1 ? (flight.events[0]?.seq ?? null) : null,
    eventCount: flight.events.length,
    acceptedCount,
    against: false,
  });
}

/** A retry of a set-aside event is no result in the sense of [V22]. */
export function isRetry(flight: Flight): boolean {
  return flight.events[0]?.aside?.lane === "aside";
}

/** The isolation this request belongs to goes on. */
function advance(draft: Draft, flight: Flight): void {
  const { isolation } = draft.live;
  if (flight.lane !== "isolation" || isolation === null) return;
  const side = halfOf(isolation, flight);
  if (side !== null) answerHalf(draft, side, "accepted", true);
  else if (isSingleOf(isolation, flight)) answerSingle(draft, isolation, flight, true);
  else if (isolation.kind === "front") draft.live = { ...draft.live, isolation: behind(isolation.bad, flight) };
}

/** In strict order the culprit is behind what was accepted. */
function behind(bad: Piece, accepted: Piece): Isolation | null {
  const rest = from(bad, accepted.toSeq + 1);
  return rest.events.length > 0 ? { kind: "front", bad: rest } : null;
}
