/**
 * The second and third net under delivery [V20](f): every five minutes objects that have something to do are called, and
 * every object once a day, so that one whose alarm was lost goes on. What they say is kept as summaries [O8].
 */
import type { TenantObjects, TendAnswer } from "../buffer/contract.ts";
import { withinLimit } from "../core/in-time.ts";
import type { Place } from "../core/place.ts";
import { parseObjectName } from "../core/shard.ts";
import { planSweep } from "../core/sweep-plan.ts";
import { logLine } from "../observe/log-line.ts";
import { listObjects } from "../tenants/kv.ts";
import { enterRegistry, leaveRegistry, type Registered, readRegistry } from "./registry.ts";
import { Summaries, type Summary } from "./summaries.ts";
import type { SweepKv } from "./sweep-kv.ts";

interface SweepParts {
  readonly kv: SweepKv;
  readonly objects: TenantObjects;
  readonly now: () => number;
  /** Hears where each tenant's objects live, before they are called [O13]. */
  readonly notePlace?: (tenant: string, place: Place) => void;
}

/** How a sweep went; logged, and for tests. */
export interface SweepReport {
  readonly called: readonly string[];
  readonly failed: readonly string[];
  readonly left: readonly string[];
}

const CALLS_AT_ONCE = 16;
const CALL_LIMIT_MS = 10_000;
/** No call begins later in a sweep: the next one goes on with those called the longest time ago. */
const SWEEP_MAX_MS = 240_000;
/** KV shows a new key to everybody within a minute or so: until then a tenant may not be in the list. */
const KV_LAG_MS = 600_000;

type Called = { readonly object: string; readonly answer: TendAnswer | null | "failed" };

/** One sweep. Throws only where KV cannot be read at all. */
export async function sweep(parts: SweepParts): Promise<SweepReport> {
  const beganMs = parts.now();
  const [registry, configured, summaries] = await Promise.all([
    readRegistry(parts.kv),
    listObjects(parts.kv, parts.notePlace),
    Summaries.read(parts.kv),
  ]);
  const registered = new Map(registry.map((each) => [each.object, each]));
  const calledAtMs = new Map([...summaries.all()].map(([object, summary]) => [object, summary.calledAtMs]));
  const plan = planSweep({ registered: [...registered.keys()], configured, calledAtMs, nowMs: beganMs });
  const calls = await callAll(parts, plan, beganMs);
  const left = calls.filter(({ object, answer }) => isOver(answer, registered.get(object), beganMs));
  for (const { object, answer } of calls) note(summaries, object, answer, parts.now());
  const existing = new Set([...configured, ...registered.keys()]);
  for (const object of summaries.all().keys()) if (!existing.has(object)) summaries.remove(object);
  await inTurn([
    () => summaries.write(),
    ...left.map(
      ({ object }) =>
        () =>
          leaveRegistry(parts.kv, object),
    ),
    ...calls
      .filter(({ object, answer }) => isBusy(answer) && !registered.has(object))
      .map(
        ({ object }) =>
          () =>
            enterRegistry(parts.kv, object, beganMs),
      ),
  ]);
  const report = {
    called: plan.slice(0, calls.length),
    failed: calls.filter((call) => call.answer === "failed").map((call) => call.object),
    left: left.map((call) => call.object),
  };
  logLine(report.failed.length > 0 ? "warn" : "info", "sweep", {
    called: report.called.length,
    failed: report.failed.length,
    failedFirst: report.failed[0],
    registered: registered.size,
    tookMs: parts.now() - beganMs,
  });
  return report;
}

async function callAll(parts: SweepParts, plan: readonly string[], beganMs: number): Promise<Called[]> {
  const called: Called[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < plan.length && parts.now() - beganMs < SWEEP_MAX_MS) {
      const object = plan[next++] ?? "";
      called.push({ object, answer: await callOne(parts.objects, object) });
    }
  };
  await Promise.all(Array.from({ length: CALLS_AT_ONCE }, lane));
  return called;
}

async function callOne(objects: TenantObjects, object: string): Promise<TendAnswer | null | "failed"> {
  const { tenant, shard } = parseObjectName(object);
  try {
    return await withinLimit(objects.of(tenant, CALL_LIMIT_MS, shard).tend(), CALL_LIMIT_MS);
  } catch {
    return "failed";
  }
}

/** It had nothing to do for an hour, or there is no such object any more. */
function isOver(answer: Called["answer"], registered: Registered | undefined, nowMs: number): boolean {
  if (registered === undefined || answer === "failed") return false;
  return answer === null ? nowMs - registered.sinceMs >= KV_LAG_MS : answer.isIdle;
}

function isBusy(answer: Called["answer"]): boolean {
  return answer !== null && answer !== "failed" && !answer.isIdle;
}

function note(summaries: Summaries, object: string, answer: Called["answer"], nowMs: number): void {
  const before = summaries.find(object);
  if (answer === null) summaries.remove(object);
  else if (answer === "failed") {
    // It counts as called: others must not wait for it.
    summaries.set(object, { collectedAtMs: null, stats: null, acceptedPerSecond: null, ...before, calledAtMs: nowMs });
  } else {
    const alerts = answer.stats.alerts.filter((alert) => alert.clearedAt === null);
    const stats = { ...answer.stats, alerts };
    const acceptedPerSecond = before === null ? null : rateSince(before, stats.accepted, nowMs);
    summaries.set(object, { calledAtMs: nowMs, collectedAtMs: nowMs, stats, acceptedPerSecond });
  }
}

function rateSince({ stats, collectedAtMs }: Summary, accepted: number, nowMs: number): number | null {
  if (stats === null || collectedAtMs === null || nowMs <= collectedAtMs || accepted < stats.accepted) return null;
  return Math.round(((accepted - stats.accepted) * 100_000) / (nowMs - collectedAtMs)) / 100;
}

/** What one write cannot do must not keep the others from being done; the next sweep does it again. */
async function inTurn(writes: readonly (() => Promise<void>)[]): Promise<void> {
  for (const write of writes) {
    try {
      await write();
    } catch (error) {
      logLine("error", "sweep-not-written", { reason: error instanceof Error ? error.message : "unknown" });
    }
  }
}
