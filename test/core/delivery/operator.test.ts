import { describe, expect, test } from "vitest";
import {
  disable,
  drainNow,
  enable,
  pause,
  remove,
  resume,
  unsettledRanges,
} from "../../../src/core/delivery/machine.ts";
import { createRow } from "../../../src/core/delivery/row.ts";
import { always, healthy, poisoned, QUICK, settingsWith } from "./origins.ts";
import { Simulation } from "./simulation.ts";

const AT_ONCE = settingsWith({ batch: { maxEvents: 10, flushDelayMs: 0 } });

describe("pause and resume", () => {
  test("[V18] nothing is sent while it is paused; what is in flight is finished; all goes on after it", () => {
    const simulation = new Simulation({ settings: AT_ONCE, origin: always({ status: 200, latencyMs: 500 }) });
    simulation.arrive(30);
    simulation.run(100);
    simulation.act(pause);
    simulation.run(3_600_000);
    expect(simulation.state()).toBe("paused");
    expect(simulation.requests.length).toBe(1);
    expect(simulation.tenant.delivered.size).toBe(10);
    simulation.act(resume);
    simulation.run(10_000);
    expect(simulation.tenant.delivered.size).toBe(30);
  });

  test("[V18] resume also ends a hold and `disabled`", () => {
    const held = new Simulation({ settings: AT_ONCE, origin: always({ status: 429, retryAfterSeconds: 3_600 }) });
    held.arrive(1);
    held.run(100);
    expect(held.state()).toBe("holding");
    held.act(resume);
    expect(held.state()).toBe("closed");

    const off = new Simulation({ settings: AT_ONCE, origin: healthy });
    off.act((row, live, nowMs) => disable(row, live, "no-address", nowMs));
    off.arrive(1);
    off.run(10_000);
    expect(off.state()).toBe("disabled");
    expect(off.requests.length).toBe(0);
    off.act(resume);
    off.run(10_000);
    expect(off.tenant.delivered.size).toBe(1);
  });

  test("[V18] a changed url ends `disabled` and nothing else", () => {
    const simulation = new Simulation({ settings: AT_ONCE, origin: healthy });
    simulation.act((row, live, nowMs) => disable(row, live, "gone", nowMs));
    simulation.act(pause);
    simulation.act(enable);
    expect(simulation.state()).toBe("paused");
    expect(simulation.row.stoppedSinceMs).not.toBeNull();
  });

  test("[V18] an isolation that a pause interrupts goes on where it was", () => {
    const simulation = new Simulation({ settings: QUICK, origin: poisoned([3], { status: 500 }) });
    simulation.arrive(8);
    simulation.run(10_000, () => simulation.requests.length === 3);
    simulation.act(pause);
    simulation.run(60_000);
    simulation.act(resume);
    simulation.run(1_000);
    expect(simulation.tenant.delivered.size).toBe(7);
    expect(Math.max(...simulation.accepted.values())).toBe(1);
  });
});

test("[V11] [V7] drain changes nothing where nothing is held or open", () => {
  const simulation = new Simulation({ settings: AT_ONCE, origin: healthy });
  const before = JSON.stringify(simulation.row);
  simulation.act(drainNow);
  expect(JSON.stringify(simulation.row)).toBe(before);
});

describe("an event that is moved out by hand", () => {
  test("[X6] while it is in flight: the request is finished, its outcome counts nowhere", () => {
    for (const status of [200, 400, 410, 429, 500]) {
      const simulation = new Simulation({ settings: AT_ONCE, origin: always({ status, latencyMs: 500 }) });
      simulation.arrive(1);
      simulation.run(100);
      simulation.erase(1);
      simulation.run(60_000);
      expect(simulation.tenant.backlog(), `${status}`).toBe(0);
      expect(
        simulation.tenant.delivered.size + simulation.tenant.dead.size + simulation.tenant.aside.all().length,
      ).toBe(0);
      expect(simulation.row.position).toBe(1);
    }
  });

  test("[X6] one of a batch in flight: the others are what is left of it", () => {
    const simulation = new Simulation({ settings: QUICK, origin: poisoned([2], { status: 500, latencyMs: 100 }) });
    simulation.arrive(4);
    simulation.run(250);
    simulation.erase(2);
    simulation.run(10_000);
    expect([...simulation.tenant.delivered.keys()].sort()).toEqual([1, 3, 4]);
    expect(simulation.row.position).toBe(4);
  });

  test.each([1, 2, 3])("[X6] [V26] event %d of a batch that is sent again event by event: the others are", (erased) => {
    let crashes = 2;
    const simulation = new Simulation({
      settings: AT_ONCE,
      origin: () => (crashes-- > 0 ? "crash" : { status: 200 }),
    });
    simulation.arrive(3);
    simulation.run(10_000, () => simulation.crashes === 2);
    simulation.erase(erased);
    simulation.run(10_000);
    expect([...simulation.tenant.delivered.keys()].sort()).toEqual([1, 2, 3].filter((seq) => seq !== erased));
    expect(simulation.row).toMatchObject({ position: 3, inFlight: [] });
  });

  test("[X6] the next one is settled in the row; one further behind is left to the one who loads", () => {
    const simulation = new Simulation({ settings: AT_ONCE, origin: healthy });
    simulation.act(pause);
    simulation.arrive(5);
    simulation.run(100);
    expect(remove(simulation.row, simulation.live, 1)).toMatchObject({ isSettled: true, row: { position: 1 } });
    expect(remove(simulation.row, simulation.live, 3)).toMatchObject({ isSettled: false, row: { position: 0 } });
  });
});

test("[L6] what is neither settled nor set aside, as ranges", () => {
  const row = {
    ...createRow(10),
    settledRanges: [
      [13, 15],
      [20, 30],
    ] as const,
  };
  expect(unsettledRanges(row, 10)).toEqual([]);
  expect(unsettledRanges(row, 12)).toEqual([[11, 12]]);
  expect(unsettledRanges(row, 25)).toEqual([
    [11, 12],
    [16, 19],
  ]);
  expect(unsettledRanges(row, 40)).toEqual([
    [11, 12],
    [16, 19],
    [31, 40],
  ]);
});
