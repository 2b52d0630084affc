import { freshEventsMax } from "./batch-size.ts";
import { nextPiece } from "./isolation.ts";
import { freshWindow, type Live } from "./live.ts";
import { type Plan, type PlanFacts, sendFresh, sendPiece, WAIT, waitUntil } from "./planned.ts";
import type { AsideEvent, DeliveryRow } from "./row.ts";
import { isDue } from "./waiting-time.ts";

/** The default order: others pass an event that is being retried [V15]. `othersOnly`: a hold is on for some [V7]. */
export function planRelaxed(row: DeliveryRow, live: Live, facts: PlanFacts, othersOnly: boolean): Plan {
  if (live.isolation !== null && !othersOnly) {
    return live.flights.length > 0 ? WAIT : sendPiece(nextPiece(live.isolation));
  }
  const main = planMain(row, live, facts, othersOnly);
  if (main.kind === "send") return main;
  const aside = planAside(row, live, facts, facts.fresh !== null);
  if (aside.kind === "send") return aside;
  return waitUntil(untilOf(main), untilOf(aside));
}

function untilOf(plan: Plan): number | null {
  return plan.kind === "wait" ? plan.untilMs : null;
}

/** Fresh events in batches, and batches that were Busy as they were. */
function planMain(row: DeliveryRow, live: Live, facts: PlanFacts, othersOnly: boolean): Plan {
  const { settings, fresh } = facts;
  const flightCount = live.flights.filter((flight) => flight.inLog).length;
  if (flightCount >= settings.maxInFlight || live.flights.some((flight) => flight.lane === "isolation")) return WAIT;
  const busy = live.waiting.find((piece) => piece.mode === "whole");
  const canGoFurther = isWithinReach(row, live, settings.maxInFlight);
  if (busy !== undefined && !othersOnly && !(busy.heldBack && fresh !== null && canGoFurther)) return sendPiece(busy);
  if (fresh === null || !canGoFurther) return WAIT;
  const dueAtMs = fresh.firstReceivedAtMs + settings.batch.flushDelayMs;
  const isFlushed = fresh.firstReceivedAtMs > facts.nowMs || dueAtMs <= facts.nowMs;
  const isCutOff = freshWindow(row, live).toSeq !== null;
  if (!fresh.full && !isFlushed && !isCutOff && busy === undefined) return waitUntil(dueAtMs);
  return sendFresh(row, live, "fresh", freshEventsMax(row, settings));
}

/** Nothing is sent more than `maxInFlight` batches beyond the position; a batch held back after Busy is one more [V14]. */
function isWithinReach(row: DeliveryRow, live: Live, maxInFlight: number): boolean {
  if (freshWindow(row, live).fromSeq === row.position + 1) return true;
  const heldBack = live.waiting.filter((piece) => piece.heldBack).length;
  return live.window.length < maxInFlight + heldBack;
}

/**
 * Set-aside events alone, redriven ones in batches of their own: one request at a time, beside the fresh ones [V13].
 * `yields`: fresh events wait, and an event that failed gives way until another one was accepted [V9].
 */
export function planAside(row: DeliveryRow, live: Live, facts: PlanFacts, yields: boolean): Plan {
  const { nowMs, settings } = facts;
  if (live.flights.some((flight) => !flight.inLog)) return WAIT;
  const candidates = facts.asideDue.filter((event) => isFree(row, event));
  const due = candidates.filter((event) => isDue(event.dueAtMs, nowMs, settings));
  const next = due.find((event) => !yields || (live.asideTurn && row.lastAcceptedAtMs > event.lastFailureAtMs));
  if (next === undefined) {
    const later = candidates.filter((event) => !due.includes(event)).map((event) => event.dueAtMs);
    return waitUntil(...later);
  }
  if (next.lane === "aside") return { kind: "send", request: { lane: "aside", seq: next.seq } };
  const countMax = Math.min(settings.batch.maxEvents, live.redriveMax);
  const seqs = due.filter((event) => event.lane === "redrive").map((event) => event.seq);
  return { kind: "send", request: { lane: "redrive", seqs: seqs.slice(0, countMax).sort((a, b) => a - b) } };
}

/** Not in flight, and not waiting to be sent again after an unfinished run. */
function isFree(row: DeliveryRow, event: AsideEvent): boolean {
  return !row.inFlight.some(
    (record) =>
      !record.inLog &&
      (record.seqs ?? [[record.fromSeq, record.toSeq] as const]).some(([a, b]) => a <= event.seq && event.seq <= b),
  );
}
