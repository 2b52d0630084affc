import { type Bench, tenantConfig } from "./bench.ts";
import { countFsyncs, hasStrace } from "./process-cost.ts";

export interface FsyncCount {
  readonly fsyncsPerEvent: number | null;
}

/**
 * Flushes to disk per accepted event while the drain runs, counted by `strace`. Tracing slows the runtime, which makes
 * groups of another size: a check of the log's own counter, not a second measurement of it.
 */
export async function measureFsyncs(bench: Bench): Promise<FsyncCount> {
  if (!hasStrace()) return { fsyncsPerEvent: null };
  const { plan, load } = bench;
  return bench.withRuntime(bench.spillway, async (runtime) => {
    await bench.configureTenants(runtime, ["t0"], tenantConfig(bench.fastOrigin.url, { maxInFlight: 4 }));
    await load.prepare({ count: 2 * plan.fsyncEvents, tenants: ["t0"], bodySizeBytes: plan.bodySizeBytes });
    await load.run(runtime.port, plan.connections, plan.fsyncEvents);
    const count = await countFsyncs(runtime.pid, () => load.run(runtime.port, plan.connections, plan.fsyncEvents));
    return { fsyncsPerEvent: count === null ? null : count / plan.fsyncEvents };
  });
}
