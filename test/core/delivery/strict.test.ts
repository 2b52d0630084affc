import { describe, expect, test, vi } from "vitest";
import { remove } from "../../../src/core/delivery/machine.ts";
import { always, healthy, type Origin, poisoned, type Reply, script, settingsWith, until } from "./origins.ts";
import { Simulation } from "./simulation.ts";
import { START_MS, trace } from "./trace.ts";

/** Simulated hours take seconds where the machine is shared. */
vi.setConfig({ testTimeout: 60_000 });

const HOUR_MS = 3_600_000;
const STRICT = settingsWith({
  ordering: "strict",
  batch: { flushDelayMs: 0 },
  retry: { maxAttempts: 3, baseMs: 1_000, maxMs: 2_000 },
});
const REFUSED: Reply = { status: 400 };
const DOWN: Reply = { status: 500 };

describe("a culprit", () => {
  test("[V15] a batch that is refused is halved from the front; a refused head is charged, and when dead lets the next pass", () => {
    const simulation = new Simulation({ settings: STRICT, origin: poisoned([6], REFUSED) });
    simulation.arrive(8);
    simulation.run(60_000);
    expect(trace(simulation.requests)).toEqual([
      "fresh 1-8: 400",
      "isolation 1-4: 200",
      "isolation 5-6: 400",
      "isolation 5: 200",
      "isolation 6: 400",
      "fresh 6: 400",
      "fresh 6: 400",
      "fresh 7-8: 200",
    ]);
    expect([...simulation.tenant.dead.values()]).toMatchObject([{ seq: 6, reason: "refused", charged: 3 }]);
  });

  test("[V15] events arrive at the destination in order, whatever fails", () => {
    for (let seed = 1; seed <= 20; seed++) {
      const arrived: number[] = [];
      const origin: Origin = (post, random) => {
        const share = random();
        if (share < 0.2) return { status: 502 };
        if (share < 0.3) return { status: 429 };
        if (share < 0.4) return REFUSED;
        arrived.push(...post.seqs);
        return { status: 200 };
      };
      const simulation = new Simulation({ settings: STRICT, origin: until(START_MS + HOUR_MS, origin), seed });
      simulation.arriveEvenly(300, HOUR_MS / 2);
      simulation.runUntilIdle(24 * HOUR_MS);
      expect(arrived, `seed ${seed}`).toEqual([...arrived].sort((a, b) => a - b));
      expect(new Set(arrived).size).toBe(arrived.length);
    }
  });

  test("[V15] from the first named event on everything counts as not accepted", () => {
    const origin: Origin = (post) => ({
      status: 200,
      refusedIds: post.ids.filter((id) => id === "s:3" || id === "s:5"),
    });
    const simulation = new Simulation({ settings: STRICT, origin });
    simulation.arrive(6);
    simulation.run(60_000);
    expect(trace(simulation.requests)).toEqual([
      "fresh 1-6: 200 but 3,5",
      "fresh 3: 200 but 3",
      "fresh 3: 200 but 3",
      "fresh 4-6: 200 but 5",
      "fresh 5: 200 but 5",
      "fresh 5: 200 but 5",
      "fresh 6: 200",
    ]);
    expect([...simulation.tenant.dead.keys()]).toEqual([3, 5]);
    expect([...simulation.tenant.delivered.keys()]).toEqual([1, 2, 4, 6]);
  });
});

describe("a head that fails", () => {
  test("[V15] is the destination's fault: never charged, it blocks until the give-up time, then the next passes", () => {
    const settings = settingsWith({ ...STRICT, giveUpAfterSeconds: 3_600 });
    const simulation = new Simulation({ settings, origin: poisoned([1], DOWN) });
    simulation.arrive(2);
    simulation.arrive(1, HOUR_MS / 2);
    simulation.run(HOUR_MS - 1_000);
    expect(simulation.tenant.delivered.size).toBe(0);
    expect(simulation.row.head).toMatchObject({ seq: 1, charged: 0 });
    simulation.run(HOUR_MS);
    expect(simulation.tenant.dead.get(1)).toMatchObject({ reason: "gave-up", charged: 0 });
    expect(simulation.tenant.delivered.size).toBeGreaterThan(0);
  });

  test("[V15] [O9] after 15 minutes an alert names it, which its delivery clears", () => {
    const origin = until(START_MS + HOUR_MS, always(DOWN));
    const simulation = new Simulation({ settings: STRICT, origin });
    simulation.arrive(5);
    simulation.run(14 * 60_000);
    expect(simulation.tenant.alerts.has("head-blocked")).toBe(false);
    simulation.run(20 * 60_000);
    expect(simulation.tenant.alerts.has("head-blocked")).toBe(true);
    simulation.run(HOUR_MS);
    expect(simulation.tenant.alerts.size).toBe(0);
    expect(simulation.tenant.delivered.size).toBe(5);
  });

  test("[V15] probes repeat the head", () => {
    const simulation = new Simulation({ settings: STRICT, origin: always(DOWN) });
    simulation.arrive(30);
    simulation.run(10 * 60_000);
    const probes = simulation.requests.filter((request) => request.lane === "probe");
    expect(probes.length).toBeGreaterThan(1);
    expect(probes.every((request) => request.seqs.length === 1 && request.seqs[0] === 1)).toBe(true);
  });

  test("[V15] [V42] an outage of 70 hours: under 400 requests, none dead, all delivered in order", () => {
    const simulation = new Simulation({ settings: STRICT, origin: until(START_MS + 70 * HOUR_MS, always(DOWN)) });
    simulation.arrive(5_000);
    simulation.run(70 * HOUR_MS);
    expect(simulation.requests.length).toBeLessThan(400);
    expect(simulation.tenant.dead.size).toBe(0);
    simulation.runUntilIdle(HOUR_MS);
    expect([...simulation.tenant.delivered.keys()]).toEqual(Array.from({ length: 5_000 }, (_, index) => index + 1));
  });

  test("[V15] moved out of the way by hand, it lets the next pass", () => {
    const simulation = new Simulation({ settings: STRICT, origin: poisoned([1], DOWN) });
    simulation.arrive(3);
    simulation.run(10_000);
    simulation.run(600_000, () => simulation.live.flights.length === 0);
    const { row, live, isSettled } = remove(simulation.row, simulation.live, 1);
    expect(isSettled).toBe(true);
    expect(row.head).toBeNull();
    simulation.row = row;
    simulation.live = live;
    simulation.tenant.die(1, "exhausted", null, simulation.nowMs);
    simulation.run(1_000_000);
    expect([...simulation.tenant.delivered.keys()]).toEqual([2, 3]);
  });
});

test("[V15] a Busy answer holds, and the same events go again", () => {
  const simulation = new Simulation({ settings: STRICT, origin: script({ status: 503, retryAfterSeconds: 300 }) });
  simulation.origin = (post) => (post.number === 1 ? { status: 503, retryAfterSeconds: 300 } : { status: 200 });
  simulation.arrive(60);
  simulation.run(299_000);
  expect(trace(simulation.requests)).toEqual(["fresh 1-50: 503"]);
  simulation.run(10_000);
  expect(trace(simulation.requests)).toEqual(["fresh 1-50: 503", "fresh 1-50: 200", "fresh 51-60: 200"]);
});

test("[V15] redriven events go when due, outside the order, also past a head that blocks", () => {
  const simulation = new Simulation({ settings: STRICT, origin: poisoned([1], REFUSED) });
  simulation.arrive(2);
  simulation.run(20_000);
  expect([...simulation.tenant.dead.keys()]).toEqual([1]);
  simulation.origin = poisoned([3], DOWN);
  simulation.arrive(2);
  simulation.run(3_000);
  expect(simulation.row.head?.seq).toBe(3);
  simulation.tenant.redrive(1, simulation.nowMs);
  simulation.run(200_000);
  expect(simulation.tenant.delivered.has(1)).toBe(true);
  expect(simulation.tenant.delivered.has(4)).toBe(false);
});

test("[V15] [V26] what was in flight when the object was killed goes first, and nothing passes it", () => {
  const simulation = new Simulation({ settings: STRICT, origin: healthy });
  simulation.origin = (post) => (post.number <= 2 ? "crash" : { status: 200 });
  simulation.arrive(4);
  simulation.arrive(4, 1_000);
  simulation.run(10_000);
  expect(trace(simulation.requests)).toEqual([
    "fresh 1-4: crash",
    "resend 1-4: crash",
    "resend 1: 200",
    "resend 2: 200",
    "resend 3: 200",
    "resend 4: 200",
    "fresh 5-8: 200",
  ]);
});
