import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { TenantStats } from "../../src/buffer/contract.ts";
import { moveClock, startClock, stopClock } from "../flow/clock.ts";
import { Origin, status } from "../flow/origin.ts";
import { http, Tenant } from "../flow/tenant.ts";
import { manyCalls } from "./arrivals.ts";
import { countRows } from "./rows.ts";

const HOUR_MS = 3_600_000;

beforeEach(() => startClock());

afterEach(() => {
  vi.restoreAllMocks();
  stopClock();
});

function metered({ cost }: TenantStats): number {
  return cost.rowsWritten + cost.setupRows;
}

async function ingest(tenant: Tenant, calls: Awaited<ReturnType<typeof manyCalls>>, atOnce = 50): Promise<void> {
  for (let first = 0; first < calls.length; first += atOnce) {
    const answers = await Promise.all(calls.slice(first, first + atOnce).map(async (call) => tenant.ingest(call)));
    expect(answers.filter((answer) => answer.kind === "unavailable" || answer.kind === "rate-limited")).toEqual([]);
  }
}

test("[O10] the meter equals the rows of every statement plus one per setAlarm and deleteAlarm, whatever happens", {
  timeout: 30_000,
}, async () => {
  const origin = new Origin();
  const tenant = new Tenant(`t-${crypto.randomUUID()}`);
  const rows = await countRows(tenant);
  await tenant.reconfigure({ retainSeconds: 3_600, deadLetterTtlSeconds: 86_400, dedupeWindowSeconds: 86_400 });
  const check = async (): Promise<void> => {
    const stats = await tenant.stats();
    // What `stats` reads after it looked at the meter is not in its answer yet.
    expect(metered(stats)).toBe(rows.written());
    expect(stats.cost.rowsRead).toBeLessThanOrEqual(rows.read());
  };
  await check();
  await ingest(tenant, await manyCalls(tenant, "a", 120));
  await check();
  await tenant.settle();
  await check();
  origin.answer = (_request, events) => status(events.some(({ id }) => id === "in:b3") ? 400 : 200);
  await ingest(tenant, await manyCalls(tenant, "b", 10));
  await tenant.runFor(10 * HOUR_MS);
  await check();
  origin.answer = () => status(503);
  await ingest(tenant, await manyCalls(tenant, "c", 30));
  await tenant.runFor(HOUR_MS);
  await tenant.admin("POST", "/destinations/origin/pause");
  await tenant.admin("POST", "/destinations/origin/resume");
  await ingest(tenant, await manyCalls(tenant, "a", 20));
  await check();
  origin.answer = () => status(200);
  await tenant.runFor(80 * HOUR_MS);
  await check();
  await tenant.reconfigure({ retainSeconds: 0 });
  await tenant.runFor(80 * HOUR_MS);
  await check();
  expect(rows.alarmWrites()).toBeGreaterThan(10);
});

test("[O10] the meter is kept across an eviction, but for what was written after the last row that carries it", async () => {
  new Origin();
  const tenant = await Tenant.create();
  await ingest(tenant, await manyCalls(tenant, "a", 500));
  await tenant.settle();
  const before = (await tenant.stats()).cost;
  await tenant.evict();
  const after = (await tenant.stats()).cost;
  expect(after.since).toBe(before.since);
  expect(after.setupRows).toBe(before.setupRows);
  expect(after.rowsWritten).toBeLessThanOrEqual(before.rowsWritten);
  expect(after.rowsWritten).toBeGreaterThan(before.rowsWritten - 5);
});

test("[C1] [O10] at most 2.2 rows per event in batches of 50; 500 duplicates add none", {
  timeout: 60_000,
}, async () => {
  new Origin();
  const tenant = await Tenant.create();
  const before = metered(await tenant.stats());
  const calls = await manyCalls(tenant, "e", 2_000);
  for (let first = 0; first < calls.length; first += 50) {
    await ingest(tenant, calls.slice(first, first + 50));
    await tenant.runAlarm();
  }
  await tenant.settle();
  expect(await tenant.ledger()).toMatchObject({ delivered: 2_000, backlog: 0 });
  const delivered = metered(await tenant.stats());
  await ingest(tenant, calls.slice(0, 500));
  expect(metered(await tenant.stats())).toBe(delivered);
  expect((await tenant.stats()).deduplicated).toBe(500);
  // Its whole life: until everything is dropped.
  await tenant.runFor(500 * HOUR_MS);
  expect((await tenant.stats()).storage.segments).toBe(0);
  const perEvent = (metered(await tenant.stats()) - before) / 2_000;
  console.info(`rows written per event, batches of 50: ${perEvent.toFixed(3)}`);
  expect(perEvent).toBeLessThanOrEqual(2.2);
});

test("[C1] a lone event costs at most 8 rows, its segments apart", async () => {
  new Origin();
  const tenant = await Tenant.create();
  await tenant.accept("first");
  await tenant.settle();
  const costs: number[] = [];
  for (let index = 0; index < 10; index += 1) {
    moveClock(30_000);
    const before = metered(await tenant.stats());
    await tenant.accept(`evt_${index}`);
    await tenant.settle();
    costs.push(metered(await tenant.stats()) - before);
  }
  console.info(`rows written for a lone event: ${costs.join(" ")}`);
  expect(Math.max(...costs)).toBeLessThanOrEqual(8);
});

test("[C1] a second destination costs at most 0.1 rows more per event", { timeout: 60_000 }, async () => {
  new Origin();
  const costs: number[] = [];
  for (const destinations of [{ a: http("a.test") }, { a: http("a.test"), b: http("b.test") }]) {
    const tenant = await Tenant.create({ destinations });
    const before = metered(await tenant.stats());
    const calls = await manyCalls(tenant, "e", 1_000);
    for (let first = 0; first < calls.length; first += 50) {
      await ingest(tenant, calls.slice(first, first + 50));
      await tenant.runAlarm();
    }
    await tenant.settle();
    costs.push((metered(await tenant.stats()) - before) / 1_000);
  }
  const [one = 0, two = 0] = costs;
  console.info(`rows written per event, one destination ${one.toFixed(3)}, two ${two.toFixed(3)}`);
  expect(two - one).toBeLessThanOrEqual(0.1);
});

test("[C1] a new object costs at most 60 rows", async () => {
  const tenant = new Tenant(`t-${crypto.randomUUID()}`);
  const rows = await countRows(tenant);
  await tenant.reconfigure({});
  console.info(`rows written for a new object: ${rows.written()}`);
  expect(rows.written()).toBeLessThanOrEqual(60);
  const { cost } = await tenant.stats();
  expect(cost.setupRows).toBeGreaterThan(0);
  expect(cost.setupRows + cost.rowsWritten).toBe(rows.written());
});

test("[C1] a body segment costs at most 10 rows over its life, a key segment at most 6", {
  timeout: 30_000,
}, async () => {
  new Origin();
  const costs: { body: number; key: number }[] = [];
  for (const kind of ["body", "key"] as const) {
    const tenant = await Tenant.create(
      kind === "body"
        ? { retainSeconds: 0, dedupeWindowSeconds: 2_592_000 }
        : { retainSeconds: 2_592_000, dedupeWindowSeconds: 3_600 },
    );
    await tenant.accept("first");
    await tenant.settle();
    const rows = await countRows(tenant);
    // Two segments of the kind come and go; the events between them cost what lone events cost.
    const lone = await loneCost(tenant, rows, 0);
    const before = rows.written();
    for (let round = 0; round < 2; round += 1) {
      await tenant.runFor(kind === "body" ? 2 * HOUR_MS : 1_000_000);
      await tenant.accept(`evt_${round}`);
      await tenant.settle();
    }
    const perSegment = (rows.written() - before) / 2 - lone;
    costs.push({ body: kind === "body" ? perSegment : 0, key: kind === "key" ? perSegment : 0 });
  }
  console.info(`rows written per segment: ${JSON.stringify(costs)}`);
  expect(costs[0]?.body).toBeLessThanOrEqual(10);
  expect(costs[1]?.key).toBeLessThanOrEqual(6);
});

async function loneCost(tenant: Tenant, rows: { written(): number }, index: number): Promise<number> {
  const before = rows.written();
  await tenant.accept(`lone_${index}`);
  await tenant.settle();
  return rows.written() - before;
}

test("[C2] rows read and written per event do not grow with what is stored", { timeout: 60_000 }, async () => {
  new Origin();
  const tenant = await Tenant.create({ retainBytes: 100_000_000 });
  const costs: { read: number; written: number }[] = [];
  let made = 0;
  for (const stored of [500, 4_000]) {
    const fill = await manyCalls(tenant, `fill${stored}_`, stored - made, 64);
    await ingest(tenant, fill, 200);
    made = stored;
    while ((await tenant.ledger()).backlog > 0) await tenant.runAlarm();
    const rows = await countRows(tenant);
    const calls = await manyCalls(tenant, `e${stored}_`, 200);
    for (let first = 0; first < calls.length; first += 50) {
      await ingest(tenant, calls.slice(first, first + 50));
      await tenant.runAlarm();
    }
    made += 200;
    costs.push({ read: rows.read() / 200, written: rows.written() / 200 });
    await tenant.evict();
  }
  const [few, many] = costs;
  console.info(`rows per event at 500 and at 4,000 stored: ${JSON.stringify(costs)}`);
  expect(many?.written).toBeLessThanOrEqual((few?.written ?? 0) + 0.05);
  expect(many?.read).toBeLessThanOrEqual((few?.read ?? 0) * 1.1 + 0.5);
});

test("[X9] duplicates and refusals are counted in memory and written with the next row that is written anyway", async () => {
  new Origin();
  const tenant = await Tenant.create({ rateLimit: { events: 1, windowSeconds: 10 } });
  await tenant.accept("evt_1");
  await tenant.settle();
  expect((await tenant.post("evt_1", '{"id":"evt_1"}')).status).toBe(200);
  expect((await tenant.post("evt_2", "{}")).status).toBe(429);
  expect(await tenant.stats()).toMatchObject({ deduplicated: 1, rateLimited: 1 });
  moveClock(10_000);
  await tenant.accept("evt_3");
  await tenant.settle();
  await tenant.evict();
  expect(await tenant.stats()).toMatchObject({ deduplicated: 1, rateLimited: 1 });
});
