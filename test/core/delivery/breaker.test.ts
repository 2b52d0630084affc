import { describe, expect, test, vi } from "vitest";
import { drainNow } from "../../../src/core/delivery/machine.ts";
import { always, healthy, type Origin, poisoned, type Reply, script, settingsWith } from "./origins.ts";
import { Simulation } from "./simulation.ts";
import { START_MS, timedTrace, trace } from "./trace.ts";

/** Simulated hours take seconds where the machine is shared. */
vi.setConfig({ testTimeout: 60_000 });

const SINGLES = settingsWith({ batch: { maxEvents: 1, flushDelayMs: 0 } });
const AT_ONCE = settingsWith({ batch: { flushDelayMs: 0 } });
const DOWN: Reply = { status: 500 };

/** A destination whose breaker has just been opened by ten different events, with more waiting. */
function opened(settings = SINGLES, events = 100): Simulation {
  const simulation = new Simulation({ settings, origin: always(DOWN) });
  simulation.arrive(events);
  simulation.run(10_000, () => simulation.state() === "open");
  return simulation;
}

function openForMs(simulation: Simulation): number {
  const { breaker } = simulation.row;
  return breaker.state === "open" ? breaker.untilMs - simulation.nowMs : 0;
}

/** Lets the time pass until the breaker sends its next probe, and that is answered. */
function probe(simulation: Simulation, reply: Reply): void {
  const count = simulation.requests.length;
  simulation.origin = always(reply);
  simulation.run(3_600_000, () => simulation.requests.length > count);
  simulation.run(100);
}

describe("closed → open", () => {
  test("[V11] five requests in a row that held ten different events", () => {
    const simulation = opened();
    expect(simulation.requests.length).toBe(10);
    expect(simulation.tenant.alertLog).toEqual(["+breaker-open"]);
  });

  test("[V11] four in a row, then an accepted one: nothing", () => {
    const settings = settingsWith({ batch: { maxEvents: 5, flushDelayMs: 0 } });
    const simulation = new Simulation({ settings, origin: script(DOWN, DOWN, DOWN, DOWN, { status: 200 }) });
    simulation.arrive(5);
    simulation.run(3_600_000);
    expect(simulation.tenant.alertLog).toEqual([]);
    expect(simulation.state()).toBe("closed");
  });

  test("[V11] five in a row that held all that waits", () => {
    const simulation = new Simulation({ settings: SINGLES, origin: always(DOWN) });
    simulation.arrive(1);
    simulation.run(3_600_000, () => simulation.state() === "open");
    expect(trace(simulation.requests)).toEqual(["fresh 1: 500", ...Array(4).fill("aside 1: 500")]);
  });

  test("[V11] 18 of the last 20 results, though one in ten is accepted; 17 are not enough", () => {
    const settings = settingsWith({ batch: { maxEvents: 1, flushDelayMs: 0 }, retry: { scheduleSeconds: [3_600] } });
    const oneIn =
      (count: number): Origin =>
      (post) =>
        post.number % count === 1 ? { status: 200 } : DOWN;
    const simulation = new Simulation({ settings, origin: oneIn(10) });
    simulation.arrive(2_000);
    simulation.run(10_000, () => simulation.state() === "open");
    expect(simulation.requests.length).toBe(20);
    const better = new Simulation({ settings, origin: oneIn(6) });
    better.arrive(2_000);
    better.run(20_000);
    expect(better.requests.length).toBeGreaterThan(900);
    expect(better.state()).toBe("closed");
  });

  test("[V11] an attempt of an event since whose first failure another one was accepted counts for nothing", () => {
    const settings = settingsWith({ batch: { flushDelayMs: 0 }, retry: { maxAttempts: 50, maxMs: 1_000 } });
    const simulation = new Simulation({ settings, origin: poisoned([1], DOWN) });
    simulation.arrive(2);
    simulation.run(40_000);
    expect(simulation.requests.length).toBeGreaterThan(20);
    expect(simulation.tenant.alertLog).toEqual([]);
    expect(simulation.state()).toBe("closed");
  });

  test("[V11] it opens for 60 s ±20 %, and forgets the results", () => {
    const times = Array.from({ length: 40 }, (_, seed) => {
      const simulation = new Simulation({ settings: SINGLES, origin: always(DOWN), seed });
      simulation.arrive(20);
      simulation.run(10_000, () => simulation.state() === "open");
      expect(simulation.row.results).toEqual([]);
      return openForMs(simulation);
    });
    expect(Math.min(...times)).toBeGreaterThanOrEqual(48_000);
    expect(Math.max(...times)).toBeLessThanOrEqual(72_000);
    expect(Math.max(...times) - Math.min(...times)).toBeGreaterThan(12_000);
  });
});

describe("open", () => {
  test("[V11] nothing is sent, whatever arrives", () => {
    const simulation = opened();
    simulation.arriveEvenly(500, 40_000);
    simulation.run(45_000);
    expect(simulation.requests.length).toBe(10);
  });

  test("[V11] [V39] an arrival is the probe at once where fewer than ten different events opened it", () => {
    const simulation = new Simulation({ settings: settingsWith(), origin: poisoned([1, 2, 3], DOWN) });
    simulation.arrive(3);
    simulation.run(3_600_000, () => simulation.state() === "open");
    simulation.arrive(1);
    simulation.run(100);
    expect(trace(simulation.requests).at(-1)).toBe("probe 4: 200");
    expect(simulation.state()).toBe("closed");
  });

  test("[V11] once ten different events have failed, an arrival is no probe any more", () => {
    const simulation = new Simulation({ settings: SINGLES, origin: always(DOWN) });
    simulation.arrive(1);
    simulation.run(3_600_000, () => simulation.state() === "open");
    for (let index = 0; index < 30; index++) {
      simulation.arrive(1);
      simulation.run(100);
    }
    const probes = trace(simulation.requests).filter((line) => line.startsWith("probe"));
    expect(probes.length).toBe(9);
    expect(simulation.state()).toBe("open");
  });

  test("[V11] the state survives eviction and restart", () => {
    const simulation = opened();
    simulation.crash();
    expect(simulation.state()).toBe("open");
    simulation.run(40_000);
    expect(simulation.requests.length).toBe(10);
  });

  test("[V11] POST drain probes now", () => {
    const simulation = opened();
    simulation.act(drainNow);
    simulation.run(10);
    expect(trace(simulation.requests).at(-1)).toBe("probe 11: 500");
  });
});

describe("half-open", () => {
  test("[V11] [V13] accepted → closed; the batch size begins at 1 and doubles", () => {
    const simulation = opened();
    probe(simulation, { status: 200 });
    expect(simulation.state()).toBe("closed");
    expect(simulation.tenant.alertLog).toEqual(["+breaker-open", "-breaker-open"]);
    const again = opened(AT_ONCE, 400);
    again.origin = healthy;
    again.run(80_000);
    const batches = again.requests.filter((request) => request.lane === "fresh" && request.reply !== DOWN);
    expect(batches.slice(0, 8).map((request) => request.seqs.length)).toEqual([1, 2, 4, 8, 16, 32, 50, 50]);
  });

  test("[V11] failed → open again, twice as long, up to 15 minutes; each time another event", () => {
    const simulation = opened();
    const openMs: number[] = [];
    for (let index = 0; index < 7; index++) {
      probe(simulation, DOWN);
      expect(simulation.state()).toBe("open");
      openMs.push(simulation.row.breaker.state === "open" ? simulation.row.breaker.openForMs : 0);
    }
    expect(openMs).toEqual([120_000, 240_000, 480_000, 900_000, 900_000, 900_000, 900_000]);
    const probes = simulation.requests.filter((request) => request.lane === "probe");
    expect(probes.map((request) => request.seqs)).toEqual([[11], [12], [13], [14], [15], [16], [17]]);
  });

  test("[V11] a hang is one probe in flight, not one more", () => {
    const simulation = opened();
    probe(simulation, "hang");
    expect(simulation.live.flights.length).toBe(1);
    simulation.run(9_000);
    expect(simulation.requests.length).toBe(11);
  });

  test("[V11] the object crashed during the probe → open again, longer", () => {
    const simulation = opened();
    simulation.origin = always("crash");
    simulation.run(80_000, () => simulation.crashes === 1);
    expect(simulation.state()).toBe("open");
    expect(openForMs(simulation)).toBeGreaterThan(90_000);
    simulation.origin = healthy;
    simulation.run(150_000);
    expect(simulation.state()).toBe("closed");
    expect(simulation.tenant.delivered.size).toBeGreaterThan(80);
  });

  test("[V11] refused → the next event at once; three different ones refused → open again, longer", () => {
    const simulation = opened();
    const count = simulation.requests.length;
    simulation.origin = always({ status: 400 });
    simulation.run(80_000, () => simulation.requests.length > count);
    simulation.run(1_000);
    expect(trace(simulation.requests).slice(count)).toEqual(["probe 11: 400", "probe 12: 400", "probe 13: 400"]);
    expect(simulation.state()).toBe("open");
    expect(simulation.row.breaker).toMatchObject({ openForMs: 120_000 });
  });

  test("[V11] one refused, the next accepted → closed", () => {
    const simulation = opened();
    simulation.origin = (post) => ({ status: post.seqs[0] === 11 ? 400 : 200 });
    simulation.run(80_000);
    expect(trace(simulation.requests).slice(10, 12)).toEqual(["probe 11: 400", "probe 12: 200"]);
    expect(simulation.state()).toBe("closed");
  });

  test("[V11] busy → half-open after the hold, then another event", () => {
    const simulation = opened();
    probe(simulation, { status: 503, retryAfterSeconds: 20 });
    expect(simulation.state()).toBe("holding");
    simulation.origin = healthy;
    simulation.run(19_000);
    expect(simulation.state()).toBe("holding");
    simulation.run(2_000, () => simulation.state() === "closed");
    expect(trace(simulation.requests).slice(10, 12)).toEqual(["probe 11: 503", "probe 12: 200"]);
  });

  test("[V11] nothing waiting → the next arrival is the probe, at once", () => {
    const settings = settingsWith({ batch: { maxEvents: 1 }, retry: { maxAttempts: 1, countDestinationFaults: true } });
    const simulation = new Simulation({ settings, origin: always(DOWN) });
    simulation.arrive(12);
    simulation.run(200_000, () => simulation.tenant.backlog() === 0);
    simulation.run(1_000_000);
    expect(simulation.state()).toBe("half-open");
    simulation.origin = healthy;
    simulation.arrive(1);
    simulation.run(100);
    expect(trace(simulation.requests).at(-1)).toBe("probe 13: 200");
    expect(simulation.state()).toBe("closed");
  });

  test("[V11] where only set-aside events wait they are probed in turn, whenever they are due", () => {
    const settings = settingsWith({ batch: { maxEvents: 1, flushDelayMs: 0 }, retry: { baseMs: 3_600_000 } });
    const simulation = new Simulation({ settings, origin: always(DOWN) });
    simulation.arrive(10);
    simulation.run(1_000);
    expect(simulation.state()).toBe("open");
    simulation.run(500_000);
    const probed = simulation.requests.slice(10).map((request) => request.seqs[0] ?? 0);
    expect(probed.length).toBe(3);
    expect(new Set(probed).size).toBe(3);
    simulation.origin = healthy;
    simulation.run(1_000_000, () => simulation.state() === "closed");
    expect(simulation.state()).toBe("closed");
  });

  test("[V11] a set-aside event that hangs as the probe does not keep an arrival waiting", () => {
    const simulation = new Simulation({ settings: settingsWith({ timeoutMs: 60_000 }), origin: poisoned([1], "hang") });
    simulation.arrive(1);
    simulation.run(3_600_000, () => simulation.state() === "half-open" && simulation.live.flights.length === 1);
    simulation.arrive(1);
    simulation.run(100);
    expect(simulation.tenant.delivered.has(2)).toBe(true);
    expect(simulation.state()).toBe("closed");
  });
});

describe("under way when it opens", () => {
  test("[V11] nothing is charged while it is open, and an accepted answer is one", () => {
    const settings = settingsWith({ maxInFlight: 3, batch: { maxEvents: 10, flushDelayMs: 0 } });
    const origin: Origin = (post) => {
      if (post.seqs.includes(1)) return { status: 200, latencyMs: 5_000 };
      return post.seqs.includes(21) ? { status: 500, latencyMs: 6_000 } : { status: 500, latencyMs: 10 };
    };
    const simulation = new Simulation({ settings, origin });
    simulation.arrive(30);
    simulation.run(20_000);
    expect(simulation.tenant.delivered.size).toBe(10);
    expect(simulation.tenant.aside.all().every((event) => event.charged === 0)).toBe(true);
  });
});

test("[V11] a dead origin for a day with five events a minute: one probe per cool-down", () => {
  const simulation = new Simulation({ settings: settingsWith(), origin: always(DOWN) });
  simulation.arriveEvenly(7_200, 86_400_000);
  simulation.run(86_400_000);
  expect(simulation.requests.length).toBeLessThan(130);
  expect(simulation.tenant.dead.size).toBe(0);
});

test("[V11] a script of answers, second by second", () => {
  const settings = settingsWith({ batch: { maxEvents: 20, flushDelayMs: 0 }, circuitBreaker: { openMs: 10_000 } });
  const origin = script(DOWN, DOWN, DOWN, DOWN, DOWN, DOWN, { status: 200 });
  const simulation = new Simulation({ settings, origin });
  simulation.arrive(24);
  simulation.run(120_000);
  expect(timedTrace(simulation.requests).map((line) => line.replace(/^\d+ /, ""))).toEqual([
    "fresh 1-20: 500",
    "isolation 11-20: 500",
    "isolation 1-10: 500",
    "fresh 1-10: 500",
    "probe 1: 500",
    "probe 2: 500",
    "probe 3: 200",
    "fresh 4: 200",
    "aside 1: 200",
    "fresh 5-6: 200",
    "aside 2: 200",
    "fresh 7-10: 200",
    "fresh 11-18: 200",
    "fresh 19-24: 200",
  ]);
  expect(START_MS).toBeLessThan(simulation.nowMs);
});

test("[V13] [V11] a set-aside event that is still on its way when the breaker opens: no other one is the probe beside it", () => {
  const settings = settingsWith({
    maxInFlight: 5,
    maxEventsPerSecond: 5,
    batch: { maxEvents: 1, flushDelayMs: 0 },
    timeoutMs: 5_000,
    circuitBreaker: { openMs: 2_000, openMsMax: 30_000 },
  });
  const simulation = new Simulation({ settings, origin: always("hang") });
  simulation.arrive(11);
  let most = 0;
  simulation.run(60_000, () => {
    most = Math.max(most, simulation.live.flights.filter((flight) => !flight.inLog).length);
    return false;
  });
  expect(simulation.state()).not.toBe("closed");
  expect(most).toBe(1);
});
