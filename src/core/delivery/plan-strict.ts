import { freshEventsMax } from "./batch-size.ts";
import { nextPiece } from "./isolation.ts";
import type { Live } from "./live.ts";
import { planAside } from "./plan-relaxed.ts";
import { type Plan, type PlanFacts, sendFresh, sendPiece, WAIT, waitUntil } from "./planned.ts";
import type { DeliveryRow } from "./row.ts";
import { isDue } from "./waiting-time.ts";

/** Strict order [V15]: one request at a time, and nothing passes the first event that is not settled. */
export function planInOrder(row: DeliveryRow, live: Live, facts: PlanFacts): Plan {
  if (live.flights.length > 0) return WAIT;
  const main = planHead(row, live, facts);
  if (main.kind === "send" && (!live.asideTurn || facts.asideDue.length === 0)) return main;
  const aside = planAside(row, live, facts, false);
  if (aside.kind === "send" || main.kind !== "wait") return aside.kind === "send" ? aside : main;
  return waitUntil(main.untilMs, aside.kind === "wait" ? aside.untilMs : null);
}

function planHead(row: DeliveryRow, live: Live, facts: PlanFacts): Plan {
  const { nowMs, settings, fresh } = facts;
  if (row.head === null && live.isolation !== null) return sendPiece(nextPiece(live.isolation));
  if (fresh === null) return WAIT;
  if (row.head !== null) {
    const isHeadDue = isDue(row.head.dueAtMs, nowMs, settings);
    return isHeadDue ? sendFresh(row, live, "fresh", 1) : waitUntil(row.head.dueAtMs);
  }
  const flushAtMs = fresh.firstReceivedAtMs + settings.batch.flushDelayMs;
  const isReady = fresh.full || fresh.firstReceivedAtMs > nowMs || flushAtMs <= nowMs;
  return isReady ? sendFresh(row, live, "fresh", freshEventsMax(row, settings)) : waitUntil(flushAtMs);
}
