import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { WorkerDescription } from "../../scripts/workerd/config.ts";
import { buildSpillway } from "../../scripts/workerd/spillway.ts";
import { NamingOrigin } from "../bench/origin/naming-origin.ts";
import { SOURCE_SECRET, sendEvent } from "./sender.ts";
import { Site } from "./site.ts";

const TEST_TIMEOUT_MS = 90_000;

const buildDir = mkdtempSync(join(tmpdir(), "spillway-redrive-build-"));
let worker: WorkerDescription;

beforeAll(async () => {
  worker = await buildSpillway(buildDir);
}, TEST_TIMEOUT_MS);

afterAll(() => rmSync(buildDir, { recursive: true, force: true }));

test("[X2] [X10] a redrive killed in the middle goes on by itself, while live events arrive, and none goes missing", {
  timeout: TEST_TIMEOUT_MS,
}, async () => {
  const origin = await NamingOrigin.start();
  const site = new Site(worker);
  await site.start();
  try {
    await site.admin("acme").configure({
      sources: { shop: { provider: "generic", secrets: [SOURCE_SECRET] } },
      rateLimit: { events: 100_000, windowSeconds: 1 },
      destinations: {
        origin: {
          kind: "http",
          url: origin.url,
          batch: { maxEvents: 50, flushDelayMs: 0 },
          retry: { maxAttempts: 1 },
        },
      },
    });
    await site.admin("acme").pause("origin");
    const ids = Array.from({ length: 2_500 }, () => randomUUID());
    for (let from = 0; from < ids.length; from += 50) {
      const statuses = await Promise.all(ids.slice(from, from + 50).map((id) => sendEvent(site, "acme", id)));
      expect(new Set(statuses)).toEqual(new Set([202]));
    }
    await site.admin("acme").resume("origin");
    const before = await site.admin("acme").untilStats((now) => now.destinations.origin?.backlog === 0, 30_000);
    const dead = before.destinations.origin?.dead ?? 0;
    expect(dead).toBeGreaterThan(2_000);

    origin.isBad = false;
    const taken = origin.takenCounts.size;
    await site.admin("acme").redriveAll("origin");
    const live: string[] = [];
    for (let kills = 1; kills <= 2; kills += 1) {
      while (origin.takenCounts.size < taken + live.length + kills * 400) {
        const id = randomUUID();
        if ((await sendEvent(site, "acme", id)) === 202) live.push(id);
        await sleep(5);
      }
      await site.kill();
      await sleep(50);
      await site.start();
    }
    const after = await site
      .admin("acme")
      .untilStats(({ destinations: { origin: now } }) => now?.dead === 0 && now.backlog === 0, 40_000);
    expect(after.destinations.origin?.delivered).toBe(after.accepted);
    expect([...ids, ...live].filter((id) => !origin.takenCounts.has(`shop:${id}`))).toEqual([]);
    // Only what was in flight at one of the kills may have come twice: a batch of live events and one of redriven ones.
    expect([...origin.takenCounts.values()].filter((count) => count > 1).length).toBeLessThanOrEqual(2 * 100);
  } finally {
    await site.close();
    origin.close();
  }
});
