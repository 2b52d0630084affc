/** What the sweep knows of tenants, their objects put together [O8]. */
import type { TenantStats } from "../buffer/contract.ts";
import { parseObjectName } from "../core/shard.ts";
import type { Summary } from "../sweep/summaries.ts";
import { mergedStats } from "./spread-merge.ts";

export interface TenantSummary {
  readonly stats: TenantStats;
  /** When the oldest of its parts was collected. */
  readonly collectedAtMs: number;
  /** Events accepted per second between the last two times it was called; null: called once so far. */
  readonly acceptedPerSecond: number | null;
}

/** One summary per tenant of which any object has answered, in the order of their names. */
export function tenantSummaries(objects: ReadonlyMap<string, Summary>): ReadonlyMap<string, TenantSummary> {
  const parts = new Map<string, Summary[]>();
  for (const [object, summary] of objects) {
    const { tenant } = parseObjectName(object);
    parts.set(tenant, [...(parts.get(tenant) ?? []), summary]);
  }
  const tenants = [...parts].sort(([a], [b]) => (a < b ? -1 : 1));
  return new Map(
    tenants.flatMap(([tenant, summaries]) => {
      const stats = mergedStats(summaries.map((each) => each.stats));
      const times = summaries.map((each) => each.collectedAtMs).filter((atMs) => atMs !== null);
      if (stats === null || times.length === 0) return [];
      const rates = summaries.map((each) => each.acceptedPerSecond).filter((rate) => rate !== null);
      const acceptedPerSecond = rates.length === 0 ? null : rates.reduce((sum, rate) => sum + rate, 0);
      return [[tenant, { stats, collectedAtMs: Math.min(...times), acceptedPerSecond }] as const];
    }),
  );
}
