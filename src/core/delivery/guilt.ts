import type { DeliveryRow, Result } from "./row.ts";

const RESULT_COUNT_MAX = 20;
/** What one accepted request can weigh, however many events it held [V22]. */
const ACCEPTED_WEIGHT_MAX = 5;

/** Appends a result; times grow strictly, so that "later than" holds where the clock stands still. */
export function recordResult(row: DeliveryRow, result: Result): DeliveryRow {
  const { tried } = row;
  const sameAgain = result.seq !== null && tried.seq === result.seq;
  return {
    ...row,
    results: [...row.results, result].slice(-RESULT_COUNT_MAX),
    tried: { seq: result.seq, atMs: result.atMs, otherAtMs: sameAgain ? tried.otherAtMs : tried.atMs },
  };
}

/** What the same request says of the other events in it, for an event that was named [V23]. */
export interface Companions {
  readonly acceptedCount: number;
  readonly eventCount: number;
}

/**
 * Whether an event that did not succeed alone, or was named, is charged with an attempt [V22]: only results of other
 * events later than its own first failure tell whose fault it is.
 */
export function isGuilty(
  row: DeliveryRow,
  event: { readonly seq: number; readonly firstFailureAtMs: number },
  kind: "refused" | "failed",
  companions: Companions = { acceptedCount: 0, eventCount: 0 },
): boolean {
  let acceptedWeight = Math.min(ACCEPTED_WEIGHT_MAX, companions.acceptedCount);
  let failedWeight = 0;
  for (const result of row.results) {
    if (result.atMs <= event.firstFailureAtMs || result.seq === event.seq) continue;
    acceptedWeight += Math.min(ACCEPTED_WEIGHT_MAX, result.acceptedCount);
    if (result.eventCount === 1 && result.acceptedCount === 0) failedWeight += 1;
  }
  if (kind === "failed") return acceptedWeight >= 1 && acceptedWeight >= 9 * failedWeight;
  return acceptedWeight >= 1 || !wasAnotherTried(row, event, companions);
}

/** Also where the breaker has forgotten the results since. */
function wasAnotherTried(
  { tried }: DeliveryRow,
  event: { readonly seq: number; readonly firstFailureAtMs: number },
  companions: Companions,
): boolean {
  const lastAtMs = tried.seq === event.seq ? tried.otherAtMs : tried.atMs;
  return lastAtMs > event.firstFailureAtMs || companions.eventCount > 0;
}

/** Whether another event was accepted since this one's first failure: then its failures say nothing of the rest [V11]. */
export function hasContrast(row: DeliveryRow, firstFailureAtMs: number): boolean {
  return firstFailureAtMs > 0 && row.lastAcceptedAtMs > firstFailureAtMs;
}
