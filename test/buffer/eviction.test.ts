import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { moveClock, startClock, stopClock } from "../flow/clock.ts";
import { gate, Origin, status } from "../flow/origin.ts";
import { alertOf, http, isBalanced, Tenant } from "../flow/tenant.ts";

beforeEach(() => startClock());

afterEach(() => {
  vi.restoreAllMocks();
  stopClock();
});

/** Moves the clock on by `ms`; the object is evicted before and after each run of its alarm. */
async function runEvicted(tenant: Tenant, ms: number): Promise<void> {
  const endMs = Date.now() + ms;
  for (;;) {
    const atMs = await tenant.alarmAtMs();
    if (atMs === null || atMs > endMs) break;
    vi.setSystemTime(Math.max(Date.now(), atMs));
    await tenant.evict();
    await tenant.runAlarm();
    await tenant.evict();
  }
  vi.setSystemTime(Math.max(Date.now(), endMs));
}

test("[D5] [V11] [V20] evicted between every two steps: accept, alarm, send, record; all arrive once, the poison dies, the ledger balances", {
  timeout: 60_000,
}, async () => {
  const origin = new Origin();
  origin.answer = (_request, events) => status(events.some(({ id }) => id === "in:bad") ? 500 : 200);
  const retry = { maxAttempts: 3, baseMs: 1_000, maxMs: 4_000 };
  const tenant = await Tenant.create({ destinations: { origin: http("origin.test", { retry }) } });
  for (let index = 0; index < 6; index += 1) {
    await tenant.evict();
    await tenant.accept(index === 2 ? "bad" : `evt_${index}`);
    await tenant.evict();
    expect(
      (await tenant.post(index === 2 ? "bad" : `evt_${index}`, `{"id":"${index === 2 ? "bad" : `evt_${index}`}"}`))
        .status,
    ).toBe(200);
  }
  await tenant.evict();
  expect(isBalanced(await tenant.stats())).toBe(true);
  await runEvicted(tenant, 60_000);
  await tenant.accept("after_0");
  await runEvicted(tenant, 120_000);
  await tenant.accept("after_1");
  await runEvicted(tenant, 600_000);
  const ledger = await tenant.ledger();
  expect(ledger).toMatchObject({ offered: 8, delivered: 7, dead: 1, backlog: 0, state: "closed" });
  expect([...origin.counts().values()]).toEqual(Array.from({ length: 7 }, () => 1));
  expect(isBalanced(await tenant.stats())).toBe(true);
});

test("[V11] [FR 66] [FR 65] an open breaker stays open across an eviction, and one request at a time probes", async () => {
  const origin = new Origin();
  origin.answer = () => status(500);
  const tenant = await Tenant.create();
  await tenant.accept(...Array.from({ length: 60 }, (_, index) => `evt_${index}`));
  await tenant.runFor(2_000);
  expect((await tenant.ledger()).state).toBe("open");
  await tenant.evict();
  expect((await tenant.ledger()).state).toBe("open");
  const opened = origin.requests.length;
  expect(opened).toBeLessThanOrEqual(12);
  await runEvicted(tenant, 3_600_000);
  const probes = origin.exchanges.slice(opened);
  expect(probes.length).toBeLessThan(12);
  expect(probes.every(({ ids }) => ids.length === 1)).toBe(true);
  expect(new Set(probes.map(({ ids }) => ids[0])).size).toBe(probes.length);
  origin.answer = () => status(200);
  const before = origin.exchanges.length;
  await runEvicted(tenant, 1_800_000);
  expect(await tenant.ledger()).toMatchObject({ delivered: 60, dead: 0, backlog: 0, state: "closed" });
  // One probe, then a ramp rather than the whole backlog at once.
  const sizes = origin.exchanges.slice(before).map(({ ids }) => ids.length);
  expect(sizes[0]).toBe(1);
  for (const [index, size] of sizes.entries()) expect(size).toBeLessThanOrEqual(2 ** index);
});

test("[V7] [FR 56] a hold outlives an eviction; other events wait with it, and drain lifts it", async () => {
  const origin = new Origin();
  origin.answer = () => status(429, null, { "retry-after": "120" });
  const tenant = await Tenant.create();
  await tenant.accept("evt_1");
  await tenant.settle();
  const atMs = Date.now();
  expect((await tenant.ledger()).state).toBe("holding");
  await tenant.evict();
  const ledger = await tenant.ledger();
  expect([ledger.state, ledger.nextAttemptAt]).toEqual(["holding", new Date(atMs + 120_000).toISOString()]);
  origin.answer = () => status(200);
  await tenant.runFor(119_000);
  expect(origin.requests).toHaveLength(1);
  await tenant.runFor(1_001);
  expect(origin.ids()).toEqual(["in:evt_1"]);
});

test("[V18] [V24] paused and disabled outlive an eviction; resume ends both", async () => {
  const origin = new Origin();
  origin.answer = () => status(410);
  const tenant = await Tenant.create();
  await tenant.accept("evt_1", "evt_2");
  await tenant.runFor(3_600_000);
  expect(await tenant.ledger()).toMatchObject({ state: "disabled", backlog: 2, dead: 0 });
  await tenant.evict();
  await tenant.admin("POST", "/destinations/origin/pause");
  await tenant.evict();
  expect((await tenant.ledger()).state).toBe("disabled");
  expect(alertOf(await tenant.stats(), "destination-disabled")).toMatchObject({
    destination: "origin",
    clearedAt: null,
  });
  const sent = origin.requests.length;
  await tenant.runFor(86_400_000);
  expect(origin.requests).toHaveLength(sent);
  origin.answer = () => status(200);
  await tenant.admin("POST", "/destinations/origin/resume");
  await tenant.evict();
  await tenant.runFor(600_000);
  expect(await tenant.ledger()).toMatchObject({ state: "closed", delivered: 2, backlog: 0 });
});

test("[V14] [V26] [FR 59] reset between the answer and its record: the batch goes again unchanged, with the same id; nothing else does", async () => {
  const origin = new Origin();
  const { answer, open } = gate();
  const tenant = await Tenant.create({
    destinations: { origin: http("origin.test", { batch: { maxEvents: 5, flushDelayMs: 0 } }) },
  });
  const ids = Array.from({ length: 15 }, (_, index) => `evt_${index}`);
  await tenant.accept(...ids);
  // The second batch is answered, and the object is gone before it can write that down.
  origin.answer = () => (origin.requests.length === 2 ? answer : status(200));
  const run = tenant.runAlarm().catch(() => false);
  await origin.reached(2);
  await runInDurableObject(tenant.stub, (_, state) => state.abort("deployed")).catch(() => {});
  open(status(200));
  await run;
  origin.answer = () => status(200);
  expect(await tenant.ledger()).toMatchObject({ delivered: 5, backlog: 10 });
  await tenant.runFor(60_000);
  expect(await tenant.ledger()).toMatchObject({ delivered: 15, backlog: 0 });
  const batches = origin.exchanges.filter((exchange) => exchange.ids.includes("in:evt_5"));
  expect(new Set(batches.map(({ batchId }) => batchId)).size).toBe(1);
  expect(batches.map(({ ids: sent }) => sent.length)).toEqual(batches.map(() => 5));
  for (const id of [...ids.slice(0, 5), ...ids.slice(10)]) expect(origin.exchangesOf(`in:${id}`)).toHaveLength(1);
});

test("[V20] [L3] evicted with nothing to do, it starts, and goes on, from what is stored", async () => {
  const origin = new Origin();
  const tenant = await Tenant.create();
  await tenant.accept("evt_1");
  await tenant.settle();
  const before = await tenant.stats();
  for (let round = 0; round < 3; round += 1) {
    await tenant.evict();
    moveClock(1_000);
  }
  const after = await tenant.stats();
  expect(after.destinations["origin"]).toEqual(before.destinations["origin"]);
  expect(after.storage).toEqual(before.storage);
  await tenant.accept("evt_2");
  await tenant.settle();
  expect(origin.accepted.map(({ id, seq }) => [id, seq])).toEqual([
    ["in:evt_1", "1"],
    ["in:evt_2", "2"],
  ]);
});
