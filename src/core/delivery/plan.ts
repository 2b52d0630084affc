import { planAlone, planBurial, planResend } from "./crashed.ts";
import { freshWindow, heldPieces, type Live } from "./live.ts";
import { planRelaxed } from "./plan-relaxed.ts";
import { planInOrder } from "./plan-strict.ts";
import { type Plan, type PlanFacts, sendFresh, WAIT, waitUntil } from "./planned.ts";
import { includes } from "./ranges.ts";
import type { DeliveryRow } from "./row.ts";
import { isDue, waitingSince } from "./waiting-time.ts";

const DAY_MS = 86_400_000;

/** What this destination does next. Ask again after each `begin`, `settle`, arrival and act of an operator. */
export function plan(row: DeliveryRow, live: Live, facts: PlanFacts): Plan {
  const { nowMs, settings } = facts;
  if (row.paused || row.disabled !== null) return WAIT;
  const burial = live.flights.length === 0 ? planBurial(row) : null;
  if (burial !== null) return burial;
  const held = heldUntil(row, live, facts);
  if (held.untilMs !== null) return { kind: "wait", untilMs: held.untilMs };
  const giveUp = planGiveUp(row, live, facts);
  if (giveUp !== null) return giveUp;
  const pacedMs = live.paceUntilMs - nowMs;
  if (pacedMs > 0 && pacedMs <= live.paceSpanMs) return { kind: "wait", untilMs: live.paceUntilMs };
  if (row.breaker.state !== "closed") return planProbe(row, live, facts);
  if (live.flights.length > 0 && facts.otherDestinationsWaiting) return WAIT;
  const again = held.othersOnly ? null : planResend(row, live, settings);
  if (again !== null) return again;
  if (settings.ordering === "strict") return planInOrder(row, live, facts);
  const next = planRelaxed(row, live, facts, held.othersOnly);
  const isHeld = held.othersOnly && next.kind === "wait";
  return isHeld ? waitUntil(next.untilMs, row.hold?.untilMs ?? null) : next;
}

/** [V7] Other events wait less long where one bad event may be all there is to it. */
function heldUntil(row: DeliveryRow, live: Live, facts: PlanFacts): { untilMs: number | null; othersOnly: boolean } {
  const { hold } = row;
  const { nowMs, settings } = facts;
  if (hold === null || isDue(hold.untilMs, nowMs, settings)) return { untilMs: null, othersOnly: false };
  const suspects = row.busy?.suspects ?? [];
  const isOther = (seq: number): boolean => !includes(suspects, seq);
  const hasOtherFresh = facts.fresh !== null && isOther(freshWindow(row, live).fromSeq);
  const hasOthers =
    settings.ordering === "relaxed" && (hasOtherFresh || facts.asideDue.some((event) => isOther(event.seq)));
  if (!hasOthers) return { untilMs: hold.untilMs, othersOnly: false };
  const isOver = isDue(hold.othersUntilMs, nowMs, settings);
  return { untilMs: isOver ? null : hold.othersUntilMs, othersOnly: true };
}

/** [V12] Only of a destination that was tried lately and has accepted nothing for so long. */
function planGiveUp(row: DeliveryRow, live: Live, facts: PlanFacts): Plan | null {
  const { nowMs, settings } = facts;
  const waitingSinceMs = waitingSince(row, settings.giveUpAfterSeconds * 1_000, nowMs);
  const wasTriedLately = row.lastFailedAtMs > row.lastAcceptedAtMs && nowMs - row.lastFailedAtMs <= DAY_MS;
  if (!wasTriedLately || row.lastAcceptedAtMs > waitingSinceMs || live.flights.length > 0) return null;
  const oldestMs = Math.min(
    facts.fresh?.firstReceivedAtMs ?? Number.POSITIVE_INFINITY,
    ...facts.asideDue.map((event) => event.waitingSinceMs),
    ...heldPieces(live).flatMap((piece) => piece.events.map((event) => event.receivedAtMs)),
  );
  return oldestMs <= waitingSinceMs ? { kind: "give-up", waitingSinceMs } : null;
}

/** [V11] One probe of one event, each time another one, not a set-aside one, where there is one. */
function planProbe(row: DeliveryRow, live: Live, facts: PlanFacts): Plan {
  const { breaker } = row;
  if (breaker.state === "closed") return WAIT;
  const { nowMs, settings, fresh } = facts;
  const isArrival = fresh !== null && settings.ordering === "relaxed" && breaker.few !== null;
  const isOpen = breaker.state === "open" && !isDue(breaker.untilMs, nowMs, settings);
  if (isOpen && !isArrival) return { kind: "wait", untilMs: breaker.untilMs };
  // A set-aside event that hangs as a probe does not keep an arrival from being one.
  if (live.flights.some((flight) => flight.probe && (flight.inLog || !isArrival))) return WAIT;
  const again = isOpen ? null : planAlone(row, settings);
  if (again !== null && (fresh === null || settings.ordering === "strict")) return again;
  if (fresh !== null) return sendFresh(row, live, "probe", 1);
  // One that was sent before the breaker opened may still be on its way: one set-aside event at a time [V13].
  if (live.flights.some((flight) => !flight.inLog)) return WAIT;
  const tried = new Set(breaker.state === "half-open" ? breaker.refusedSeqs : []);
  const untried = facts.asideDue.filter((event) => !tried.has(event.seq));
  const next = untried.find((event) => event.seq !== breaker.probedSeq) ?? untried[0];
  if (next !== undefined) return { kind: "send", request: { lane: "aside", seq: next.seq } };
  const [first] = facts.asideDue;
  if (first === undefined) return WAIT;
  if (isDue(first.dueAtMs, nowMs, settings)) return { kind: "send", request: { lane: "aside", seq: first.seq } };
  return waitUntil(first.dueAtMs);
}
