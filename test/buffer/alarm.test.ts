import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Destination } from "../../src/buffer/destination.ts";
import { hurried, moveClock, startClock, stopClock } from "../flow/clock.ts";
import { gate, hang, Origin, status } from "../flow/origin.ts";
import { http, Tenant } from "../flow/tenant.ts";
import { arrive, callFor, manyCalls } from "./arrivals.ts";
import { countRows } from "./rows.ts";

beforeEach(() => startClock());

afterEach(() => {
  vi.restoreAllMocks();
  stopClock();
});

/** How long the alarm waits after each of so many runs, one after the other. */
async function restsAfter(tenant: Tenant, runs: number): Promise<number[]> {
  const rests: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    await tenant.runAlarm();
    const atMs = (await tenant.alarmAtMs()) ?? 0;
    rests.push(atMs - Date.now());
    vi.setSystemTime(atMs);
  }
  return rests;
}

describe("who sets it", () => {
  test("[V20](a) the alarm is set with the event, once for many, and never pushed away", async () => {
    new Origin();
    const tenant = await Tenant.create({
      destinations: { origin: http("origin.test", { batch: { flushDelayMs: 2_000 } }) },
    });
    await tenant.runFor(10_000);
    const rows = await countRows(tenant);
    await tenant.accept("evt_0");
    const atMs = await tenant.alarmAtMs();
    expect(atMs).toBe(Date.now() + 2_000);
    for (let index = 1; index < 10; index += 1) {
      moveClock(100);
      await tenant.accept(`evt_${index}`);
    }
    expect(await tenant.alarmAtMs()).toBe(atMs);
    expect(rows.alarmWrites()).toBe(1);
  });

  test("[V20] [FR 74] with a POST every 200 ms the first delivery comes after the flush delay, and then steadily", async () => {
    const origin = new Origin();
    const tenant = await Tenant.create({
      destinations: { origin: http("origin.test", { batch: { flushDelayMs: 1_000 } }) },
    });
    const beganMs = Date.now();
    for (let index = 0; index < 25; index += 1) {
      await tenant.accept(`evt_${index}`);
      await tenant.runFor(200);
    }
    expect(origin.exchanges.map(({ atMs }) => atMs - beganMs)).toEqual([1_000, 2_000, 3_000, 4_000, 5_000]);
  });

  test("[V20](a) [L5] a transaction that fails leaves no alarm, and memory knows it", async () => {
    const origin = new Origin();
    const tenant = await Tenant.create();
    await tenant.runFor(10_000);
    await tenant.sql("CREATE TRIGGER trouble BEFORE INSERT ON segment BEGIN SELECT RAISE(ABORT, 'no room'); END");
    expect((await tenant.post("evt_1", "{}")).status).toBe(503);
    expect(await tenant.alarmAtMs()).toBeNull();
    await tenant.sql("DROP TRIGGER trouble");
    await tenant.accept("evt_1");
    expect(await tenant.alarmAtMs()).toBe(Date.now() + 1);
    await tenant.settle();
    expect(origin.ids()).toEqual(["in:evt_1"]);
  });

  test("[V20](a) while a run is on an arrival wakes it through memory: nothing is armed, and it is delivered by that run", async () => {
    const origin = new Origin();
    const first = gate();
    origin.answer = () => (origin.requests.length === 1 ? first.answer : status(200));
    const tenant = await Tenant.create({ destinations: { origin: http("origin.test", { maxInFlight: 2 }) } });
    await tenant.accept("evt_0");
    const rows = await countRows(tenant);
    const run = tenant.runAlarm();
    await origin.reached(1);
    await tenant.accept("evt_1");
    await origin.reached(2);
    expect(rows.alarmWrites()).toBe(0);
    expect(await tenant.alarmAtMs()).toBeNull();
    first.open(status(200));
    await run;
    expect(new Set(origin.ids())).toEqual(new Set(["in:evt_0", "in:evt_1"]));
  });

  test("[V20](a) a run that began 150 s ago no longer counts as on: the next arrival arms", async () => {
    const origin = new Origin();
    const never = gate();
    origin.answer = () => never.answer;
    const tenant = await Tenant.create({ destinations: { origin: http("origin.test", { timeoutMs: 60_000 }) } });
    await tenant.accept("evt_0");
    const run = tenant.runAlarm();
    await origin.reached(1);
    moveClock(149_000);
    await tenant.accept("evt_1");
    const safetyAtMs = await tenant.alarmAtMs();
    moveClock(1_000);
    await tenant.accept("evt_2");
    const atMs = await tenant.alarmAtMs();
    expect(atMs).not.toBeNull();
    if (safetyAtMs === null) expect(atMs).toBe(Date.now() + 1);
    never.open(status(200));
    await run;
  });

  test("[V20](b) only the alarm drains: calls of every kind send nothing, drain and resume set it to now + 1 ms", async () => {
    const origin = new Origin();
    const tenant = await Tenant.create({
      destinations: { origin: http("origin.test", { batch: { flushDelayMs: 60_000 } }) },
    });
    await tenant.runFor(10_000);
    await tenant.accept("evt_1");
    moveClock(1_000);
    await tenant.stats();
    await tenant.event("evt_1");
    expect((await tenant.admin("POST", "/drain")).status).toBe(200);
    expect(await tenant.alarmAtMs()).toBe(Date.now() + 1);
    await tenant.runAlarm();
    await tenant.admin("POST", "/destinations/origin/pause");
    moveClock(1_000);
    await tenant.admin("POST", "/destinations/origin/resume");
    expect(await tenant.alarmAtMs()).toBe(Date.now() + 1);
    expect(origin.requests).toEqual([]);
  });
});

describe("a run", () => {
  test("[V20](c) sets no alarm before its first request, and one when it ends", async () => {
    const origin = new Origin();
    const answer = gate();
    origin.answer = () => answer.answer;
    const tenant = await Tenant.create();
    await tenant.accept("evt_1");
    const run = tenant.runAlarm();
    await origin.reached(1);
    expect(await tenant.alarmAtMs()).toBeNull();
    answer.open(status(503));
    await run;
    expect(await tenant.alarmAtMs()).toBeGreaterThan(Date.now());
  });

  test("[V20](c) one that had to be run again sets a safety alarm first", async () => {
    const origin = new Origin();
    const answer = gate();
    origin.answer = () => answer.answer;
    const tenant = await Tenant.create();
    await tenant.accept("evt_1");
    const run = runInDurableObject(tenant.stub, async (instance, state) => {
      await state.storage.deleteAlarm();
      const info = { retryCount: 1, isRetry: true, scheduledTime: Date.now() };
      await (instance as unknown as { alarm(info: AlarmInvocationInfo): Promise<void> }).alarm(
        info as AlarmInvocationInfo,
      );
    });
    await origin.reached(1);
    expect(await tenant.alarmAtMs()).toBe(Date.now() + 60_000);
    answer.open(status(200));
    await run;
    // Delivered: what is left is retention, days ahead.
    expect(await tenant.alarmAtMs()).toBeGreaterThan(Date.now() + 3_600_000);
  });

  test("[V20](c) one that has gone on for 10 s sets a safety alarm", async () => {
    const origin = new Origin();
    origin.answer = (request) => hang(request);
    const tenant = await Tenant.create({ destinations: { origin: http("origin.test", { timeoutMs: 30_000 }) } });
    await tenant.accept("evt_1");
    const beganMs = Date.now();
    const sets: { readonly nowMs: number; readonly atMs: number }[] = [];
    await runInDurableObject(tenant.stub, (_, { storage }) => {
      const setAlarm = storage.setAlarm.bind(storage);
      Object.defineProperty(storage, "setAlarm", {
        configurable: true,
        value: (atMs: number) => {
          sets.push({ nowMs: Date.now() - beganMs, atMs: atMs - Date.now() });
          return setAlarm(atMs);
        },
      });
    });
    await hurried(() => tenant.runAlarm());
    expect(origin.exchanges.map(({ status: code }) => code)).toEqual([null]);
    expect(sets[0]).toEqual({ nowMs: 10_000, atMs: 60_000 });
  });

  test("[V20](c) [FR 72] a store that fails in the middle of a run: the handler does not throw, an alarm is set, and what was sent goes again with the same batch id", async () => {
    const origin = new Origin();
    const tenant = await Tenant.create();
    await tenant.accept("evt_1", "evt_2");
    await tenant.sql(
      "CREATE TRIGGER trouble BEFORE UPDATE ON destination WHEN NEW.delivered > OLD.delivered BEGIN SELECT RAISE(ABORT, 'no room'); END",
    );
    expect(await tenant.runAlarm()).toBe(true);
    expect(await tenant.ledger()).toMatchObject({ delivered: 0, backlog: 2 });
    expect(await tenant.alarmAtMs()).not.toBeNull();
    await tenant.sql("DROP TRIGGER trouble");
    await tenant.runFor(120_000);
    expect(await tenant.ledger()).toMatchObject({ delivered: 2, backlog: 0 });
    expect(new Set(origin.exchanges.map(({ batchId }) => batchId)).size).toBe(1);
  });

  test("[V20](c) [FR 74] a store that goes on failing is tried again at a bounded rate", async () => {
    const origin = new Origin();
    const tenant = await Tenant.create();
    await tenant.accept("evt_1");
    await tenant.sql(
      "CREATE TRIGGER trouble BEFORE UPDATE ON destination WHEN NEW.delivered > OLD.delivered BEGIN SELECT RAISE(ABORT, 'no room'); END",
    );
    const endMs = Date.now() + 600_000;
    let runs = 0;
    for (; runs < 200; runs += 1) {
      const atMs = await tenant.alarmAtMs();
      if (atMs === null || atMs > endMs) break;
      vi.setSystemTime(Math.max(Date.now(), atMs));
      await tenant.runAlarm();
    }
    expect(runs).toBeGreaterThan(3);
    expect(runs).toBeLessThan(40);
    expect(origin.requests.length).toBeLessThan(40);
    await tenant.sql("DROP TRIGGER trouble");
    await tenant.runFor(120_000);
    expect(await tenant.ledger()).toMatchObject({ delivered: 1, backlog: 0 });
  });

  test("[V50] a destination that changes for ever and sends nothing: the run ends, says so, and the next one waits", async () => {
    const origin = new Origin();
    const tenant = await Tenant.create();
    await tenant.accept("evt_1");
    const lines = vi.spyOn(console, "error").mockReturnValue();
    const step = vi.spyOn(Destination.prototype, "step").mockReturnValue({ begun: [], changed: true });
    expect(await restsAfter(tenant, 3)).toEqual([1_000, 2_000, 4_000]);
    expect(lines.mock.calls.map(([line]) => JSON.parse(String(line)))).toContainEqual({
      event: "run-failed",
      reason: "destinations change and nothing is sent",
    });
    step.mockRestore();
    await tenant.settle();
    expect(origin.ids()).toEqual(["in:evt_1"]);
  });

  test("[V50] something is due and nothing comes of it: after ten such runs the next ones wait", async () => {
    const origin = new Origin();
    const tenant = await Tenant.create();
    await tenant.accept("evt_1");
    const lines = vi.spyOn(console, "error").mockReturnValue();
    const step = vi.spyOn(Destination.prototype, "step").mockReturnValue({ begun: [], changed: false });
    expect(await restsAfter(tenant, 13)).toEqual([...Array.from({ length: 10 }, () => 1), 1_000, 2_000, 4_000]);
    expect(lines).toHaveBeenCalledTimes(1);
    step.mockRestore();
    await tenant.settle();
    expect(origin.ids()).toEqual(["in:evt_1"]);
    expect((await tenant.alarmAtMs()) ?? 0).toBeGreaterThan(Date.now() + 3_600_000);
  });

  test("[V20](d) [FR 71] starts at most 40 requests and hands over: a long backlog is drained with nobody's help", async () => {
    const origin = new Origin();
    const tenant = await Tenant.create({
      destinations: { origin: http("origin.test", { batch: { maxEvents: 1, flushDelayMs: 0 } }) },
    });
    const calls = await manyCalls(tenant, "e", 100);
    await Promise.all(calls.map(async (call) => tenant.ingest(call)));
    const counts: number[] = [];
    while ((await tenant.ledger()).backlog > 0) {
      const before = origin.requests.length;
      const atMs = await tenant.alarmAtMs();
      expect(atMs).toBeGreaterThan(Date.now());
      vi.setSystemTime(atMs ?? 0);
      await tenant.runAlarm();
      counts.push(origin.requests.length - before);
    }
    expect(counts).toEqual([40, 40, 20]);
  });

  test("[V20](d) [FR 76] starts none after 60 s", async () => {
    const origin = new Origin();
    origin.answer = () => {
      moveClock(25_000);
      return status(200);
    };
    const tenant = await Tenant.create({
      destinations: { origin: http("origin.test", { batch: { maxEvents: 1, flushDelayMs: 0 } }) },
    });
    await tenant.accept("a", "b", "c", "d", "e");
    await tenant.runAlarm();
    expect(origin.requests).toHaveLength(3);
    expect(await tenant.alarmAtMs()).toBe(Date.now() + 1);
    await tenant.runFor(600_000);
    expect(origin.ids()).toHaveLength(5);
  });
});

describe("a lost alarm", () => {
  const calls: readonly (readonly [string, (tenant: Tenant) => Promise<unknown>])[] = [
    ["an ingest that is a duplicate", (tenant) => tenant.post("evt_1", '{"id":"evt_1"}')],
    ["stats", (tenant) => tenant.calls.stats()],
    ["a look at an event", (tenant) => tenant.calls.event("in:evt_1")],
    ["a look at its bytes", (tenant) => tenant.calls.body("in:evt_1")],
    ["the dead letters", (tenant) => tenant.calls.deadLetters({ destination: "origin", limit: 10, cursor: null })],
    ["a look at the configuration", (tenant) => tenant.calls.readConfig()],
    ["a stale ingest", async (tenant) => tenant.ingest({ ...(await callFor(tenant, { id: "evt_9" })), version: 1 })],
    ["drain", (tenant) => tenant.calls.drain()],
  ];

  test.each(calls)(
    "[V20](e) [FR 73] [FR 80] gone while the object slept, it is set again by %s",
    async (_name, call) => {
      const origin = new Origin();
      const tenant = await Tenant.create();
      await tenant.accept("evt_1");
      await tenant.loseAlarm();
      await tenant.evict();
      await call(tenant);
      expect(await tenant.alarmAtMs()).not.toBeNull();
      await tenant.settle();
      expect(origin.ids()).toEqual(["in:evt_1"]);
    },
  );

  test.each(calls)(
    "[V20](e) [FR 72] overdue by more than 60 s while the object is up, it is set again by %s",
    async (_name, call) => {
      const origin = new Origin();
      const tenant = await Tenant.create();
      await tenant.accept("evt_1");
      await tenant.calls.stats();
      await tenant.loseAlarm();
      moveClock(60_002);
      await call(tenant);
      expect(await tenant.alarmAtMs()).not.toBeNull();
      await tenant.settle();
      expect(origin.ids()).toEqual(["in:evt_1"]);
    },
  );

  test("[V20](e) a call sets none where nothing is waiting", async () => {
    new Origin();
    const tenant = await Tenant.create({ destinations: { origin: http() } });
    await tenant.runAlarm();
    await tenant.loseAlarm();
    await tenant.evict();
    await tenant.stats();
    expect(await tenant.alarmAtMs()).toBeNull();
  });

  test("[V20] [FR 73] an object reset in the middle of a run delivers with the next call, whatever it is", async () => {
    const origin = new Origin();
    const never = gate();
    origin.answer = () => never.answer;
    const tenant = await Tenant.create();
    await arrive(tenant, { id: "evt_1" }, { id: "evt_2" }, { id: "evt_3" });
    const run = tenant.runAlarm().catch(() => false);
    await origin.reached(1);
    await runInDurableObject(tenant.stub, (_, state) => {
      state.abort("reset in the middle of a run");
    }).catch(() => {});
    await run;
    origin.answer = () => status(200);
    await tenant.calls.readConfig();
    await tenant.settle();
    expect(await tenant.ledger()).toMatchObject({ delivered: 3, backlog: 0 });
    expect(new Set(origin.exchanges.filter((each) => each.status === 200).flatMap(({ ids }) => ids)).size).toBe(3);
  });
});
