import type { DeliveryRow } from "./row.ts";
import type { DeliverySettings } from "./settings.ts";

/** The most events the next fresh batch holds: adaptive [V13], one as a probe [V11] or as the head in strict order [V15]. */
export function freshEventsMax(row: DeliveryRow, settings: DeliverySettings): number {
  if (row.breaker.state !== "closed" || (row.head !== null && settings.ordering === "strict")) return 1;
  const perSecond = settings.maxEventsPerSecond ?? Number.POSITIVE_INFINITY;
  return Math.max(1, Math.min(row.batchSize, settings.batch.maxEvents, Math.ceil(perSecond)));
}
