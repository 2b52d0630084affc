import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { RetentionTurns, type Turn } from "../../src/buffer/retention.ts";
import { COPY_BYTES_MAX, COPY_EVENTS_MAX } from "../../src/core/segments.ts";
import { startClock, stopClock } from "../flow/clock.ts";
import { Origin, status } from "../flow/origin.ts";
import { alertOf, http, isBalanced, Tenant } from "../flow/tenant.ts";
import { arriveOne, manyCalls } from "./arrivals.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

beforeEach(() => startClock());

afterEach(() => {
  vi.restoreAllMocks();
  stopClock();
});

/** The turns of every object that takes one from now on. */
function watchTurns(): () => Turn[] {
  const spy = vi.spyOn(RetentionTurns.prototype, "turn");
  return () => [...new Set(spy.mock.contexts)].flatMap((each) => (each as RetentionTurns).turns);
}

async function ingest(tenant: Tenant, calls: Awaited<ReturnType<typeof manyCalls>>): Promise<void> {
  for (let first = 0; first < calls.length; first += 100) {
    const answers = await Promise.all(calls.slice(first, first + 100).map(async (call) => tenant.ingest(call)));
    expect(new Set(answers.map((answer) => answer.kind))).toEqual(new Set(["buffered"]));
    await tenant.runAlarm();
  }
}

async function tables(tenant: Tenant, pattern: string): Promise<string[]> {
  const rows = await tenant.sql<{ name: string }>(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB ? ORDER BY name",
    pattern,
  );
  return rows.map(({ name }) => name);
}

describe("by size", () => {
  test("[L1] [L2] delivered bytes beyond retainBytes go, oldest first, a segment a turn; ids stay known", {
    timeout: 60_000,
  }, async () => {
    const origin = new Origin();
    const turns = watchTurns();
    const tenant = await Tenant.create({ retainBytes: 4_000_000 });
    const calls = await manyCalls(tenant, "e", 3_000, 4_096);
    await ingest(tenant, calls);
    await tenant.settle();
    expect(await tenant.ledger()).toMatchObject({ delivered: 3_000, backlog: 0 });
    const { storage } = await tenant.stats();
    expect(storage.bytes).toBeLessThanOrEqual(3 * 4_000_000);
    const dropped = turns().filter((turn) => turn.droppedBytes > 0);
    // 12 MB in segments of 1 MB, of which 4 MB stay.
    expect(dropped.length).toBeGreaterThanOrEqual(7);
    for (const turn of turns()) {
      expect(turn.droppedBytes).toBeLessThanOrEqual(1_000_000 + 4_096);
      expect(turn.copiedBytes).toBe(0);
    }
    for (let index = 0; index < 3_000; index += 30) {
      const call = calls[index];
      if (call !== undefined) expect((await tenant.ingest(call)).kind).toBe("deduplicated");
    }
    expect((await tenant.calls.body("in:e0")).kind).toBe("expired");
    expect((await tenant.calls.body("in:e2999")).kind).toBe("body");
    expect((await tenant.admin("GET", "/events/in%3Ae0/body")).status).toBe(410);
    expect(origin.accepted).toHaveLength(3_000);
  });

  test("[L1] [X1] what a dead letter needs is copied out, with its bytes, before the segment goes; all else goes", async () => {
    const origin = new Origin();
    origin.answer = (_request, events) => status(events.some(({ id }) => id === "in:e50") ? 400 : 200);
    const turns = watchTurns();
    const tenant = await Tenant.create({
      retainSeconds: 3_600,
      destinations: { origin: http("origin.test", { retry: { maxAttempts: 1 } }) },
    });
    await ingest(tenant, await manyCalls(tenant, "e", 200, 1_000));
    await tenant.runFor(4 * HOUR_MS);
    expect(await tenant.ledger()).toMatchObject({ delivered: 199, dead: 1 });
    expect(await tables(tenant, "body_*")).toEqual([]);
    expect(await tenant.sql("SELECT seq, size_bytes FROM kept")).toEqual([{ seq: 51, size_bytes: 1_000 }]);
    const copied = turns().filter((turn) => turn.copiedBytes > 0);
    expect(copied.map((turn) => turn.copiedBytes)).toEqual([1_000]);
    expect((await tenant.event("e50"))?.destinations["origin"]).toMatchObject({ state: "dead" });
    expect((await tenant.calls.body("in:e50")).kind).toBe("body");
    // Past its own time it expires, and its bytes go.
    await tenant.runFor(8 * DAY_MS);
    expect(await tenant.ledger()).toMatchObject({ dead: 0, expired: 1 });
    expect(await tenant.sql("SELECT seq FROM kept")).toEqual([]);
    expect(isBalanced(await tenant.stats())).toBe(true);
  });

  test("[L1] where more than 1 % is still needed the segment stays, and goes once that is over", async () => {
    const origin = new Origin();
    origin.answer = (_request, events) => status(events.some(({ id }) => /^in:e1?[0-4]$/.test(id)) ? 400 : 200);
    const tenant = await Tenant.create({
      retainSeconds: 3_600,
      deadLetterTtlSeconds: 86_400,
      destinations: { origin: http("origin.test", { retry: { maxAttempts: 1 } }) },
    });
    await ingest(tenant, await manyCalls(tenant, "e", 100));
    await tenant.runFor(5 * HOUR_MS);
    expect(await tenant.ledger()).toMatchObject({ delivered: 90, dead: 10 });
    expect(await tables(tenant, "body_*")).toHaveLength(1);
    expect(await tenant.sql("SELECT seq FROM kept")).toEqual([]);
    await tenant.runFor(2 * DAY_MS);
    expect(await tenant.ledger()).toMatchObject({ dead: 0, expired: 10 });
    expect(await tables(tenant, "body_*")).toEqual([]);
  });

  test("[L1] in one turn at most 100 events or 8 MB are copied out", { timeout: 60_000 }, async () => {
    new Origin();
    const turns = watchTurns();
    const tenant = await Tenant.create({ retainSeconds: 3_600, retainBytes: 2_000_000_000 });
    const calls = await manyCalls(tenant, "e", 1_200, 8);
    const large = await manyCalls(tenant, "big", 12, 1_000_000);
    await ingest(tenant, [...large, ...calls]);
    await tenant.settle();
    // Twelve of 1,212 are needed: as if a person had set them aside for later.
    await tenant.sql(
      `INSERT INTO dead (destination, seq, state, reason, died_at_ms, expires_at_ms, charged, attempts)
       SELECT 'origin', value, 'dead', 'refused', 0, ${Date.now() + 9 * DAY_MS}, 1, '' FROM json_each('[1,2,3,4,5,6,7,8,9,10,11,12]')`,
    );
    await tenant.sql("UPDATE destination SET delivered = delivered - 12, dead = 12");
    await tenant.evict();
    await tenant.runFor(5 * HOUR_MS);
    expect(await tables(tenant, "body_*")).toEqual([]);
    expect(await tenant.sql("SELECT count(*) AS n FROM kept")).toEqual([{ n: 12 }]);
    const copying = turns().filter((turn) => turn.copiedBytes > 0);
    expect(copying.length).toBeGreaterThan(1);
    for (const turn of copying) expect(turn.copiedBytes).toBeLessThanOrEqual(COPY_BYTES_MAX + 1_000_000);
    expect(COPY_EVENTS_MAX).toBe(100);
  });
});

test("[L4] an object that is nearly full makes room by settled events, oldest first, until there is enough", async () => {
  new Origin();
  const tenant = await Tenant.create({ retainBytes: 4_000_000 });
  await runInDurableObject(tenant.stub, (_, { storage }) => {
    const real = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(storage.sql), "databaseSize")?.get;
    // The object is 2 MB short of being crowded, beside what is stored in this test.
    Object.defineProperty(storage.sql, "databaseSize", {
      configurable: true,
      get: () => 7_498_000_000 + (real?.call(storage.sql) as number),
    });
  });
  await ingest(tenant, await manyCalls(tenant, "e", 900, 4_096));
  for (let run = 0; run < 10; run += 1) await tenant.runAlarm();
  expect(await tenant.ledger()).toMatchObject({ delivered: 900, backlog: 0 });
  expect((await tenant.stats()).storage.bytes).toBeLessThan(7_500_000_000 + 10_000);
  expect((await tenant.calls.body("in:e0")).kind).toBe("expired");
  expect((await tenant.calls.body("in:e899")).kind).toBe("body");
});

test("[L1] [V19] bytes that a queue's consumer may still fetch are copied out, and go when its time is over, whoever else is done with them", async () => {
  const origin = new Origin();
  origin.answer = (_request, events) => status(events.some(({ id }) => id === "in:e50") ? 400 : 200);
  const tenant = await Tenant.create({
    retainSeconds: 3_600,
    deadLetterTtlSeconds: 86_400,
    destinations: { origin: http("origin.test", { retry: { maxAttempts: 1 } }) },
  });
  await ingest(tenant, await manyCalls(tenant, "e", 300, 1_000));
  await tenant.runFor(60_000);
  const untilMs = Date.now() + 14 * DAY_MS;
  await tenant.sql(
    `INSERT INTO claim (destination, seq, until_ms) VALUES ('origin', 51, ${untilMs}), ('origin', 7, ${untilMs})`,
  );
  await tenant.evict();
  await tenant.runFor(4 * HOUR_MS);
  expect(await tables(tenant, "body_*")).toEqual([]);
  // The dead letter expires after a day; the claim on the same event lasts.
  await tenant.runFor(2 * DAY_MS);
  expect(await tenant.ledger()).toMatchObject({ delivered: 299, expired: 1, dead: 0 });
  expect(await tenant.sql("SELECT seq FROM kept")).toEqual([{ seq: 7 }, { seq: 51 }]);
  await tenant.runFor(12 * DAY_MS);
  expect(await tenant.sql("SELECT seq FROM kept")).toEqual([]);
  expect(await tenant.sql("SELECT seq FROM claim")).toEqual([]);
  await tenant.runFor(DAY_MS);
  expect((await tenant.stats()).storage.segments).toBe(0);
  expect(await tenant.alarmAtMs()).toBeNull();
});

describe("by time", () => {
  test("[L3] [L2] everything delivered, every retention over, every segment dropped, evicted: the next event is delivered, and numbers go on", async () => {
    const origin = new Origin();
    const tenant = await Tenant.create();
    await tenant.accept("evt_1", "evt_2", "evt_3");
    await tenant.settle();
    await tenant.runFor(30 * DAY_MS);
    expect(await tables(tenant, "body_*")).toEqual([]);
    expect(await tables(tenant, "key_*")).toEqual([]);
    expect(await tables(tenant, "attempt_*")).toEqual([]);
    expect((await tenant.stats()).storage.segments).toBe(0);
    expect(await tenant.alarmAtMs()).toBeNull();
    await tenant.evict();
    expect(await tenant.stats()).toMatchObject({ accepted: 3 });
    await tenant.accept("evt_4");
    await tenant.settle();
    expect(origin.accepted.at(-1)).toMatchObject({ id: "in:evt_4", seq: "4" });
    expect(await tenant.ledger()).toMatchObject({ offered: 4, delivered: 4, backlog: 0 });
  });

  test("[L3] a position beyond the mark: intake answers 503 and an alert is raised, rather than numbers given twice", async () => {
    new Origin();
    const tenant = await Tenant.create();
    await tenant.accept("evt_1", "evt_2");
    await tenant.settle();
    await tenant.sql("DELETE FROM body_2 WHERE seq = 2");
    await tenant.evict();
    expect(await arriveOne(tenant, { id: "evt_3" })).toMatchObject({
      kind: "unavailable",
      code: "position-beyond-log",
    });
    expect(alertOf(await tenant.stats(), "position-beyond-log")).toMatchObject({ clearedAt: null });
  });

  test("[L2] retainSeconds 0: bytes go within the hour after they were delivered, and never before", async () => {
    const origin = new Origin();
    origin.answer = () => status(503);
    const tenant = await Tenant.create({ retainSeconds: 0, retainBytes: 0 });
    await tenant.accept("evt_1");
    await tenant.runFor(DAY_MS);
    expect((await tenant.calls.body("in:evt_1")).kind).toBe("body");
    origin.answer = () => status(200);
    await tenant.runFor(2 * HOUR_MS);
    expect(origin.ids()).toEqual(["in:evt_1"]);
    expect((await tenant.calls.body("in:evt_1")).kind).toBe("expired");
    expect((await tenant.post("evt_1", '{"id":"evt_1"}')).status).toBe(200);
  });

  test("[L1] a paused destination keeps every byte it has not had, however old and large", async () => {
    new Origin();
    const tenant = await Tenant.create({
      retainSeconds: 0,
      retainBytes: 0,
      destinations: { a: http("a.test"), b: http("b.test") },
    });
    await tenant.admin("POST", "/destinations/b/pause");
    await ingest(tenant, await manyCalls(tenant, "e", 300, 10_000));
    await tenant.runFor(3 * DAY_MS);
    expect(await tenant.ledger("a")).toMatchObject({ delivered: 300 });
    expect((await tenant.calls.body("in:e0")).kind).toBe("body");
    await tenant.admin("POST", "/destinations/b/resume");
    await tenant.runFor(2 * HOUR_MS);
    expect(await tenant.ledger("b")).toMatchObject({ delivered: 300, backlog: 0 });
    expect((await tenant.calls.body("in:e0")).kind).toBe("expired");
  });

  test("[X1] [FR 68] dead letters stay their time, with bytes and attempts, and are counted when they go", async () => {
    const origin = new Origin();
    origin.answer = () => status(400, "no such order");
    const tenant = await Tenant.create({
      deadLetterTtlSeconds: 2_592_000,
      destinations: { origin: http("origin.test", { retry: { maxAttempts: 2, baseMs: 1_000, maxMs: 1_000 } }) },
    });
    await tenant.accept("evt_1");
    await tenant.runFor(29 * DAY_MS);
    const page = (await (await tenant.admin("GET", "/dead-letters")).json()) as { items: unknown[] };
    expect(page.items).toMatchObject([
      { id: "in:evt_1", reason: "refused", attempts: 2, lastStatus: 400, lastResponse: "no such order" },
    ]);
    expect((await tenant.event("evt_1"))?.destinations["origin"]?.attempts).toHaveLength(2);
    expect((await tenant.calls.body("in:evt_1")).kind).toBe("body");
    await tenant.runFor(2 * DAY_MS);
    expect(await tenant.ledger()).toMatchObject({ dead: 0, expired: 1 });
    expect(((await (await tenant.admin("GET", "/dead-letters")).json()) as { items: unknown[] }).items).toEqual([]);
    await tenant.runFor(30 * DAY_MS);
    expect(await tenant.sql("SELECT * FROM dead")).toEqual([]);
    expect((await tenant.stats()).storage.segments).toBe(0);
  });
});
