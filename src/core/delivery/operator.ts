import { recordSeqs, restOf } from "./crashed.ts";
import {
  type Draft,
  finishDraft,
  forgetSeqs,
  type SettleFacts,
  type Settlement,
  settlePiece,
  startDraft,
} from "./draft.ts";
import { answerHalf, before, endIsolation, halfOf, startIsolation } from "./isolation.ts";
import { type Flight, freshWindow, heldPieces, type Live, rangeOf } from "./live.ts";
import { includes, isSettled, overlaps, type Range, rangesOf, settleRange } from "./ranges.ts";
import type { DeliveryRow, InFlightRecord } from "./row.ts";
import { startClock, stopClock } from "./waiting-time.ts";

interface Changed {
  readonly row: DeliveryRow;
  readonly live: Live;
}

/** Nothing is sent any more; events are kept and counted [V18]. What is in flight is finished. */
export function pause(row: DeliveryRow, live: Live, nowMs: number): Changed {
  return { row: stopClock({ ...row, paused: true }, nowMs), live };
}

/** Ends a pause, `disabled` and a hold [V18] [V24]. */
export function resume(row: DeliveryRow, live: Live, nowMs: number): Changed {
  const enabled = enable({ ...row, paused: false, hold: null, busy: null }, live, nowMs);
  return { row: startClock(enabled.row, nowMs), live };
}

/** Ends `disabled`, as a changed `url` does [V24]. The destination is carefully tried anew. */
export function enable(row: DeliveryRow, live: Live, nowMs: number): Changed {
  if (row.disabled === null) return { row, live };
  const enabled: DeliveryRow = { ...row, disabled: null, gone: null, breaker: { state: "closed" }, batchSize: 1 };
  return { row: startClock(enabled, nowMs), live };
}

/** Nothing can be sent, and nobody but an operator can change that (the default origin's address is gone [V5]). */
export function disable(row: DeliveryRow, live: Live, reason: string, nowMs: number): Changed {
  if (row.disabled !== null) return { row, live };
  return { row: stopClock({ ...row, disabled: { reason, atMs: nowMs } }, nowMs), live };
}

/** `POST drain`: lifts a hold, and an open breaker is probed now [V7] [V11]. */
export function drainNow(row: DeliveryRow, live: Live, nowMs: number): Changed {
  const { breaker } = row;
  const probed = breaker.state === "open" ? { ...breaker, untilMs: Math.min(breaker.untilMs, nowMs) } : breaker;
  return { row: { ...row, hold: null, busy: null, breaker: probed }, live };
}

/**
 * Nothing in that stretch is to be sent: the filter passed all of it over, or what was planned there is gone. For fresh
 * events it begins at `nextFreshSeq` and ends within the window; for `isolation` it is the planned stretch.
 */
export function passOver(
  row: DeliveryRow,
  live: Live,
  stretch: { readonly fromSeq: number; readonly toSeq: number; readonly passedOver: readonly number[] },
  facts: SettleFacts,
): Settlement {
  const draft = startDraft(row, live, facts);
  settlePiece(draft, { ...stretch, events: [] });
  leaveIsolation(draft, stretch);
  startIsolation(draft);
  return finishDraft(draft);
}

function leaveIsolation(draft: Draft, stretch: { readonly fromSeq: number; readonly toSeq: number }): void {
  const { isolation } = draft.live;
  const waiting = draft.live.waiting.filter((piece) => piece.fromSeq !== stretch.fromSeq);
  draft.live = { ...draft.live, waiting };
  const inFlight = draft.row.inFlight.flatMap((record) => {
    const isOfStretch = record.fromSeq >= stretch.fromSeq && record.fromSeq <= stretch.toSeq;
    return record.state === "again" && record.inLog && isOfStretch ? restOf(record, stretch.toSeq) : [record];
  });
  draft.row = { ...draft.row, inFlight };
  const side = isolation === null ? null : halfOf(isolation, { ...stretch, events: [], passedOver: [] });
  if (side !== null) answerHalf(draft, side, "accepted", true);
  else if (isolation?.kind === "singles" && isolation.rest.toSeq === stretch.toSeq) {
    const rest = before(isolation.rest, stretch.fromSeq);
    draft.live = { ...draft.live, isolation: rest.events.length > 0 ? { kind: "singles", rest } : null };
  } else if (isolation?.kind === "front" && isolation.bad.fromSeq === stretch.fromSeq) {
    draft.live = { ...draft.live, isolation: null };
  }
}

/** The stretches up to `throughSeq` that are neither settled nor set aside: what a `give-up` plan is about [L6]. */
export function unsettledRanges(row: DeliveryRow, throughSeq: number): readonly Range[] {
  const gaps: Range[] = [];
  let next = row.position + 1;
  for (const [from, to] of row.settledRanges) {
    if (from > throughSeq) break;
    if (from > next) gaps.push([next, from - 1]);
    next = to + 1;
  }
  if (next <= throughSeq) gaps.push([next, throughSeq]);
  return gaps;
}

/** All up to `throughSeq` is dead or passed over (set-aside events keep their rows): nothing of it is sent again. */
export function giveUp(row: DeliveryRow, live: Live, throughSeq: number, facts: SettleFacts): Changed {
  const draft = startDraft(row, live, facts);
  endIsolation(draft);
  const settled = settleRange(draft.row.position, draft.row.settledRanges, draft.row.position + 1, throughSeq);
  const inFlight = draft.row.inFlight.flatMap((record) => (record.inLog ? restOf(record, throughSeq) : [record]));
  const head = row.head !== null && row.head.seq <= settled.position ? null : row.head;
  const { position, ranges } = settled;
  return {
    row: { ...draft.row, position, settledRanges: ranges, inFlight, head },
    live: {
      ...forgetSeqs(draft.live, (seq) => seq <= position),
      window: draft.live.window.filter(([, to]) => to > position),
    },
  };
}

/**
 * An event was moved out by hand (dead letter, erased, purged). Its outcome, if it is in flight, is dropped. `isSettled`
 * false: it waits further behind; the buffer has to leave it out when it loads that stretch.
 */
export function remove(row: DeliveryRow, live: Live, seq: number): Changed & { readonly isSettled: boolean } {
  const left = forgetSeqs(withoutPiecesOf(live, seq), (other) => other === seq);
  if (live.flights.some((flight) => isPart(flight, seq))) {
    const flights = live.flights.map((flight) => (isPart(flight, seq) ? withoutSeq(flight, seq) : flight));
    return { row, live: { ...left, flights }, isSettled: true };
  }
  if (isSettled(row.position, row.settledRanges, seq)) return { row, live: left, isSettled: true };
  const isNext = freshWindow(row, left).fromSeq === seq && seq === row.position + 1;
  if (!isNext) return { row, live: left, isSettled: false };
  const { position, ranges } = settleRange(row.position, row.settledRanges, seq, seq);
  const head = row.head !== null && row.head.seq <= position ? null : row.head;
  const window = left.window.filter((batch) => rangeOf({ fromSeq: batch[0], toSeq: batch[1] })[1] > position);
  return { row: { ...row, position, settledRanges: ranges, head }, live: { ...left, window }, isSettled: true };
}

function isPart(flight: Flight, seq: number): boolean {
  return flight.passedOver.includes(seq) || flight.events.some((event) => event.seq === seq);
}

function withoutSeq(flight: Flight, seq: number): Flight {
  const passedOver = flight.passedOver.filter((other) => other !== seq);
  return { ...flight, passedOver, events: flight.events.filter((event) => event.seq !== seq) };
}

/** A search that looks at this event ends: what is left of it is fresh again, as after a restart [V9]. */
function withoutPiecesOf(live: Live, seq: number): Live {
  const held = heldPieces(live).map(rangeOf);
  if (!includes(held, seq)) return live;
  const window = live.window.filter((batch) => !held.some((range) => overlaps(batch, range)));
  return { ...live, isolation: null, waiting: [], window };
}

/** `ordering` was changed: searches made for the other order end, their events are fresh again. */
export function forgetIsolation(row: DeliveryRow, live: Live, facts: SettleFacts): Settlement {
  const draft = startDraft(row, live, facts);
  endIsolation(draft);
  return finishDraft(draft);
}

/** What was to be sent again has no row any more: given up by hand, purged or erased since [V26]. */
export function forgetResend(row: DeliveryRow, seqs: readonly number[]): DeliveryRow {
  const gone = new Set(seqs);
  const inFlight = row.inFlight.flatMap((record): InFlightRecord[] => {
    if (record.state === "sent" || record.inLog) return [record];
    const left = recordSeqs(record).filter((seq) => !gone.has(seq));
    const [first] = left;
    const last = left.at(-1);
    if (first === undefined || last === undefined) return [];
    return [{ ...record, fromSeq: first, toSeq: last, seqs: rangesOf(left) }];
  });
  return { ...row, inFlight };
}
