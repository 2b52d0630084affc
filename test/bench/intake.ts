import type { WorkerDescription } from "../../scripts/workerd/config.ts";
import type { Runtime } from "../../scripts/workerd/runtime.ts";
import { TenantAdmin } from "../../scripts/workerd/tenant-admin.ts";
import { type Bench, tenantConfig } from "./bench.ts";
import { floor } from "./floors.ts";
import type { LoadResult } from "./load/closed-loop.ts";
import { cpuMicroseconds } from "./process-cost.ts";

/** One measurement of intake. */
export interface Intake extends LoadResult {
  readonly cpuUsPerEvent: number;
  /** By the log's own counter; null where there is none. */
  readonly commitsPerEvent: number | null;
  readonly deliveredPerSecond: number;
}

/** One thing whose intake is measured, the same way for all of them. */
export interface Subject {
  readonly key: string;
  readonly title: string;
  readonly tenantCount: number;
  readonly events: number;
  readonly worker: WorkerDescription;
  /** Makes the tenants ready; nothing for floors. */
  prepare(runtime: Runtime, tenants: readonly string[]): Promise<void>;
}

/** Floors and the real Worker, in the order in which a round takes them. */
export function intakeSubjects(bench: Bench): readonly Subject[] {
  const { plan, spillway } = bench;
  const date = spillway.compatibilityDate;
  const fastUrl = bench.fastOrigin.url;
  const many = plan.tenantsMany;
  const nothing = async () => {};
  const spillwayTo = (originUrl: string, maxInFlight: number, isPaused: boolean) => {
    return async (runtime: Runtime, tenants: readonly string[]) => {
      await bench.configureTenants(runtime, tenants, tenantConfig(originUrl, { maxInFlight }));
      if (!isPaused) return;
      for (const tenant of tenants) await new TenantAdmin(runtime.origin, tenant).pause("origin");
    };
  };
  const floorOf = (key: string, title: string, name: "bare" | "insert" | "straightforward", tenantCount: number) => ({
    key,
    title,
    tenantCount,
    events: name === "bare" ? plan.bareEvents : plan.floorEvents,
    worker: floor(name, date, fastUrl),
    prepare: nothing,
  });
  const real = (key: string, title: string, tenantCount: number, prepare: Subject["prepare"]) => ({
    key,
    title,
    tenantCount,
    events: plan.intakeEvents,
    worker: spillway,
    prepare,
  });
  return [
    floorOf("a", "(a) bare Worker", "bare", 1),
    real("stored", "Spillway, delivery paused", 1, spillwayTo(fastUrl, 1, true)),
    floorOf("c", "(c) Worker, object, INSERT", "insert", 1),
    real("draining", "Spillway, draining, 4 in flight", 1, spillwayTo(fastUrl, 4, false)),
    floorOf("s", "(s) straightforward design", "straightforward", 1),
    real("draining1", "Spillway, draining, 1 in flight", 1, spillwayTo(fastUrl, 1, false)),
    real("hanging", "Spillway, origin hangs", 1, spillwayTo(bench.hangingOrigin.url, 4, false)),
    floorOf("c-many", `(c) on ${many} tenants`, "insert", many),
    floorOf("s-many", `(s) on ${many} tenants`, "straightforward", many),
    real("draining-many", `Spillway on ${many} tenants, draining`, many, spillwayTo(fastUrl, 1, false)),
  ];
}

export async function measureIntake(bench: Bench, subject: Subject): Promise<Intake> {
  const { plan, load } = bench;
  const tenants = Array.from({ length: subject.tenantCount }, (_, index) => `t${index}`);
  return bench.withRuntime(subject.worker, async (runtime) => {
    await subject.prepare(runtime, tenants);
    await load.prepare({
      count: plan.warmupEvents + subject.events,
      tenants,
      bodySizeBytes: plan.bodySizeBytes,
    });
    await load.run(runtime.port, plan.connections, plan.warmupEvents);

    await bench.fastOrigin.takeReport();
    const commitsBefore = await commits(bench, subject, runtime, tenants);
    const cpuBefore = cpuMicroseconds(runtime.pid);
    const result = await load.run(runtime.port, plan.connections, subject.events);
    const cpuUs = cpuMicroseconds(runtime.pid) - cpuBefore;
    const commitsAfter = await commits(bench, subject, runtime, tenants);
    const { bodyBytes } = await bench.fastOrigin.takeReport();

    const accepted = result.statuses[202] ?? 0;
    if (accepted !== subject.events) {
      throw new Error(`${subject.title}: ${JSON.stringify(result.statuses)}\n${runtime.output().slice(-2_000)}`);
    }
    return {
      ...result,
      cpuUsPerEvent: cpuUs / subject.events,
      commitsPerEvent:
        commitsBefore === null || commitsAfter === null ? null : (commitsAfter - commitsBefore) / subject.events,
      deliveredPerSecond: bodyBytes / (plan.bodySizeBytes + ENVELOPE_BYTES) / result.seconds,
    };
  });
}

/** What an event takes in a batch beside its body: the other members, and the escapes of the body's quotes. */
const ENVELOPE_BYTES = 300;

async function commits(
  bench: Bench,
  subject: Subject,
  runtime: Runtime,
  tenants: readonly string[],
): Promise<number | null> {
  if (subject.worker !== bench.spillway) return null;
  let sum = 0;
  for (const tenant of tenants) {
    const { cost } = await new TenantAdmin(runtime.origin, tenant).stats();
    if (cost.commits === undefined) return null;
    sum += cost.commits;
  }
  return sum;
}
