import { countAgainst } from "./breaker.ts";
import { type Draft, returnPiece, settlePiece } from "./draft.ts";
import { recordResult } from "./guilt.ts";
import { judgeAlone } from "./judge.ts";
import type { Answer, Half, Isolation, Piece } from "./live.ts";

type Halves = Isolation & { kind: "halves" };
type Singles = Isolation & { kind: "singles" };

/** The request an isolation makes next. */
export function nextPiece(isolation: Isolation): Piece {
  switch (isolation.kind) {
    case "halves": {
      const { first, later } = isolation;
      if (later.answer !== null) return first;
      const isLaterBusier = first.answer === null && later.busies > first.busies;
      return isLaterBusier ? first : later;
    }
    case "singles":
      return lastSingle(isolation.rest);
    case "front":
      return isolation.bad.events.length === 1 ? isolation.bad : splitPiece(isolation.bad)[0];
  }
}

/** Both halves of two events or more, each with the numbers in front of its events. */
function splitPiece(piece: Piece): readonly [first: Piece, later: Piece] {
  const middle = Math.floor(piece.events.length / 2);
  const cut = piece.events[middle]?.seq ?? piece.toSeq + 1;
  return [before(piece, cut), from(piece, cut)];
}

function lastSingle(rest: Piece): Piece {
  return rest.events.length === 1 ? rest : from(rest, rest.events.at(-1)?.seq ?? rest.fromSeq);
}

export function before(piece: Piece, cut: number): Piece {
  return {
    fromSeq: piece.fromSeq,
    toSeq: Math.min(piece.toSeq, cut - 1),
    events: piece.events.filter((event) => event.seq < cut),
    passedOver: piece.passedOver.filter((seq) => seq < cut),
  };
}

export function from(piece: Piece, cut: number): Piece {
  return {
    fromSeq: Math.max(piece.fromSeq, cut),
    toSeq: piece.toSeq,
    events: piece.events.filter((event) => event.seq >= cut),
    passedOver: piece.passedOver.filter((seq) => seq >= cut),
  };
}

function halvesOf(piece: Piece): Halves {
  const [first, later] = splitPiece(piece).map(
    (half): Half => ({ ...half, answer: null, isDone: false, busies: 0, firstBusyAtMs: 0 }),
  ) as [Half, Half];
  return { kind: "halves", first, later };
}

export function halfOf(isolation: Isolation | null, piece: Piece): "first" | "later" | null {
  if (isolation?.kind !== "halves") return null;
  if (isolation.later.fromSeq === piece.fromSeq) return "later";
  return isolation.first.fromSeq === piece.fromSeq ? "first" : null;
}

/**
 * Whether this is the event that a search event by event tries now. A batch that had been Busy may be sent again as it
 * was beside the search, and is no part of it.
 */
export function isSingleOf(isolation: Isolation | null, piece: Piece): isolation is Singles {
  if (isolation?.kind !== "singles") return false;
  return isolation.rest.toSeq === piece.toSeq && isolation.rest.fromSeq <= piece.fromSeq;
}

/** The batch that waits longest to be taken apart is, once nothing else is under isolation. */
export function startIsolation(draft: Draft): void {
  if (draft.live.isolation !== null) return;
  const next = draft.live.waiting.find((waiting) => waiting.mode !== "whole");
  if (next === undefined) return;
  const waiting = draft.live.waiting.filter((other) => other !== next);
  const isolation: Isolation = next.mode === "split" ? halvesOf(next) : { kind: "singles", rest: next };
  draft.live = { ...draft.live, isolation, waiting };
}

/** One half has its answer; when both have, it is concluded whose fault it was [V9]. */
export function answerHalf(draft: Draft, side: "first" | "later", answer: Answer, isDone: boolean): void {
  const { isolation } = draft.live;
  if (isolation?.kind !== "halves") return;
  const answered: Halves = { ...isolation, [side]: { ...isolation[side], answer, isDone } };
  draft.live = { ...draft.live, isolation: answered };
  if (answered.first.answer !== null && answered.later.answer !== null) conclude(draft, answered);
}

function conclude(draft: Draft, { first, later }: Halves): void {
  const hasAccepted = first.answer === "accepted" || later.answer === "accepted";
  const hasBusy = first.answer === "busy" || later.answer === "busy";
  draft.live = { ...draft.live, isolation: null };
  for (const half of [first, later]) {
    if (half.isDone) continue;
    if (half.events.length === 1) judgePending(draft, half);
    else if (hasAccepted) draft.live = { ...draft.live, isolation: halvesOf(half) };
    else returnPiece(draft, half);
  }
  if (hasAccepted || hasBusy) return;
  countAgainst(draft, []);
  const last = draft.row.results.at(-1);
  if (last !== undefined)
    draft.row = recordResult(draft.row, { ...last, seq: null, eventCount: 2, acceptedCount: 0, against: true });
  const eventCount = first.events.length + later.events.length;
  draft.row = { ...draft.row, batchSize: Math.min(draft.row.batchSize, Math.max(1, Math.floor(eventCount / 2))) };
}

/** A single half that did not succeed has waited for the other half's answer. */
function judgePending(draft: Draft, half: Half): void {
  const [event] = half.events;
  if (event !== undefined) judgeAlone(draft, half, event, half.answer === "refused" ? "refused" : "failed");
}

/** An event of a batch that got 410 has its answer [V24]: once one was accepted, the rest is halved like any other. */
export function answerSingle(draft: Draft, isolation: Singles, single: Piece, isAccepted: boolean): void {
  const rest = before(isolation.rest, single.fromSeq);
  let next: Isolation | null = { kind: "singles", rest };
  if (rest.events.length === 0) {
    settlePiece(draft, rest);
    next = null;
  } else if (isAccepted && rest.events.length > 1) next = halvesOf(rest);
  draft.live = { ...draft.live, isolation: next };
}

/** Everything under isolation, or waiting for it, goes back to the fresh events; nothing that is known is lost. */
export function endIsolation(draft: Draft): void {
  const { isolation, waiting } = draft.live;
  draft.live = { ...draft.live, isolation: null, waiting: [] };
  if (isolation?.kind === "halves") {
    for (const half of [isolation.first, isolation.later]) {
      if (half.isDone) continue;
      if (half.answer !== null && half.events.length === 1) judgePending(draft, half);
      else returnPiece(draft, half);
    }
  } else if (isolation !== null) returnPiece(draft, isolation.kind === "singles" ? isolation.rest : isolation.bad);
  for (const piece of waiting) returnPiece(draft, piece);
}
