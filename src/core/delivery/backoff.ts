import type { DeliverySettings } from "./settings.ts";

const DELAY_MS_MIN = 1_000;

/**
 * The wait before the next attempt of an event that has failed `failures` times (1 … ), charged or not [V10].
 * `random` is uniform in [0, 1). `scheduleSeconds` gives the delays outright; its last one repeats.
 */
export function retryDelayMs(retry: DeliverySettings["retry"], failures: number, random: number): number {
  return Math.max(DELAY_MS_MIN, Math.round(rawDelayMs(retry, failures, random)));
}

function rawDelayMs(retry: DeliverySettings["retry"], failures: number, random: number): number {
  const { scheduleSeconds } = retry;
  if (scheduleSeconds !== null && scheduleSeconds.length > 0) {
    return (scheduleSeconds[Math.min(failures, scheduleSeconds.length) - 1] ?? 0) * 1_000;
  }
  const ceilingMs = Math.min(retry.maxMs, retry.baseMs * retry.factor ** (failures - 1));
  switch (retry.jitter) {
    case "full":
      return ceilingMs * random;
    case "equal":
      return (ceilingMs * (1 + random)) / 2;
    case "proportional":
      return Math.min(retry.maxMs, ceilingMs * (0.8 + 0.4 * random));
  }
}

/** After so many charged attempts an event is dead: a schedule of n delays makes n + 1 attempts [V10]. */
export function attemptCountMax(retry: DeliverySettings["retry"]): number {
  const { scheduleSeconds } = retry;
  if (scheduleSeconds === null || scheduleSeconds.length === 0) return retry.maxAttempts;
  return Math.min(retry.maxAttempts, scheduleSeconds.length + 1);
}

/** ±20 %, for the times the breaker stays open [V11]. */
export function spreadMs(ms: number, random: number): number {
  return Math.round(ms * (0.8 + 0.4 * random));
}

/** The n-th of many draws made from one: each uniform where `random` is, and far from its neighbours. */
export function drawOf(random: number, index: number): number {
  return (random + index * 0.618_033_988_749_895) % 1;
}
