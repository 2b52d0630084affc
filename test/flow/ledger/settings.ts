/** The tenant's configuration, as far as commands change it. */
import { DESTINATIONS, type DestinationName, type Shape } from "./commands.ts";
import { TIMEOUT_MS } from "./deadlines.ts";

const DAY_SECONDS = 86_400;

export const START: Shape = {
  some: true,
  someFilter: "x",
  ordering: "relaxed",
  maxInFlight: 1,
  maxAttempts: 3,
  fromOldest: false,
};

/** What is allowed of it: strict order is for one object and one request at a time [V15]. */
export function allowedShape(shape: Shape, shards: number): Shape {
  if (shape.ordering === "relaxed") return shape;
  return shards > 1 ? { ...shape, ordering: "relaxed" } : { ...shape, maxInFlight: 1 };
}

export function destinationsOf(shape: Shape): DestinationName[] {
  return DESTINATIONS.filter((name) => name === "all" || shape.some);
}

export function configOf(shape: Shape, shards: number): Record<string, unknown> {
  const { some, someFilter, ordering, maxInFlight, maxAttempts, fromOldest } = shape;
  const common = {
    kind: "http",
    timeoutMs: TIMEOUT_MS,
    batch: { maxEvents: 4, flushDelayMs: 0 },
    // Quick at first, and then slow, so that a day of trouble is not a thousand runs.
    retry: { maxAttempts, baseMs: 1_000, factor: 4, maxMs: 300_000 },
    circuitBreaker: { openMs: 5_000, openMsMax: 300_000 },
    giveUpAfterSeconds: 3_600,
    ordering,
    maxInFlight,
  };
  const filter = someFilter === "none" ? {} : { filter: { types: [someFilter] } };
  const from = fromOldest ? { from: "oldest" } : {};
  return {
    shards,
    deadLetterTtlSeconds: DAY_SECONDS,
    retainSeconds: 30 * DAY_SECONDS,
    dedupeWindowSeconds: 30 * DAY_SECONDS,
    destinations: {
      all: { ...common, url: "https://origin.test/all" },
      ...(some ? { some: { ...common, url: "https://origin.test/some", ...filter, ...from } } : {}),
    },
  };
}
