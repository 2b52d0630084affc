import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { WorkerDescription } from "../../scripts/workerd/config.ts";
import { buildSpillway } from "../../scripts/workerd/spillway.ts";
import { FlakyOrigin } from "./flaky-origin.ts";
import { Senders, SOURCE_SECRET, sendEvent } from "./sender.ts";
import { Site } from "./site.ts";

const TEST_TIMEOUT_MS = 90_000;
/** How long each layout is under load. */
const ROUND_MS = 3_000;

const buildDir = mkdtempSync(join(tmpdir(), "spillway-reshard-build-"));
let worker: WorkerDescription;

beforeAll(async () => {
  worker = await buildSpillway(buildDir);
}, TEST_TIMEOUT_MS);

afterAll(() => rmSync(buildDir, { recursive: true, force: true }));

function config(url: string, shards: number): unknown {
  return {
    shards,
    sources: { shop: { provider: "generic", secrets: [SOURCE_SECRET] } },
    rateLimit: { events: 100_000, windowSeconds: 1 },
    destinations: { origin: { kind: "http", url, batch: { maxEvents: 20, flushDelayMs: 100 } } },
  };
}

test("[S1] [S2] [X5] 1 → 8 → 3 shards under load, each event repeated meanwhile: none lost, none stored twice, the ledger balances", {
  timeout: TEST_TIMEOUT_MS,
}, async () => {
  const origin = await FlakyOrigin.start(() => "accept");
  const site = new Site(worker);
  await site.start();
  try {
    const admin = site.admin("acme");
    await admin.configure(config(origin.url, 1));
    const senders = new Senders(site, "acme");
    const repeated = new Map<number, number>();
    let isOver = false;
    /** What a provider does that did not hear the answer: each event comes again, in whatever layout there is by then. */
    const done = new Set<string>();
    const repeat = async (): Promise<void> => {
      while (!isOver) {
        const [id] = [...senders.acknowledged].slice(-100).filter((each) => !done.has(each));
        if (id === undefined) {
          await sleep(5);
          continue;
        }
        done.add(id);
        const status = (await sendEvent(site, "acme", id)) ?? 0;
        repeated.set(status, (repeated.get(status) ?? 0) + 1);
      }
    };
    senders.start(6);
    const repeats = Array.from({ length: 6 }, repeat);
    for (const shards of [8, 3]) {
      await sleep(ROUND_MS);
      await admin.configure(config(origin.url, shards));
    }
    await sleep(ROUND_MS);
    isOver = true;
    await senders.stop();
    await Promise.all(repeats);

    // Each of them once more, now that the layouts have settled: every one is known.
    const ids = [...senders.acknowledged];
    const last = await Promise.all(ids.map((id) => sendEvent(site, "acme", id)));
    expect(last.filter((status) => status !== 200)).toEqual([]);
    // During the change a repeat may be asked to come again, but never stored.
    expect(repeated.get(202) ?? 0).toBe(0);
    expect(repeated.get(200) ?? 0).toBeGreaterThan(20);

    const stats = await admin.untilStats((now) => now.destinations.origin?.backlog === 0, 20_000);
    expect(stats.accepted).toBe(ids.length);
    expect(stats.destinations.origin).toMatchObject({ delivered: ids.length, dead: 0 });
    expect(ids.filter((id) => origin.acceptedCounts.get(`shop:${id}`) !== 1)).toEqual([]);
    expect(origin.acceptedCounts.size).toBe(ids.length);
  } finally {
    await site.close();
    origin.close();
  }
});
