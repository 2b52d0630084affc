/** Whom a sweep calls [V20](f). */

/** Registered objects in one sweep. */
const REGISTERED_MAX = 500;
/** Objects that are called for the day's sake, in one sweep: enough for 50,000 of them. */
const DAILY_MAX = 200;
/** A little less than a day, so that the sweep before the day is over calls. */
const DAILY_MS = 86_400_000 - 600_000;

interface SweepFacts {
  /** Objects that had something to do within the last hour, as far as is known. */
  readonly registered: readonly string[];
  /** Every object of every tenant. */
  readonly configured: readonly string[];
  /** When each was last called; one that is missing never was. */
  readonly calledAtMs: ReadonlyMap<string, number>;
  readonly nowMs: number;
}

/** The objects to call now: registered ones, then those that have not been called for a day; the longest ago first. */
export function planSweep({ registered, configured, calledAtMs, nowMs }: SweepFacts): string[] {
  const lastMs = (object: string): number => calledAtMs.get(object) ?? 0;
  const longestAgo = (objects: readonly string[]): string[] => [...objects].sort((a, b) => lastMs(a) - lastMs(b));
  const known = new Set(registered);
  const others = configured.filter((object) => !known.has(object) && nowMs - lastMs(object) >= DAILY_MS);
  return [...longestAgo(registered).slice(0, REGISTERED_MAX), ...longestAgo(others).slice(0, DAILY_MAX)];
}
