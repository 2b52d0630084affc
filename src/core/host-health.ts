/**
 * What a gate knows of the host behind it [V27]: whether it is failing for everybody, when it may be tried again, and how
 * carefully it is to be taken after an outage.
 */

/** What a request came to, as far as its host is concerned; `unknown`: its sender was never heard of again. */
export type HostOutcome = "accepted" | "answered" | "busy" | "failed" | "unknown" | "unused";

export interface HostHealth {
  /** Requests in a row that failed, and up to two different tenants they were of. */
  readonly streak: { readonly failedCount: number; readonly tenants: readonly string[] };
  readonly outage: Outage | null;
  /** After an outage, and after a start that knows nothing, permits are lent slowly at first. */
  readonly careful: { readonly sinceMs: number; readonly lentCount: number } | null;
}

interface Outage {
  readonly sinceMs: number;
  /** The next tenant to ask from then on is the probe. */
  readonly probeAtMs: number;
  readonly probeDelayMs: number;
  /** Tenants sent away so far: each is told another time. */
  readonly toldCount: number;
}

/** One tenant's bad events are no outage: so many failures in a row, of at least two tenants. */
const FAILED_IN_A_ROW_MIN = 5;
const FAILED_TENANTS_MIN = 2;
const PROBE_DELAY_MS_MIN = 1_000;
const PROBE_DELAY_MS_MAX = 30_000;
/** A tenant that is sent away comes again after about as long as the outage has lasted, within these. */
const LATER_MS_MIN = 2_000;
const LATER_MS_MAX = 300_000;
/** The number that may be lent doubles with each of these seconds, then only the permits out at once are bounded. */
const CAREFUL_SECONDS = 5;

/** Nothing is known yet: permits lent before a restart may still be out. */
export function newHealth(nowMs: number): HostHealth {
  return { streak: NO_STREAK, outage: null, careful: { sinceMs: nowMs, lentCount: 0 } };
}

/** A request came to an end. `isProbe`: it was the one that tried whether the outage is over. */
export function observed(
  health: HostHealth,
  tenant: string,
  outcome: HostOutcome,
  isProbe: boolean,
  nowMs: number,
): HostHealth {
  const { outage } = health;
  if (outcome === "accepted" || outcome === "answered") {
    // The probe itself is the first that the recovered host gets.
    const careful = outage === null ? health.careful : { sinceMs: nowMs, lentCount: 1 };
    return { streak: NO_STREAK, outage: null, careful };
  }
  if (outcome === "unused") return health;
  if (outage !== null) {
    if (!isProbe) return health;
    const probeDelayMs = Math.min(PROBE_DELAY_MS_MAX, outage.probeDelayMs * 2);
    return { ...health, outage: { ...outage, probeAtMs: nowMs + outage.probeDelayMs, probeDelayMs } };
  }
  if (outcome !== "failed") return health;
  const tenants = [...new Set([...health.streak.tenants, tenant])].slice(0, FAILED_TENANTS_MIN);
  const streak = { failedCount: health.streak.failedCount + 1, tenants };
  if (streak.failedCount < FAILED_IN_A_ROW_MIN || tenants.length < FAILED_TENANTS_MIN) return { ...health, streak };
  const probeAtMs = nowMs + PROBE_DELAY_MS_MIN;
  return {
    ...health,
    streak: NO_STREAK,
    outage: { sinceMs: nowMs, probeAtMs, probeDelayMs: PROBE_DELAY_MS_MIN * 2, toldCount: 0 },
  };
}

/** How many permits may be lent now, whatever is out; `untilMs`: when that grows. */
export function allowance(
  health: HostHealth,
  inFlightMax: number,
  nowMs: number,
): { readonly count: number; readonly untilMs: number | null } {
  const { careful } = health;
  if (careful === null) return { count: Number.POSITIVE_INFINITY, untilMs: null };
  // A clock that went back must not lend for ever: it counts as the first second.
  const second = Math.max(0, Math.floor((nowMs - careful.sinceMs) / 1_000));
  if (second >= CAREFUL_SECONDS) return { count: Number.POSITIVE_INFINITY, untilMs: null };
  const lentMax = inFlightMax * (2 ** (second + 1) - 1);
  return { count: Math.max(0, lentMax - careful.lentCount), untilMs: careful.sinceMs + (second + 1) * 1_000 };
}

export function lent(health: HostHealth): HostHealth {
  const { careful } = health;
  return careful === null ? health : { ...health, careful: { ...careful, lentCount: careful.lentCount + 1 } };
}

/** During an outage: when a tenant that may not probe now is to come again. Spread, so that they do not come together. */
export function sentAway(outage: Outage, nowMs: number): { readonly outage: Outage; readonly afterMs: number } {
  const spanMs = Math.min(LATER_MS_MAX, Math.max(LATER_MS_MIN, nowMs - outage.sinceMs));
  const share = (outage.toldCount * 0.618_033_988_749_895) % 1;
  const soonestMs = Math.max(PROBE_DELAY_MS_MIN, outage.probeAtMs - nowMs);
  return { outage: { ...outage, toldCount: outage.toldCount + 1 }, afterMs: Math.round(soonestMs + spanMs * share) };
}

const NO_STREAK = { failedCount: 0, tenants: [] } as const;
