import { setTimeout as sleep } from "node:timers/promises";
import { TenantAdmin, type WatchedStats } from "../../scripts/workerd/tenant-admin.ts";
import { type Bench, tenantConfig } from "./bench.ts";

/** Rows over the whole life of an event: accepted, delivered, its segment dropped. */
export interface Life {
  readonly title: string;
  readonly events: number;
  readonly rowsWrittenPerEvent: number;
  readonly rowsReadPerEvent: number;
  readonly setupRows: number;
  readonly segmentsLeft: number;
  readonly storageBytesLeft: number;
}

const SETTLE_TIMEOUT_MS = 60_000;

/** Nothing is retained, so that segments go as soon as they are sealed and delivered. Key segments outlive the run. */
export async function measureLife(
  bench: Bench,
  title: string,
  events: number,
  perSecondMax: number | null,
): Promise<Life> {
  return bench.withRuntime(bench.spillway, async (runtime) => {
    const admin = new TenantAdmin(runtime.origin, "t0");
    await admin.configure(
      tenantConfig(bench.fastOrigin.url, { tenant: { retainSeconds: 0, retainBytes: 0, dedupeWindowSeconds: 3_600 } }),
    );
    const before = await admin.stats();
    await bench.load.prepare({ count: events, tenants: ["t0"], bodySizeBytes: bench.plan.bodySizeBytes });
    if (perSecondMax === null) await bench.load.run(runtime.port, bench.plan.connections, events);
    else await bench.load.runPaced(runtime.port, bench.plan.connections, events, perSecondMax);
    await admin.untilStats((stats) => stats.destinations.origin?.delivered === events, SETTLE_TIMEOUT_MS);
    const after = await settled(admin);
    return {
      title,
      events,
      rowsWrittenPerEvent: (after.cost.rowsWritten - before.cost.rowsWritten) / events,
      rowsReadPerEvent: (after.cost.rowsRead - before.cost.rowsRead) / events,
      setupRows: after.cost.setupRows,
      segmentsLeft: after.storage.segments,
      storageBytesLeft: after.storage.bytes,
    };
  });
}

/** Waits until nothing is written and no segment dropped for 2 s. */
async function settled(admin: TenantAdmin): Promise<WatchedStats> {
  let last = await admin.stats();
  for (;;) {
    await sleep(2_000);
    const next = await admin.stats();
    if (next.cost.rowsWritten === last.cost.rowsWritten && next.storage.segments === last.storage.segments) return next;
    last = next;
  }
}
