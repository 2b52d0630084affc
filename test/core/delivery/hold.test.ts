import { describe, expect, test, vi } from "vitest";
import { drainNow } from "../../../src/core/delivery/machine.ts";
import { always, healthy, type Origin, poisoned, type Reply, script, settingsWith, until } from "./origins.ts";
import { Simulation } from "./simulation.ts";
import { START_MS, timedTrace, trace } from "./trace.ts";

/** Simulated hours take seconds where the machine is shared. */
vi.setConfig({ testTimeout: 60_000 });

const AT_ONCE = settingsWith({ batch: { maxEvents: 2, flushDelayMs: 0 } });
const HOUR_MS = 3_600_000;
const ok: Reply = { status: 200 };

function busy(retryAfterSeconds: number): Reply {
  return { status: 503, retryAfterSeconds };
}

describe("how long", () => {
  test("[V7] Retry-After holds the whole destination", () => {
    const simulation = new Simulation({ settings: AT_ONCE, origin: script(busy(30), ok) });
    simulation.arrive(4);
    simulation.run(29_000);
    expect(simulation.state()).toBe("holding");
    expect(simulation.requests.length).toBe(1);
    simulation.run(2_000);
    expect(timedTrace(simulation.requests)).toEqual(["0 fresh 1-2: 503", "30 fresh 3-4: 200", "30 isolation 1-2: 200"]);
    expect(simulation.state()).toBe("closed");
  });

  test("[V7] it is never shorter than 1 s·2^k, at most 15 minutes, k being the Busy answers in a row", () => {
    const simulation = new Simulation({ settings: AT_ONCE, origin: always({ status: 429 }) });
    simulation.arrive(10);
    simulation.run(3 * HOUR_MS);
    const gaps = simulation.requests.slice(1).map((request, index) => {
      return Math.round((request.atMs - (simulation.requests[index]?.atMs ?? 0) - 20) / 1_000);
    });
    expect(gaps.slice(0, 12)).toEqual([2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900]);
  });

  test("[V7] an accepted event ends the row", () => {
    const origin = script({ status: 429 }, { status: 429 }, { status: 429 }, ok, { status: 429 }, ok);
    const simulation = new Simulation({ settings: AT_ONCE, origin });
    simulation.arrive(20);
    simulation.run(60_000);
    const seconds = timedTrace(simulation.requests).map((line) => Number(line.split(" ")[0]));
    expect(seconds.slice(0, 6)).toEqual([0, 2, 6, 14, 14, 16]);
  });

  test("[V7] the first answer holds for at most 60 s; when other events get one too, it counts in full", () => {
    const simulation = new Simulation({ settings: AT_ONCE, origin: always(busy(7_200)) });
    simulation.arrive(20);
    simulation.run(3 * HOUR_MS);
    expect(timedTrace(simulation.requests)).toEqual(["0 fresh 1-2: 503", "60 fresh 3-4: 503", "7260 fresh 1-2: 503"]);
  });

  test("[V7] when nothing else waits, it counts in full", () => {
    const simulation = new Simulation({ settings: AT_ONCE, origin: script(busy(7_200), ok) });
    simulation.arrive(1);
    simulation.run(3 * HOUR_MS);
    expect(timedTrace(simulation.requests)).toEqual(["0 fresh 1: 503", "7200 aside 1: 200"]);
  });

  test("[V7] [V38] even then it does not hold an event that arrives later for more than 60 s", () => {
    const simulation = new Simulation({ settings: AT_ONCE, origin: poisoned([1], busy(7_200)) });
    simulation.arrive(1);
    simulation.arrive(1, 10_000);
    simulation.run(61_000);
    expect(timedTrace(simulation.requests)).toEqual(["0 fresh 1: 503", "60 fresh 2: 200"]);
  });

  test("[V7] 5xx with Retry-After holds as well, and the search for a culprit goes on after it", () => {
    const simulation = new Simulation({
      settings: AT_ONCE,
      origin: script({ status: 500, retryAfterSeconds: 30 }, ok),
    });
    simulation.arrive(2);
    simulation.run(40_000);
    expect(timedTrace(simulation.requests)).toEqual(["0 fresh 1-2: 500", "30 isolation 2: 200", "30 isolation 1: 200"]);
  });

  test("[V7] POST drain lifts it", () => {
    const simulation = new Simulation({ settings: AT_ONCE, origin: script(busy(7_200), ok) });
    simulation.arrive(1);
    simulation.run(1_000);
    simulation.act(drainNow);
    expect(simulation.state()).toBe("closed");
    simulation.run(7_300_000);
    expect(simulation.tenant.delivered.size).toBe(1);
  });

  test("[V7] a hold of more than 15 minutes raises an alert, which an accepted event clears", () => {
    const simulation = new Simulation({ settings: AT_ONCE, origin: script(busy(901), ok) });
    simulation.arrive(1);
    simulation.run(HOUR_MS);
    expect(simulation.tenant.alertLog).toEqual(["+hold-long", "-hold-long"]);
    const short = new Simulation({ settings: AT_ONCE, origin: script(busy(900), ok) });
    short.arrive(1);
    short.run(HOUR_MS);
    expect(short.tenant.alertLog).toEqual([]);
  });

  test("[V7] holds one after another that last longer raise it too", () => {
    const simulation = new Simulation({ settings: AT_ONCE, origin: always({ status: 429 }) });
    simulation.arrive(10);
    simulation.run(2 * HOUR_MS);
    expect(simulation.tenant.alertLog).toEqual(["+hold-long"]);
  });
});

describe("whose fault", () => {
  test("[V7] after a hold the next request holds another event; the bad one holds nobody up for hours", () => {
    const settings = settingsWith({ batch: { maxEvents: 1, flushDelayMs: 0 } });
    const simulation = new Simulation({ settings, origin: poisoned([1], busy(7_200)) });
    simulation.arrive(6);
    simulation.run(10 * 60_000);
    expect(timedTrace(simulation.requests).slice(0, 3)).toEqual([
      "0 fresh 1: 503",
      "60 fresh 2: 200",
      "60 fresh 3: 200",
    ]);
    expect(simulation.tenant.delivered.size).toBe(5);
  });

  test("[V7] an event that alone got Busy three times while others were accepted is treated as failed", () => {
    const settings = settingsWith({ batch: { maxEvents: 1, flushDelayMs: 0 } });
    const simulation = new Simulation({ settings, origin: poisoned([1], busy(30)) });
    simulation.arriveEvenly(20, 20 * 60_000);
    simulation.run(HOUR_MS);
    const retries = simulation.requests.filter((request) => request.seqs.includes(1));
    expect(retries.length).toBeGreaterThan(3);
    const [event] = simulation.tenant.aside.all();
    expect(event).toMatchObject({ seq: 1, reason: "failed" });
    expect(event?.charged).toBe(event?.failures);
    expect(event?.charged).toBeGreaterThan(5);
  });

  test("[V7] [V37] a busy event in a batch is found: the batch is taken apart once others were accepted meanwhile", () => {
    const settings = settingsWith({ batch: { maxEvents: 8, flushDelayMs: 0 } });
    const simulation = new Simulation({ settings, origin: poisoned([3], busy(10)) });
    simulation.arriveEvenly(200, HOUR_MS / 2);
    simulation.run(HOUR_MS);
    expect(simulation.tenant.delivered.size).toBe(199);
    expect(simulation.tenant.aside.all()).toMatchObject([{ seq: 3 }]);
  });

  test("[V7] [V37] Busy answers charge nobody, open no breaker and do not slow the retries down", () => {
    const simulation = new Simulation({
      settings: AT_ONCE,
      origin: until(START_MS + HOUR_MS, always({ status: 429 })),
    });
    simulation.arrive(1);
    simulation.run(HOUR_MS);
    expect(simulation.tenant.aside.all()).toMatchObject([{ seq: 1, charged: 0, failures: 0, reason: "busy" }]);
    expect(simulation.tenant.alertLog).not.toContain("+breaker-open");
    simulation.run(901_000);
    expect(simulation.tenant.delivered.size).toBe(1);
  });

  test("[V7] a rate limit of one request in ten seconds: every event arrives, none dead", () => {
    let lastMs = 0;
    const origin: Origin = (post) => {
      if (post.atMs - lastMs < 10_000) return { status: 429, retryAfterSeconds: 10 };
      lastMs = post.atMs;
      return { status: 200 };
    };
    const simulation = new Simulation({ settings: settingsWith({ batch: { maxEvents: 5 } }), origin });
    simulation.arriveEvenly(500, HOUR_MS);
    simulation.run(HOUR_MS);
    simulation.runUntilIdle(24 * HOUR_MS);
    expect(simulation.tenant.delivered.size).toBe(500);
    expect(Math.max(...simulation.accepted.values())).toBe(1);
  });

  test("[V7] with maxInFlight 4 answers that ask for time count one after another, and all events arrive", () => {
    const settings = settingsWith({ maxInFlight: 4, batch: { maxEvents: 2, flushDelayMs: 0 } });
    const simulation = new Simulation({ settings, origin: until(START_MS + 10_000, always(busy(5)), healthy) });
    simulation.arrive(40);
    simulation.run(600_000);
    expect(simulation.tenant.delivered.size).toBe(40);
    expect(trace(simulation.requests).slice(0, 4)).toEqual([
      "fresh 1-2: 503",
      "fresh 3-4: 503",
      "fresh 5-6: 503",
      "fresh 7-8: 503",
    ]);
  });
});

test("[L7] a hold whose end is days ahead, of a clock that was wrong, counts as over", () => {
  const simulation = new Simulation({ settings: AT_ONCE, origin: script(busy(30), ok) });
  simulation.nowMs += 365 * 24 * HOUR_MS;
  simulation.arrive(1);
  simulation.run(100);
  simulation.nowMs -= 365 * 24 * HOUR_MS;
  simulation.run(100);
  expect(simulation.tenant.delivered.size).toBe(1);
});
