import { type Draft, isStrict, rememberFailure, returnPiece } from "./draft.ts";
import { recordResult } from "./guilt.ts";
import { holdDestination } from "./hold.ts";
import { answerHalf, answerSingle, halfOf, isSingleOf } from "./isolation.ts";
import { countBusy, keepBusy } from "./judge.ts";
import type { Flight, PlannedEvent, Waiting } from "./live.ts";
import type { AsideEvent } from "./row.ts";
import { isRetry } from "./settle-accepted.ts";
import { settleFailed } from "./settle-failed.ts";

/** A batch that got Busy so often while others were accepted is taken apart: something in it may be the reason. */
const BATCH_BUSY_COUNT_MAX = 3;

/** The destination asks for time [V7]. Nobody is charged, and nothing counts towards the breaker. */
export function settleBusy(draft: Draft, flight: Flight, retryAfterMs: number | null): void {
  const [first] = flight.events;
  if (first === undefined) return;
  const isAlone = flight.events.length === 1;
  const busy = countBusy(draft, first);
  if (isAlone && busy.isFailure) {
    settleFailed(draft, remembering(draft, flight, first, busy.after), "failed");
    return;
  }
  if (!isAlone && hasBeenBusyTooOften(draft, flight)) {
    settleFailed(draft, flight, "failed");
    return;
  }

  rememberFailure(draft, flight.events);
  const untilMs = holdDestination(draft, flight, retryAfterMs, true);
  if (!isRetry(flight)) {
    const seq = isAlone ? first.seq : null;
    const { length: eventCount } = flight.events;
    draft.row = recordResult(draft.row, { atMs: draft.resultAtMs, seq, eventCount, acceptedCount: 0, against: false });
  }
  if (isAlone) keepAlone(draft, flight, first, busy.after, untilMs);
  else if (flight.inLog && !isStrict(draft)) keepBatch(draft, flight);
}

/** From now on its Busy answers are failures of its own. */
function remembering(draft: Draft, flight: Flight, event: PlannedEvent, after: AsideEvent): Flight {
  if (event.aside !== null) return { ...flight, events: [{ ...event, aside: after }] };
  draft.row = { ...draft.row, head: after };
  return flight;
}

function keepAlone(draft: Draft, flight: Flight, event: PlannedEvent, after: AsideEvent, untilMs: number): void {
  keepBusy(draft, flight, event, after, untilMs);
  const { isolation } = draft.live;
  if (flight.lane !== "isolation" || isolation === null) return;
  const side = halfOf(isolation, flight);
  if (side !== null) answerHalf(draft, side, "busy", true);
  else if (isSingleOf(isolation, flight)) answerSingle(draft, isolation, flight, false);
  else if (isolation.kind === "front") draft.live = { ...draft.live, isolation: null };
}

/** It is sent again as it is; but after the hold another event goes first, where there is one. */
function keepBatch(draft: Draft, flight: Flight): void {
  const { isolation } = draft.live;
  const firstBusyAtMs = flight.firstBusyAtMs > 0 ? flight.firstBusyAtMs : draft.resultAtMs;
  const busies = flight.busies + 1;
  const side = flight.lane === "isolation" ? halfOf(isolation, flight) : null;
  if (side !== null && isolation?.kind === "halves") {
    const half = { ...isolation[side], busies, firstBusyAtMs };
    draft.live = { ...draft.live, isolation: { ...isolation, [side]: half } };
    return;
  }
  if (draft.row.breaker.state !== "closed") {
    returnPiece(draft, flight);
    return;
  }
  for (const piece of draft.live.waiting) if (piece.heldBack) returnPiece(draft, piece);
  const { fromSeq, toSeq, events, passedOver } = flight;
  const piece: Waiting = { fromSeq, toSeq, events, passedOver, mode: "whole", heldBack: true, busies, firstBusyAtMs };
  draft.live = { ...draft.live, waiting: [...draft.live.waiting.filter((other) => !other.heldBack), piece] };
}

function hasBeenBusyTooOften(draft: Draft, flight: Flight): boolean {
  const hasOthers = flight.firstBusyAtMs > 0 && draft.row.lastAcceptedAtMs > flight.firstBusyAtMs;
  return flight.busies + 1 >= BATCH_BUSY_COUNT_MAX && hasOthers;
}
