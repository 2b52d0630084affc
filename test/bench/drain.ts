import { setTimeout as sleep } from "node:timers/promises";
import type { Runtime } from "../../scripts/workerd/runtime.ts";
import { TenantAdmin } from "../../scripts/workerd/tenant-admin.ts";
import { fillBacklog } from "./backlog-fill.ts";
import { type Bench, tenantConfig } from "./bench.ts";
import { floor } from "./floors.ts";
import { eventBody } from "./load/signed-requests.ts";
import { cpuMicroseconds } from "./process-cost.ts";

export interface Drain {
  readonly eventsPerSecond: number;
  readonly cpuUsPerEvent: number;
}

const DRAIN_TIMEOUT_MS = 120_000;

/** How fast the real Worker delivers a backlog, signed, to an origin that answers at once. */
export async function measureDrain(bench: Bench, maxInFlight: number): Promise<Drain> {
  const events = bench.plan.drainEvents;
  return bench.withRuntime(bench.spillway, async (runtime) => {
    const admin = new TenantAdmin(runtime.origin, "t0");
    await admin.configure(tenantConfig(bench.fastOrigin.url, { maxInFlight }));
    await admin.pause("origin");
    await fillBacklog(bench, runtime, events);
    return timed(bench, runtime, events, async () => {
      await admin.resume("origin");
      await admin.untilStats((stats) => stats.destinations.origin?.backlog === 0, DRAIN_TIMEOUT_MS);
    });
  });
}

/** Floor (d): select, POST unsigned, delete. */
export async function measureDrainFloor(bench: Bench): Promise<Drain> {
  const events = bench.plan.drainEvents;
  const worker = floor("drain-loop", bench.spillway.compatibilityDate, bench.fastOrigin.url);
  return bench.withRuntime(worker, async (runtime) => {
    const body = eventBody(`evt_${"0".repeat(24)}`, bench.plan.bodySizeBytes);
    const post = (path: string, value: unknown) =>
      fetch(`${runtime.origin}${path}`, { method: "POST", body: JSON.stringify(value) }).then((r) => r.text());
    await post("/fill", { count: events, body });
    return timed(bench, runtime, events, async () => {
      await post("/drain", {});
      for (;;) {
        const { backlog } = (await (await fetch(`${runtime.origin}/backlog`)).json()) as { backlog: number };
        if (backlog === 0) return;
        await sleep(100);
      }
    });
  });
}

/** From the first batch to the last, by the origin's clock; processor time over the whole of `drain`. */
async function timed(bench: Bench, runtime: Runtime, events: number, drain: () => Promise<void>): Promise<Drain> {
  await bench.fastOrigin.takeReport();
  const cpuBefore = cpuMicroseconds(runtime.pid);
  await drain();
  const cpuUs = cpuMicroseconds(runtime.pid) - cpuBefore;
  const { arrivalsMs } = await bench.fastOrigin.takeReport();
  const firstMs = arrivalsMs[0] ?? 0;
  const lastMs = arrivalsMs.at(-1) ?? 0;
  const eventsAfterFirst = events * (1 - 1 / arrivalsMs.length);
  return { eventsPerSecond: (eventsAfterFirst * 1_000) / (lastMs - firstMs), cpuUsPerEvent: cpuUs / events };
}
