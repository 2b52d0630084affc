import { asideCountAfter, type Draft, isStrict } from "./draft.ts";
import { type Flight, heldPieces } from "./live.ts";
import { intersect, rangesOf } from "./ranges.ts";

const HOLD_MS_MIN = 1_000;
/** What the answers alone, without any `Retry-After`, can grow the hold to. */
const HOLD_MS_GROWN_MAX = 900_000;
/** As long as one bad event may be the reason, the others wait no longer. */
const HOLD_MS_FIRST_MAX = 60_000;
/** A longer hold is an alert [V7]. */
export const HOLD_LONG_MS = 900_000;

/**
 * An answer that asks for time holds the whole destination [V7]. `retryAfterMs` null: it named none. Only a Busy one
 * counts towards the growing minimum.
 */
export function holdDestination(draft: Draft, flight: Flight, retryAfterMs: number | null, isBusy: boolean): number {
  const { nowMs, settings } = draft.facts;
  const mine = rangesOf(flight.events.map((event) => event.seq));
  const before = draft.row.busy;
  const count = (before?.count ?? 0) + (isBusy ? 1 : 0);
  const suspects = before === null ? mine : intersect(before.suspects, mine);
  const sinceMs = before?.sinceMs ?? nowMs;

  const grownMs = Math.min(HOLD_MS_GROWN_MAX, HOLD_MS_MIN * 2 ** Math.min(count, 20));
  const askedMs = Math.min(Math.max(retryAfterMs ?? 0, HOLD_MS_MIN), settings.retryAfterMaxSeconds * 1_000);
  const fullMs = Math.max(grownMs, askedMs);
  const cappedMs = Math.max(grownMs, Math.min(askedMs, HOLD_MS_FIRST_MAX));
  const isEverybodys = suspects.length === 0 || isStrict(draft);
  const untilMs = nowMs + (isEverybodys || !othersWait(draft, flight) ? fullMs : cappedMs);
  const othersUntilMs = nowMs + (isEverybodys ? fullMs : cappedMs);

  const { hold } = draft.row;
  draft.row = {
    ...draft.row,
    busy: { count, sinceMs, suspects },
    hold: {
      sinceMs: hold?.sinceMs ?? nowMs,
      untilMs: Math.max(untilMs, hold?.untilMs ?? 0),
      othersUntilMs: Math.max(othersUntilMs, hold?.othersUntilMs ?? 0),
    },
  };
  if (untilMs - sinceMs > HOLD_LONG_MS) {
    draft.raise.push({ kind: "hold-long", detail: `held until ${new Date(untilMs).toISOString()}` });
  }
  return draft.row.hold?.untilMs ?? untilMs;
}

/** An accepted request ends the row of Busy answers; a hold that was set while it was under way stays. */
export function endBusy(draft: Draft): void {
  const { hold } = draft.row;
  if (draft.row.busy !== null || hold !== null) draft.clear.push("hold-long");
  const isOver = hold === null || hold.othersUntilMs <= draft.facts.nowMs;
  draft.row = { ...draft.row, busy: null, hold: isOver ? null : hold };
}

function othersWait(draft: Draft, flight: Flight): boolean {
  const mine = new Set(flight.events.map((event) => event.seq));
  const own = flight.events.filter((event) => event.aside?.lane === "aside").length;
  return (
    draft.facts.freshWaiting ||
    draft.live.flights.length > 0 ||
    heldPieces(draft.live).some((piece) => piece.events.some((event) => !mine.has(event.seq))) ||
    asideCountAfter(draft) - own > 0
  );
}
