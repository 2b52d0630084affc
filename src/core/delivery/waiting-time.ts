import type { Range } from "./ranges.ts";
import type { DeliveryRow } from "./row.ts";
import type { DeliverySettings } from "./settings.ts";

const DAY_MS = 86_400_000;
/** Stops that are remembered; beyond it the two closest ones become one, which only puts giving up off. */
const STOPS_MAX = 16;

/** A stored time is due when it has come, or is so far ahead that only a wrong clock can have set it [L7]. */
export function isDue(atMs: number, nowMs: number, settings: DeliverySettings): boolean {
  return atMs <= nowMs || atMs > nowMs + DAY_MS + settings.retry.maxMs;
}

/** The destination is paused or disabled from now on. */
export function stopClock(row: DeliveryRow, nowMs: number): DeliveryRow {
  return row.stoppedSinceMs === null ? { ...row, stoppedSinceMs: nowMs } : row;
}

/** The destination is neither paused nor disabled any more. */
export function startClock(row: DeliveryRow, nowMs: number): DeliveryRow {
  if (row.stoppedSinceMs === null || row.paused || row.disabled !== null) return row;
  const stops = [...row.stops, [row.stoppedSinceMs, Math.max(nowMs, row.stoppedSinceMs)] as Range];
  return { ...row, stoppedSinceMs: null, stops: stops.length > STOPS_MAX ? joinClosest(stops) : stops };
}

function joinClosest(stops: readonly Range[]): readonly Range[] {
  let closest = 1;
  const gapMs = (index: number): number => (stops[index]?.[0] ?? 0) - (stops[index - 1]?.[1] ?? 0);
  for (let index = 2; index < stops.length; index++) if (gapMs(index) < gapMs(closest)) closest = index;
  return stops.flatMap((stop, index): Range[] => {
    if (index === closest) return [];
    return index === closest - 1 ? [[stop[0], stops[closest]?.[1] ?? stop[1]]] : [stop];
  });
}

/** How long something has waited since then, the time the destination was stopped left out [V12]. */
export function waitedMs(row: DeliveryRow, sinceMs: number, nowMs: number): number {
  let stoppedMs = 0;
  for (const [from, to] of allStops(row, nowMs))
    stoppedMs += Math.max(0, Math.min(to, nowMs) - Math.max(from, sinceMs));
  return Math.max(0, nowMs - sinceMs - stoppedMs);
}

/** The instant since which something has waited `ms` by now: the inverse of {@link waitedMs}. */
export function waitingSince(row: DeliveryRow, ms: number, nowMs: number): number {
  let atMs = nowMs;
  let leftMs = ms;
  for (const [from, to] of [...allStops(row, nowMs)].reverse()) {
    const runMs = Math.max(0, atMs - to);
    if (runMs >= leftMs) break;
    leftMs -= runMs;
    atMs = Math.min(atMs, from);
  }
  return atMs - leftMs;
}

function allStops(row: DeliveryRow, nowMs: number): readonly Range[] {
  return row.stoppedSinceMs === null ? row.stops : [...row.stops, [row.stoppedSinceMs, nowMs]];
}
