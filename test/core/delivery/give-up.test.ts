import { describe, expect, test, vi } from "vitest";
import { pause, resume } from "../../../src/core/delivery/machine.ts";
import { always, healthy, type Origin, poisoned, type Reply, settingsWith, until } from "./origins.ts";
import { Simulation } from "./simulation.ts";
import { START_MS } from "./trace.ts";

/** Simulated hours take seconds where the machine is shared. */
vi.setConfig({ testTimeout: 60_000 });

const HOUR_MS = 3_600_000;
const AT_ONCE = settingsWith({ batch: { flushDelayMs: 0 } });
const DOWN: Reply = { status: 500 };

describe("an outage", () => {
  test("[V12] of less than giveUpAfterSeconds kills no event, tried or not", () => {
    const simulation = new Simulation({ settings: AT_ONCE, origin: until(START_MS + 71 * HOUR_MS, always(DOWN)) });
    simulation.arrive(3_000);
    simulation.run(71 * HOUR_MS);
    expect(simulation.tenant.dead.size).toBe(0);
    simulation.runUntilIdle(24 * HOUR_MS);
    expect(simulation.tenant.delivered.size).toBe(3_000);
  });

  test("[V12] of more: what has waited that long is given up, set aside or not; what came later waits on", () => {
    const simulation = new Simulation({ settings: AT_ONCE, origin: until(START_MS + 80 * HOUR_MS, always(DOWN)) });
    simulation.arrive(1_000);
    simulation.arrive(500, 40 * HOUR_MS);
    simulation.run(73 * HOUR_MS);
    expect(simulation.tenant.dead.size).toBe(1_000);
    expect([...simulation.tenant.dead.values()].every((death) => death.reason === "gave-up")).toBe(true);
    const earliestMs = Math.min(...[...simulation.tenant.dead.values()].map((death) => death.atMs));
    expect(earliestMs).toBeGreaterThanOrEqual(START_MS + 72 * HOUR_MS);
    simulation.runUntilIdle(30 * HOUR_MS);
    expect(simulation.tenant.delivered.size).toBe(500);
  });

  test("[V12] events that the filter passes over are not among the dead", () => {
    const simulation = new Simulation({ settings: AT_ONCE, origin: always(DOWN) });
    simulation.arrive(20);
    simulation.arrive(5, 0, { passes: false });
    simulation.arrive(20);
    simulation.run(74 * HOUR_MS);
    expect(simulation.tenant.dead.size).toBe(40);
    expect(simulation.tenant.filtered.size).toBe(5);
  });

  test("[V12] time paused does not count", () => {
    const simulation = new Simulation({ settings: AT_ONCE, origin: always(DOWN) });
    simulation.arrive(100);
    simulation.run(10 * HOUR_MS);
    simulation.act(pause);
    simulation.run(200 * HOUR_MS);
    expect(simulation.state()).toBe("paused");
    simulation.act(resume);
    simulation.run(61 * HOUR_MS);
    expect(simulation.tenant.dead.size).toBe(0);
    simulation.run(2 * HOUR_MS);
    expect(simulation.tenant.dead.size).toBe(100);
  });

  test("[V12] a destination nobody looked after for days is tried first: sleeping is not failing", () => {
    const simulation = new Simulation({ settings: AT_ONCE, origin: healthy });
    simulation.arrive(100);
    simulation.act(pause);
    simulation.run(1_000);
    // The alarm was lost: the clock moves, nothing is asked.
    simulation.nowMs += 100 * HOUR_MS;
    simulation.row = { ...simulation.row, paused: false, stoppedSinceMs: null, stops: [] };
    simulation.run(60_000);
    expect(simulation.tenant.dead.size).toBe(0);
    expect(simulation.tenant.delivered.size).toBe(100);
  });

  test("[V12] [V40] one failed attempt long ago does not make it one either", () => {
    const simulation = new Simulation({ settings: AT_ONCE, origin: until(START_MS + 1_000, always(DOWN)) });
    simulation.arrive(100);
    simulation.run(900);
    simulation.nowMs += 100 * HOUR_MS;
    simulation.run(2 * HOUR_MS);
    expect(simulation.tenant.dead.size).toBe(0);
    expect(simulation.tenant.delivered.size).toBe(100);
  });
});

describe("a destination that accepts others", () => {
  test("[V12] gives an event up that waited that long and failed again, uncharged", () => {
    // Nine in ten are never reached: one in three requests fails at random, so nobody is charged for long.
    const origin: Origin = (post, random) => {
      if (post.seqs.includes(1)) return DOWN;
      return random() < 0.45 ? DOWN : { status: 200 };
    };
    const settings = settingsWith({
      batch: { maxEvents: 1, flushDelayMs: 0 },
      retry: { maxAttempts: 50, maxMs: 600_000 },
      giveUpAfterSeconds: 3_600,
    });
    const simulation = new Simulation({ settings, origin });
    simulation.arriveEvenly(600, 3 * HOUR_MS);
    simulation.run(3 * HOUR_MS);
    const death = simulation.tenant.dead.get(1);
    expect(death?.reason).toBe("gave-up");
    expect(death?.charged).toBeLessThan(50);
    expect((death?.atMs ?? 0) - START_MS).toBeGreaterThanOrEqual(HOUR_MS);
  });

  test("[V12] never gives up an event that was not tried, however slow it is", () => {
    const settings = settingsWith({ batch: { maxEvents: 1, flushDelayMs: 0 }, giveUpAfterSeconds: 3_600 });
    const simulation = new Simulation({ settings, origin: always({ status: 200, latencyMs: 9_000 }) });
    simulation.arrive(2_000);
    simulation.run(6 * HOUR_MS);
    expect(simulation.tenant.dead.size).toBe(0);
    expect(simulation.tenant.delivered.size).toBe(2_000);
  });
});

test("[V12] a redriven event waits anew", () => {
  const settings = settingsWith({ batch: { flushDelayMs: 0 }, giveUpAfterSeconds: 3_600 });
  const simulation = new Simulation({ settings, origin: poisoned([1], DOWN) });
  simulation.arrive(1);
  simulation.run(2 * HOUR_MS);
  expect(simulation.tenant.dead.get(1)?.reason).toBe("gave-up");
  simulation.tenant.redrive(1, simulation.nowMs);
  simulation.run(HOUR_MS - 60_000);
  expect(simulation.tenant.dead.has(1)).toBe(false);
  simulation.run(HOUR_MS);
  expect(simulation.tenant.dead.get(1)?.reason).toBe("gave-up");
});
