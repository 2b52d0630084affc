import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { WorkerDescription } from "../../scripts/workerd/config.ts";
import { buildSpillway } from "../../scripts/workerd/spillway.ts";
import { FlakyOrigin, type Mood } from "./flaky-origin.ts";
import { Senders, SOURCE_SECRET, sendEvent } from "./sender.ts";
import { Site } from "./site.ts";

// Real processes on a real disk: these tests wait for real time, some seconds each.
const TEST_TIMEOUT_MS = 60_000;
const MAX_IN_FLIGHT = 3;

const buildDir = mkdtempSync(join(tmpdir(), "spillway-crash-build-"));
let worker: WorkerDescription;
let site: Site;
let origin: FlakyOrigin;

beforeAll(async () => {
  worker = await buildSpillway(buildDir);
}, TEST_TIMEOUT_MS);

afterEach(async () => {
  await site.close();
  origin.close();
});

afterAll(() => rmSync(buildDir, { recursive: true, force: true }));

async function open(mood: (requestIndex: number) => Mood, delivery: Readonly<Record<string, unknown>>): Promise<void> {
  origin = await FlakyOrigin.start(mood);
  site = new Site(worker);
  await site.start();
  await site.admin("acme").configure({
    sources: { shop: { provider: "generic", secrets: [SOURCE_SECRET] } },
    rateLimit: { events: 100_000, windowSeconds: 1 },
    destinations: {
      origin: {
        kind: "http",
        url: origin.url,
        timeoutMs: 2_000,
        maxInFlight: MAX_IN_FLIGHT,
        retry: { maxAttempts: 50, baseMs: 100, maxMs: 1_000 },
        circuitBreaker: { openMs: 200, openMsMax: 1_000 },
        ...delivery,
      },
    },
  });
}

async function until(isReached: () => boolean, what: () => string, timeoutMs = 30_000): Promise<void> {
  const startedAt = performance.now();
  while (!isReached()) {
    if (performance.now() - startedAt > timeoutMs) throw new Error(`${what()}\n${site.output().slice(-4_000)}`);
    await sleep(50);
  }
}

/** Event ids are `<source>:<the sender's id>` [D8]. */
const missing = (ids: Iterable<string>) => [...ids].filter((id) => !origin.acceptedCounts.has(`shop:${id}`));

test("[V14] [V20] [I12] four kills under load with a flaky origin lose nothing and repeat only what was in flight", {
  timeout: TEST_TIMEOUT_MS,
}, async () => {
  // Every seventh request fails and every eleventh is dropped, so that a kill also finds isolations and retries.
  await open((index) => (index % 11 === 10 ? "drop" : index % 7 === 6 ? "fail" : "accept"), {
    batch: { maxEvents: 20, flushDelayMs: 100 },
  });
  const killsInFlight = new Map<string, number>();
  const kill = async () => {
    await site.kill();
    // The retry of a set-aside event goes beside the batches [V13]: one request more than `maxInFlight`.
    for (const id of origin.recentIds(MAX_IN_FLIGHT + 1)) killsInFlight.set(id, (killsInFlight.get(id) ?? 0) + 1);
  };
  const senders = new Senders(site, "acme");
  senders.start(16);
  for (let round = 1; round <= 3; round += 1) {
    const before = senders.acknowledged.size;
    await until(
      () => senders.acknowledged.size >= before + 300,
      () => `only ${senders.acknowledged.size - before} events were acknowledged`,
    );
    await kill();
    await sleep(100);
    await site.start();
  }
  await sleep(500);
  await senders.stop();
  await kill();
  await site.start();

  // From here on nobody calls: the alarm alone brings the rest.
  await until(
    () => missing(senders.acknowledged).length === 0,
    () => `${missing(senders.acknowledged).length} of ${senders.acknowledged.size} acknowledged events are missing`,
  );
  const tooOften = [...origin.acceptedCounts].filter(([id, count]) => count > 1 + (killsInFlight.get(id) ?? 0));
  expect(tooOften).toEqual([]);
  const stats = await site.admin("acme").untilStats((s) => s.destinations.origin?.backlog === 0, 5_000);
  expect(stats.destinations.origin).toMatchObject({ dead: 0, delivered: stats.accepted });
  expect(stats.accepted).toBeGreaterThanOrEqual(senders.acknowledged.size);
});

test("[V20] an event whose batch was still waiting when the runtime was killed arrives without a request", {
  timeout: TEST_TIMEOUT_MS,
}, async () => {
  await open(() => "accept", { batch: { maxEvents: 50, flushDelayMs: 1_500 } });
  const ids = [randomUUID(), randomUUID(), randomUUID()];
  for (const id of ids) expect(await sendEvent(site, "acme", id)).toBe(202);
  await site.kill();
  expect(missing(ids)).toEqual(ids);
  await site.start();
  await until(
    () => missing(ids).length === 0,
    () => `${missing(ids).length} events did not arrive`,
  );
});

test("[V20] [V10] an event set aside for a retry is retried after a kill, at its time and without a request", {
  timeout: TEST_TIMEOUT_MS,
}, async () => {
  let isWell = false;
  await open(() => (isWell ? "accept" : "fail"), { batch: { maxEvents: 1, flushDelayMs: 0 } });
  const id = randomUUID();
  expect(await sendEvent(site, "acme", id)).toBe(202);
  await until(
    () => origin.recentIds(1).has(`shop:${id}`),
    () => "the event was never sent",
  );
  await site.kill();
  isWell = true;
  await site.start();
  await until(
    () => missing([id]).length === 0,
    () => "the event did not come again",
  );
  expect(origin.acceptedCounts.get(`shop:${id}`)).toBe(1);
});

test("[L5] [I12] [D5] a kill in the middle of a group commit leaves every event whole or absent, and a repeat mends it", {
  timeout: TEST_TIMEOUT_MS,
}, async () => {
  await open(() => "accept", { batch: { maxEvents: 50, flushDelayMs: 200 } });
  const all: string[] = [];
  const acknowledged = new Set<string>();
  for (let round = 0; round < 4; round += 1) {
    const ids = Array.from({ length: 150 }, () => randomUUID());
    all.push(...ids);
    let answers = 0;
    const burst = ids.map(async (id) => {
      const status = await sendEvent(site, "acme", id);
      if (status !== 202) return;
      acknowledged.add(id);
      answers += 1;
    });
    // The first answers are out and the next group is being written.
    const killAfterAnswers = [1, 20, 60, 100][round] ?? 1;
    while (answers < killAfterAnswers) await new Promise((resolve) => setImmediate(resolve));
    await site.kill();
    await Promise.all(burst);
    await site.start();
  }
  await until(
    () => missing(acknowledged).length === 0,
    () => `${missing(acknowledged).length} of ${acknowledged.size} acknowledged events are missing`,
  );

  const repeats = await Promise.all(all.map((id) => sendEvent(site, "acme", id)));
  for (const [index, id] of all.entries()) {
    if (acknowledged.has(id)) expect(repeats[index]).toBe(200);
    else expect([200, 202]).toContain(repeats[index]);
  }
  await until(
    () => missing(all).length === 0,
    () => `${missing(all).length} of ${all.length} repeated events are missing`,
  );
  const stats = await site.admin("acme").untilStats((s) => s.destinations.origin?.backlog === 0, 5_000);
  expect(stats.accepted).toBe(all.length);
  expect(stats.destinations.origin?.delivered).toBe(all.length);
});
