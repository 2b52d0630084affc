import { createHmac } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Runtime } from "../../scripts/workerd/runtime.ts";
import { TenantAdmin } from "../../scripts/workerd/tenant-admin.ts";
import { fillBacklog } from "./backlog-fill.ts";
import { type Bench, tenantConfig } from "./bench.ts";
import { BENCH_SECRET } from "./load/signed-requests.ts";
import { NamingOrigin } from "./origin/naming-origin.ts";
import { median } from "./statistics.ts";

/** How long live events take to the origin, without and during the redrive of many dead letters [X2]. */
export interface Redrive {
  readonly deadLetters: number;
  readonly aloneP50Ms: number;
  readonly duringP50Ms: number;
  readonly duringMaxMs: number;
  /** Live events sent during the redrive. */
  readonly liveEvents: number;
  readonly redrivenPerSecond: number;
}

const LIVE_EVERY_MS = 20;
const ALONE_MS = 8_000;
const DURING_MAX_MS = 60_000;

export async function measureRedrive(bench: Bench): Promise<Redrive> {
  const origin = await NamingOrigin.start();
  try {
    return await bench.withRuntime(bench.spillway, async (runtime) => {
      const admin = new TenantAdmin(runtime.origin, "t0");
      const deadLetters = await makeDeadLetters(bench, runtime, admin, origin);
      origin.isBad = false;
      const alone = await liveLatencies(runtime, origin, "alone", () => false, ALONE_MS);
      const startedAt = performance.now();
      await admin.redriveAll("origin");
      let endedAt = 0;
      const isDone = (): boolean => endedAt > 0;
      const watch = (async () => {
        while (!isDone() && performance.now() - startedAt < DURING_MAX_MS) {
          const { dead = 0, backlog = 0 } = (await admin.stats()).destinations.origin ?? {};
          if (dead === 0 && backlog < 50) endedAt = performance.now();
          else await sleep(250);
        }
      })();
      const during = await liveLatencies(runtime, origin, "during", isDone, DURING_MAX_MS);
      await watch;
      const { dead = 0 } = (await admin.stats()).destinations.origin ?? {};
      const seconds = ((isDone() ? endedAt : performance.now()) - startedAt) / 1_000;
      return {
        deadLetters,
        aloneP50Ms: median(alone),
        duringP50Ms: median(during),
        duringMaxMs: Math.max(...during),
        liveEvents: during.length,
        redrivenPerSecond: (deadLetters - dead) / seconds,
      };
    });
  } finally {
    origin.close();
  }
}

async function makeDeadLetters(
  bench: Bench,
  runtime: Runtime,
  admin: TenantAdmin,
  origin: NamingOrigin,
): Promise<number> {
  const config = tenantConfig(origin.url) as { destinations: { origin: Record<string, unknown> } };
  Object.assign(config.destinations.origin, {
    batch: { maxEvents: 50, flushDelayMs: 0 },
    retry: { maxAttempts: 1 },
  });
  await admin.configure(config);
  await admin.pause("origin");
  // One in ten is taken.
  await fillBacklog(bench, runtime, Math.ceil((bench.plan.redriveEvents * 10) / 9 / 50) * 50);
  await admin.resume("origin");
  const stats = await admin.untilStats((now) => now.destinations.origin?.backlog === 0, 180_000);
  return stats.destinations.origin?.dead ?? 0;
}

/** Sends an event every 20 ms until it is over, and says how long each took to the origin. */
async function liveLatencies(
  runtime: Runtime,
  origin: NamingOrigin,
  prefix: string,
  isOver: () => boolean,
  msMax: number,
): Promise<number[]> {
  const sentAtMs = new Map<string, number>();
  const answers: Promise<unknown>[] = [];
  const beganAt = performance.now();
  for (let index = 0; !isOver() && performance.now() - beganAt < msMax; index += 1) {
    const id = `${prefix}-${index}`;
    const body = JSON.stringify({ id, note: "n".repeat(500) });
    sentAtMs.set(`hooks:${id}`, performance.now());
    const headers = {
      "Content-Type": "application/json",
      "X-Event-ID": id,
      "X-Signature": createHmac("sha256", BENCH_SECRET).update(body).digest("hex"),
    };
    answers.push(
      fetch(`${runtime.origin}/webhook/t0`, { method: "POST", headers, body }).then((answer) => answer.text()),
    );
    await sleep(Math.max(0, beganAt + (index + 1) * LIVE_EVERY_MS - performance.now()));
  }
  await Promise.all(answers);
  const deadline = performance.now() + 10_000;
  while ([...sentAtMs.keys()].some((id) => !origin.arrivedAtMs.has(id)) && performance.now() < deadline)
    await sleep(50);
  return [...sentAtMs].map(([id, atMs]) => (origin.arrivedAtMs.get(id) ?? Number.POSITIVE_INFINITY) - atMs);
}
