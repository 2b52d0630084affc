import { attemptCountMax, retryDelayMs } from "./backoff.ts";
import { type DeathReason, type Draft, draw, forget, isStrict, settlePiece } from "./draft.ts";
import { type Companions, hasContrast, isGuilty } from "./guilt.ts";
import type { Piece, PlannedEvent } from "./live.ts";
import type { AsideEvent } from "./row.ts";
import { waitedMs } from "./waiting-time.ts";

/** With strict order, a first event that fails for so long is an alert [V15]. */
export const HEAD_BLOCKED_MS = 900_000;
/** Busy answers an event may get alone, others being accepted, before it is its own fault [V7]. */
const BUSY_COUNT_MAX = 3;

/** What an event has gone through so far, whether or not it has a row. */
export function historyOf(draft: Draft, event: PlannedEvent): AsideEvent {
  const known = event.aside ?? (draft.row.head?.seq === event.seq ? draft.row.head : null);
  const firstFailureAtMs = draft.live.firstFailures.get(event.seq) ?? draft.resultAtMs;
  const charged = (known?.charged ?? 0) + (draft.live.charges.get(event.seq) ?? 0);
  if (known !== null) return { ...known, charged, firstFailureAtMs: known.firstFailureAtMs || firstFailureAtMs };
  return {
    seq: event.seq,
    lane: "aside",
    failures: 0,
    charged,
    firstFailureAtMs,
    lastFailureAtMs: 0,
    dueAtMs: 0,
    waitingSinceMs: event.receivedAtMs,
    busies: 0,
    reason: "failed",
  };
}

/** An event that was sent alone, or was named, did not succeed: is it charged [V22], is it dead [V10] [V12]? */
export function judgeAlone(
  draft: Draft,
  piece: Piece,
  event: PlannedEvent,
  kind: "refused" | "failed",
  reason: AsideEvent["reason"] = kind,
  companions?: Companions,
): void {
  const { settings } = draft.facts;
  const before = historyOf(draft, event);
  const isStrictHead = isStrict(draft) && event.aside === null;
  const isCharged =
    settings.retry.countDestinationFaults ||
    (isStrictHead ? kind === "refused" : isGuilty(draft.row, before, kind, companions));
  const after = failedOnceMore(draft, before, isCharged, reason);
  if (isCharged && after.charged >= attemptCountMax(settings.retry)) {
    bury(draft, piece, event, after, kind === "refused" ? "refused" : "exhausted");
  } else if (hasWaitedTooLong(draft, after)) {
    bury(draft, piece, event, after, "gave-up");
  } else {
    keep(draft, piece, event, after);
  }
}

/** It did not succeed, and that is not held against it. */
export function keepUncharged(draft: Draft, piece: Piece, event: PlannedEvent, reason: AsideEvent["reason"]): void {
  const after = failedOnceMore(draft, historyOf(draft, event), false, reason);
  if (hasWaitedTooLong(draft, after)) bury(draft, piece, event, after, "gave-up");
  else keep(draft, piece, event, after);
}

/** What an event that got Busy alone is to be taken for: the destination's business, or its own failure [V7]. */
export function countBusy(draft: Draft, event: PlannedEvent): { isFailure: boolean; after: AsideEvent } {
  const before = historyOf(draft, event);
  const counts = before.busies === 0 || draft.row.lastAcceptedAtMs > before.lastFailureAtMs;
  const busies = before.busies + (counts ? 1 : 0);
  const isFailure = busies >= BUSY_COUNT_MAX && hasContrast(draft.row, before.firstFailureAtMs);
  return { isFailure, after: { ...before, busies } };
}

/** It got Busy alone: no attempt failed, it is due when the hold ends. */
export function keepBusy(draft: Draft, piece: Piece, event: PlannedEvent, after: AsideEvent, dueAtMs: number): void {
  const waiting = { ...after, lane: "aside", reason: "busy", lastFailureAtMs: draft.resultAtMs, dueAtMs } as const;
  if (hasWaitedTooLong(draft, waiting)) bury(draft, piece, event, waiting, "gave-up");
  else keep(draft, piece, event, waiting);
}

function failedOnceMore(
  draft: Draft,
  before: AsideEvent,
  isCharged: boolean,
  reason: AsideEvent["reason"],
): AsideEvent {
  const failures = before.failures + 1;
  return {
    ...before,
    lane: "aside",
    failures,
    charged: before.charged + (isCharged ? 1 : 0),
    lastFailureAtMs: draft.resultAtMs,
    dueAtMs: draft.facts.nowMs + retryDelayMs(draft.facts.settings.retry, failures, draw(draft)),
    reason,
  };
}

function hasWaitedTooLong(draft: Draft, event: AsideEvent): boolean {
  const { nowMs, settings } = draft.facts;
  return waitedMs(draft.row, event.waitingSinceMs, nowMs) >= settings.giveUpAfterSeconds * 1_000;
}

/** A dead event is settled; nothing else of it is kept here. */
export function bury(draft: Draft, piece: Piece, event: PlannedEvent, aside: AsideEvent, reason: DeathReason): void {
  draft.dead.push({ seq: event.seq, reason, aside });
  const { streak } = draft.row;
  if (streak.seqs.includes(event.seq)) {
    draft.row = { ...draft.row, streak: { ...streak, deadCount: streak.deadCount + 1 } };
  }
  if (event.aside?.lane === "aside") draft.asideDelta -= 1;
  if (event.aside === null) {
    if (isStrict(draft)) draft.clear.push("head-blocked");
    settlePiece(draft, piece);
  } else forget(draft, [event]);
}

/** Set aside, with a row of its own [V9]; in strict order the head stays where it is [V15]. */
function keep(draft: Draft, piece: Piece, event: PlannedEvent, aside: AsideEvent): void {
  if (event.aside === null && isStrict(draft)) {
    draft.row = { ...draft.row, head: aside };
    if (draft.facts.nowMs - aside.firstFailureAtMs >= HEAD_BLOCKED_MS) {
      draft.raise.push({ kind: "head-blocked", detail: `event ${event.seq} has blocked the order` });
    }
    return;
  }
  draft.setAside.push(aside);
  if (event.aside?.lane !== "aside") draft.asideDelta += 1;
  if (event.aside === null) settlePiece(draft, piece);
  else forget(draft, [event]);
}
