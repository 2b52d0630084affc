import { openBreaker, reasonToOpen } from "./breaker.ts";
import {
  type Draft,
  finishDraft,
  isStrict,
  nothingHappened,
  type SettleFacts,
  type Settlement,
  settlePiece,
  startDraft,
} from "./draft.ts";
import { holdDestination } from "./hold.ts";
import { answerHalf, answerSingle, endIsolation, halfOf, isSingleOf, startIsolation } from "./isolation.ts";
import { keepUncharged } from "./judge.ts";
import type { Flight, Live } from "./live.ts";
import type { Outcome } from "./outcome.ts";
import type { DeliveryRow, InFlightRecord } from "./row.ts";
import { settleAccepted } from "./settle-accepted.ts";
import { settleBusy } from "./settle-busy.ts";
import { settleFailed } from "./settle-failed.ts";

/**
 * What becomes of each event of a request, and of the destination, now that its outcome is known [V6]–[V15], [V22]–[V24].
 * The outcome of a request this destination does not know (removed, created anew) changes nothing [V14].
 */
export function settle(
  row: DeliveryRow,
  live: Live,
  requestId: number,
  outcome: Outcome,
  facts: SettleFacts,
): Settlement {
  const flight = live.flights.find((sent) => sent.id === requestId);
  if (flight === undefined) return nothingHappened(row, live);
  const draft = startDraft(row, live, facts);
  land(draft, flight);
  if (flight.events.length === 0) settleEmpty(draft, flight);
  else settleOutcome(draft, flight, outcome);
  startIsolation(draft);
  openIfNeeded(draft);
  if (draft.row.disabled !== null) endIsolation(draft);
  return finishDraft(draft);
}

/** It is in flight no more. */
function land(draft: Draft, sent: Flight): void {
  draft.live = { ...draft.live, flights: draft.live.flights.filter((other) => other !== sent) };
  const record = draft.row.inFlight.find((other) => isRecordOf(other, sent));
  draft.row = { ...draft.row, inFlight: draft.row.inFlight.filter((other) => other !== record) };
}

function isRecordOf(record: InFlightRecord, flight: Flight): boolean {
  return (
    record.state === "sent" &&
    record.batchId === flight.batchId &&
    record.fromSeq === flight.fromSeq &&
    record.toSeq === flight.toSeq &&
    record.inLog === flight.inLog
  );
}

function settleOutcome(draft: Draft, flight: Flight, outcome: Outcome): void {
  switch (outcome.kind) {
    case "accepted": {
      const refused = new Set(outcome.refusedIds);
      const named = refused.size === 0 ? [] : flight.events.filter((event) => refused.has(event.eventId));
      if (named.length === flight.events.length) settleFailed(draft, flight, "named");
      else settleAccepted(draft, flight, named);
      return;
    }
    case "failed":
      if (outcome.retryAfterMs !== null) holdDestination(draft, flight, outcome.retryAfterMs, false);
      settleFailed(draft, flight, "failed");
      return;
    case "refused":
      settleFailed(draft, flight, "refused");
      return;
    case "gone":
      settleFailed(draft, flight, "gone");
      return;
    case "busy":
      settleBusy(draft, flight, outcome.retryAfterMs);
  }
}

/** Nothing of it is left to decide about. */
function settleEmpty(draft: Draft, flight: Flight): void {
  if (!flight.inLog) return;
  settlePiece(draft, flight);
  const { isolation } = draft.live;
  const side = halfOf(isolation, flight);
  if (side !== null) answerHalf(draft, side, "accepted", true);
  else if (isSingleOf(isolation, flight)) answerSingle(draft, isolation, flight, false);
  else if (isolation?.kind === "front") draft.live = { ...draft.live, isolation: null };
}

/**
 * When the breaker opens, what is under isolation goes back to the fresh events. Where fewer than ten events opened it
 * they are all that waits: they are set aside, so that the next arrival is the probe [V11].
 */
function openIfNeeded(draft: Draft): void {
  const reason = reasonToOpen(draft);
  if (reason === null) return;
  endIsolation(draft);
  openBreaker(draft, reason.few, reason.detail);
  if (reason.tooManyAside) draft.raise.push({ kind: "aside-full", detail: reason.detail });
  if (reason.few === null || isStrict(draft)) return;
  for (const piece of draft.returned) {
    for (const event of piece.events) {
      keepUncharged(draft, { fromSeq: event.seq, toSeq: event.seq, events: [event], passedOver: [] }, event, "failed");
    }
    settlePiece(draft, { ...piece, events: [] });
  }
}
