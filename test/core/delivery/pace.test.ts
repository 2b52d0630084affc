import { describe, expect, test, vi } from "vitest";
import { settle } from "../../../src/core/delivery/machine.ts";
import { healthy, type Origin, poisoned, type Reply, settingsWith } from "./origins.ts";
import { Simulation } from "./simulation.ts";
import { START_MS, trace } from "./trace.ts";

/** Simulated hours take seconds where the machine is shared. */
vi.setConfig({ testTimeout: 60_000 });

describe("when a batch goes out", () => {
  const cases: { name: string; arrivals: [count: number, afterMs: number][]; sentAtMs: number[]; sizes: number[] }[] = [
    { name: "a lone event after flushDelayMs", arrivals: [[1, 0]], sentAtMs: [2_000], sizes: [1] },
    {
      name: "all that came meanwhile with it, flushDelayMs after the first",
      arrivals: [
        [1, 0],
        [3, 1_500],
      ],
      sentAtMs: [2_000],
      sizes: [4],
    },
    {
      name: "at once when maxEvents is reached",
      arrivals: [
        [10, 0],
        [40, 700],
      ],
      sentAtMs: [700],
      sizes: [50],
    },
    {
      name: "the rest of a burst by its own first event",
      arrivals: [
        [49, 0],
        [11, 500],
      ],
      sentAtMs: [500, 2_500],
      sizes: [50, 10],
    },
  ];
  for (const { name, arrivals, sentAtMs, sizes } of cases) {
    test(`[V1] ${name}`, () => {
      const simulation = new Simulation({ settings: settingsWith(), origin: healthy });
      for (const [count, afterMs] of arrivals) simulation.arrive(count, afterMs);
      simulation.run(60_000);
      expect(simulation.requests.map((request) => request.atMs - START_MS)).toEqual(sentAtMs);
      expect(simulation.requests.map((request) => request.seqs.length)).toEqual(sizes);
    });
  }

  test("[V1] at once when maxBytes is reached; a batch never holds more, but for one event that is larger", () => {
    const simulation = new Simulation({ settings: settingsWith(), origin: healthy });
    simulation.arrive(3, 0, { sizeBytes: 400_000 });
    simulation.arrive(1, 0, { sizeBytes: 1_500_000 });
    simulation.arrive(1, 0, { sizeBytes: 10 });
    simulation.run(1_000);
    expect(trace(simulation.requests)).toEqual(["fresh 1-2: 200", "fresh 3: 200", "fresh 4: 200"]);
    simulation.run(2_000);
    expect(trace(simulation.requests).at(-1)).toBe("fresh 5: 200");
  });

  test("[V1] an event that was received in the future, by a clock that was wrong, does not wait for it", () => {
    const simulation = new Simulation({ settings: settingsWith(), origin: healthy });
    simulation.nowMs += 3_600_000;
    simulation.arrive(1);
    simulation.run(0);
    simulation.nowMs -= 3_600_000;
    simulation.run(10);
    expect(simulation.requests.length).toBe(1);
  });

  test("[V16] events that the filter passes over are settled without a request, however many", () => {
    const simulation = new Simulation({ settings: settingsWith(), origin: healthy, lookAheadMax: 100 });
    simulation.arrive(5_000, 0, { passes: false });
    simulation.arrive(1);
    simulation.arrive(5_000, 0, { passes: false });
    simulation.run(5_000);
    expect(simulation.requests.map((request) => request.seqs)).toEqual([[5_001]]);
    expect(simulation.tenant.filtered.size).toBe(10_000);
    expect(simulation.row.position).toBe(10_001);
  });
});

describe("several requests at once", () => {
  const settings = settingsWith({ maxInFlight: 3, batch: { maxEvents: 2, flushDelayMs: 0 } });

  test("[V13] [V14] at most maxInFlight, and none more than maxInFlight batches beyond the position", () => {
    const slow: Origin = (post) => ({ status: 200, latencyMs: post.seqs.includes(1) ? 5_000 : 10 });
    const simulation = new Simulation({ settings, origin: slow });
    simulation.arrive(40);
    simulation.run(4_000);
    expect(trace(simulation.requests)).toEqual(["fresh 1-2: 200", "fresh 3-4: 200", "fresh 5-6: 200"]);
    expect(simulation.row.position).toBe(0);
    expect(simulation.row.settledRanges).toEqual([[3, 6]]);
    simulation.run(2_000);
    expect(simulation.row.position).toBe(40);
  });

  test("[V13] a destination with one in flight gets a further one only when no other destination waits", () => {
    const simulation = new Simulation({ settings, origin: () => ({ status: 200, latencyMs: 100 }) });
    simulation.otherDestinationsWaiting = true;
    simulation.arrive(8);
    simulation.run(50);
    expect(simulation.requests.length).toBe(1);
    simulation.otherDestinationsWaiting = false;
    simulation.run(1);
    expect(simulation.requests.length).toBe(3);
  });

  test("[V14] a restart leaves what is settled beyond the position alone", () => {
    const slow: Origin = (post) => ({ status: 200, latencyMs: post.seqs.includes(1) ? 5_000 : 10 });
    const simulation = new Simulation({ settings, origin: slow });
    simulation.arrive(6);
    simulation.run(100);
    simulation.crash();
    simulation.origin = healthy;
    simulation.run(1_000);
    expect(trace(simulation.requests).slice(3)).toEqual(["resend 1-2: 200"]);
    expect(simulation.row.position).toBe(6);
  });

  test("[V14] an outcome for a request this destination does not know is dropped", () => {
    const simulation = new Simulation({ settings, origin: () => ({ status: 200, latencyMs: 1_000 }) });
    simulation.arrive(2);
    simulation.run(10);
    const { row, live, settings: used } = simulation;
    const outcome = { kind: "accepted", refusedIds: [], status: 200, excerpt: "", durationMs: 1 } as const;
    const facts = { nowMs: simulation.nowMs, random: 0, settings: used, freshWaiting: false, asideCount: 0 };
    const settlement = settle(row, live, 99, outcome, facts);
    expect(settlement.row).toBe(row);
    expect(settlement.live).toBe(live);
    expect(settlement).toMatchObject({ delivered: [], filtered: [], setAside: [], dead: [] });
  });
});

describe("the pace", () => {
  for (const maxEventsPerSecond of [1, 7, 100]) {
    test(`[V13] maxEventsPerSecond ${maxEventsPerSecond}: never more in any ten seconds`, () => {
      const settings = settingsWith({ maxEventsPerSecond, maxInFlight: 4 });
      const simulation = new Simulation({ settings, origin: healthy });
      simulation.arrive(maxEventsPerSecond * 40);
      simulation.run(39_000);
      const sent = simulation.requests.flatMap((request) => request.seqs.map(() => request.atMs - START_MS));
      for (let fromMs = 0; fromMs < 29_000; fromMs += 500) {
        const count = sent.filter((atMs) => atMs >= fromMs && atMs < fromMs + 10_000).length;
        expect(count).toBeLessThanOrEqual(maxEventsPerSecond * 11);
        expect(count).toBeGreaterThanOrEqual(maxEventsPerSecond * 9);
      }
    });
  }
});

describe("redriven events", () => {
  const dead: Reply = { status: 400 };
  const settings = settingsWith({ batch: { maxEvents: 10, flushDelayMs: 0 }, retry: { maxAttempts: 1 } });

  /** Thirty dead letters. */
  function withDeadLetters(): Simulation {
    const simulation = new Simulation({ settings, origin: (post) => ({ status: 200, refusedIds: post.ids }) });
    simulation.arrive(31);
    simulation.origin = (post) => ({ status: 200, refusedIds: post.ids.filter((id) => id !== "s:31") });
    simulation.run(60_000);
    expect(simulation.tenant.dead.size).toBe(30);
    return simulation;
  }

  test("[X2] go in batches of their own, with fresh attempts", () => {
    const simulation = withDeadLetters();
    const count = simulation.requests.length;
    for (const seq of [...simulation.tenant.dead.keys()]) simulation.tenant.redrive(seq, simulation.nowMs);
    simulation.origin = healthy;
    simulation.run(1_000);
    expect(simulation.tenant.delivered.size).toBe(31);
    expect(simulation.requests.slice(count).every((request) => request.lane === "redrive")).toBe(true);
    expect(simulation.requests.length - count).toBeLessThanOrEqual(4);
  });

  test("[X2] only one that fails again is set aside: batches get smaller until it is alone", () => {
    const simulation = withDeadLetters();
    simulation.settings = settingsWith({ batch: { maxEvents: 10, flushDelayMs: 0 } });
    for (const seq of [...simulation.tenant.dead.keys()]) simulation.tenant.redrive(seq, simulation.nowMs);
    simulation.origin = poisoned([7], dead);
    simulation.run(1_000);
    expect(simulation.tenant.delivered.size).toBe(30);
    expect(simulation.tenant.aside.all()).toMatchObject([{ seq: 7, lane: "aside", failures: 1 }]);
    expect(simulation.tenant.aside.count("redrive")).toBe(0);
  });

  test("[X2] they yield: while fresh events wait they get at most every second request", () => {
    const simulation = withDeadLetters();
    for (const seq of [...simulation.tenant.dead.keys()]) simulation.tenant.redrive(seq, simulation.nowMs);
    simulation.origin = healthy;
    simulation.arrive(100);
    const count = simulation.requests.length;
    simulation.run(1_000);
    const lanes = simulation.requests.slice(count).map((request) => request.lane);
    const whileFreshWait = lanes.slice(lanes.indexOf("fresh"), lanes.lastIndexOf("fresh") + 1);
    expect(whileFreshWait.length).toBeGreaterThan(10);
    expect(whileFreshWait.some((lane, index) => lane === "redrive" && whileFreshWait[index + 1] === "redrive")).toBe(
      false,
    );
    expect(simulation.tenant.delivered.size).toBe(131);
  });
});
