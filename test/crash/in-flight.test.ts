import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { WorkerDescription } from "../../scripts/workerd/config.ts";
import { buildSpillway } from "../../scripts/workerd/spillway.ts";
import { Senders, SOURCE_SECRET } from "./sender.ts";
import { Site } from "./site.ts";

const TEST_TIMEOUT_MS = 90_000;
const MAX_IN_FLIGHT = 4;
const BATCH_EVENTS = 10;

const buildDir = mkdtempSync(join(tmpdir(), "spillway-in-flight-build-"));
let worker: WorkerDescription;

beforeAll(async () => {
  worker = await buildSpillway(buildDir);
}, TEST_TIMEOUT_MS);

afterAll(() => rmSync(buildDir, { recursive: true, force: true }));

/** An origin that answers late ones first: every request waits its own while, so that answers come out of order. */
async function startShuffling() {
  const counts = new Map<string, number>();
  const open = new Set<readonly string[]>();
  const received: (readonly string[])[] = [];
  let most = 0;
  let overtaken = 0;
  let begun = 0;
  let newestAnswered = 0;
  const server = createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
    request.on("end", () => {
      const number = ++begun;
      const ids = (JSON.parse(text) as { events: { id: string }[] }).events.map((event) => event.id);
      open.add(ids);
      received.push(ids);
      most = Math.max(most, open.size);
      setTimeout(
        () => {
          open.delete(ids);
          if (number < newestAnswered) overtaken += 1;
          newestAnswered = Math.max(newestAnswered, number);
          // Taken, whether or not anybody is there any more to hear of it: what the object does not know it sends again.
          for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
          response.writeHead(200).end("{}");
        },
        (number % MAX_IN_FLIGHT) * 25,
      );
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the origin has no port");
  return {
    url: `http://127.0.0.1:${address.port}/batches`,
    counts,
    lastIds: (requestCount: number) => new Set(received.slice(-requestCount).flat()),
    most: () => most,
    overtaken: () => overtaken,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

test("[V14] maxInFlight 4, answers out of order and kills: nothing lost, repeats at most the batches in flight", {
  timeout: TEST_TIMEOUT_MS,
}, async () => {
  const origin = await startShuffling();
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
          maxInFlight: MAX_IN_FLIGHT,
          batch: { maxEvents: BATCH_EVENTS, flushDelayMs: 0 },
          circuitBreaker: { openMs: 200, openMsMax: 1_000 },
        },
      },
    });
    const senders = new Senders(site, "acme");
    senders.start(16);
    const repeatable = new Map<string, number>();
    let kills = 0;
    for (let round = 0; round < 4; round += 1) {
      await sleep(1_500);
      await site.kill();
      kills += 1;
      // What it had sent reaches the origin all the same.
      await sleep(200);
      // Nothing goes more than `maxInFlight` batches beyond what is settled: what was in flight is among the last of them.
      for (const id of origin.lastIds(MAX_IN_FLIGHT)) repeatable.set(id, (repeatable.get(id) ?? 0) + 1);
      await site.start();
    }
    await senders.stop();
    const stats = await site.admin("acme").untilStats((now) => now.destinations.origin?.backlog === 0, 30_000);
    expect(stats.destinations.origin).toMatchObject({ dead: 0, delivered: stats.accepted });
    expect([...senders.acknowledged].filter((id) => !origin.counts.has(`shop:${id}`))).toEqual([]);
    const repeats = [...origin.counts].filter(([, count]) => count > 1);
    expect(repeats.length).toBeLessThanOrEqual(kills * MAX_IN_FLIGHT * BATCH_EVENTS);
    expect(repeats.filter(([id, count]) => count > 1 + (repeatable.get(id) ?? 0))).toEqual([]);
    // It was what it says: several at once, never more than allowed, and overtaking each other.
    expect(origin.overtaken()).toBeGreaterThan(10);
    expect(origin.most()).toBeLessThanOrEqual(MAX_IN_FLIGHT * 2);
  } finally {
    await site.close();
    origin.close();
  }
});
