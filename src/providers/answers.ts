import type { ProviderRow } from "./row.ts";

const AN_HOUR_SECONDS = 3_600;

/**
 * What happens to events over the rate limit [R3]. `auto` refuses only a sender that comes back for at least an hour
 * after such an answer, and does not hold it against the hook; any other sender's events are stored all the same. What
 * an operator's own row says of retries is a guess: it is refused, as the generic ones are.
 */
export function overLimitAction(row: ProviderRow, action: "reject" | "absorb" | "auto"): "reject" | "absorb" {
  if (action !== "auto") return action;
  if (row.name === "custom") return "reject";
  const { forSeconds, afterOverLimit, overLimitDisables } = row.retry;
  return forSeconds >= AN_HOUR_SECONDS && afterOverLimit && !overLimitDisables ? "reject" : "absorb";
}

/** How long this provider may still repeat an event, in seconds: what the dedupe window must outlast [D3]. */
export function longestRetrySeconds(row: ProviderRow): number {
  return row.retry.forSeconds;
}
