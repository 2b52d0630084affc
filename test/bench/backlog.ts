import { cpSync, rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Runtime } from "../../scripts/workerd/runtime.ts";
import { TenantAdmin } from "../../scripts/workerd/tenant-admin.ts";
import { fillBacklog } from "./backlog-fill.ts";
import { type Bench, tenantConfig } from "./bench.ts";
import { cpuMicroseconds } from "./process-cost.ts";
import { median } from "./statistics.ts";

/** What intake and delivery cost with this many events waiting, all under random ids. */
export interface AtBacklog {
  readonly backlog: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly loneP50Ms: number;
  readonly cpuUsPerEvent: number;
  readonly rowsWrittenPerInsert: number;
  readonly rowsReadPerInsert: number;
  readonly batchP50Ms: number;
  /** From the start of the process to its first answer. */
  readonly firstAnswerMs: number;
  readonly storageBytes: number;
}

/** Builds each backlog once, the larger on top of the smaller, and keeps a disk of each. */
export async function buildBacklogs(bench: Bench): Promise<ReadonlyMap<number, string>> {
  const dirs = new Map<number, string>();
  const growingDir = bench.freshDir();
  let stored = 0;
  for (const backlog of bench.plan.backlogs) {
    await bench.withRuntimeOn(growingDir, bench.spillway, async (runtime) => {
      const admin = new TenantAdmin(runtime.origin, "t0");
      if (stored === 0) await admin.configure(tenantConfig(bench.fastOrigin.url));
      await admin.pause("origin");
      await fillBacklog(bench, runtime, backlog - stored);
    });
    stored = backlog;
    const isLast = backlog === bench.plan.backlogs.at(-1);
    const dir = isLast ? growingDir : bench.freshDir();
    if (!isLast) cpSync(growingDir, dir, { recursive: true });
    dirs.set(backlog, dir);
  }
  return dirs;
}

/**
 * Measures on the disk of one backlog. Each measurement adds some thousand events; the smaller disks are therefore
 * copied first, so that every round begins with what the name says, and the largest, where it hardly matters, is used
 * as it is.
 */
export async function measureAtBacklog(bench: Bench, backlog: number, builtDir: string): Promise<AtBacklog> {
  const isLargest = backlog === bench.plan.backlogs.at(-1);
  const dir = isLargest ? builtDir : bench.freshDir();
  if (!isLargest) cpSync(builtDir, dir, { recursive: true });
  try {
    return await bench.withRuntimeOn(dir, bench.spillway, (runtime) => measure(bench, backlog, runtime));
  } finally {
    if (!isLargest) rmSync(dir, { recursive: true, force: true });
  }
}

async function measure(bench: Bench, backlog: number, runtime: Runtime): Promise<AtBacklog> {
  const { plan, load } = bench;
  const admin = new TenantAdmin(runtime.origin, "t0");
  const startedAt = performance.now();
  await admin.stats();
  const firstAnswerMs = performance.now() - startedAt;

  await load.prepare({
    count: plan.warmupEvents + plan.backlogIntakeEvents + plan.backlogLoneEvents,
    tenants: ["t0"],
    bodySizeBytes: plan.bodySizeBytes,
  });
  await load.run(runtime.port, plan.connections, plan.warmupEvents);
  const before = await admin.stats();
  const cpuBefore = cpuMicroseconds(runtime.pid);
  const hot = await load.run(runtime.port, plan.connections, plan.backlogIntakeEvents);
  const cpuUs = cpuMicroseconds(runtime.pid) - cpuBefore;
  const after = await admin.stats();
  const lone = await load.run(runtime.port, 1, plan.backlogLoneEvents);

  return {
    backlog,
    perSecond: hot.perSecond,
    p50Ms: hot.p50Ms,
    loneP50Ms: lone.p50Ms,
    cpuUsPerEvent: cpuUs / plan.backlogIntakeEvents,
    rowsWrittenPerInsert: (after.cost.rowsWritten - before.cost.rowsWritten) / plan.backlogIntakeEvents,
    rowsReadPerInsert: (after.cost.rowsRead - before.cost.rowsRead) / plan.backlogIntakeEvents,
    batchP50Ms: await batchP50Ms(bench, admin),
    firstAnswerMs,
    storageBytes: after.storage.bytes,
  };
}

/** Median time from one batch to the next, by the origin's clock, one batch in flight at a time. */
async function batchP50Ms(bench: Bench, admin: TenantAdmin): Promise<number> {
  await bench.fastOrigin.takeReport();
  await admin.resume("origin");
  const arrivalsMs: number[] = [];
  while (arrivalsMs.length < bench.plan.backlogBatches) {
    await sleep(20);
    arrivalsMs.push(...(await bench.fastOrigin.takeReport()).arrivalsMs);
  }
  await admin.pause("origin");
  return median(arrivalsMs.slice(1).map((atMs, index) => atMs - (arrivalsMs[index] ?? atMs)));
}
