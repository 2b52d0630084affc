import { describe, expect, test, vi } from "vitest";
import { always, poisoned, QUICK, script, settingsWith } from "./origins.ts";
import { Simulation } from "./simulation.ts";
import { trace } from "./trace.ts";

/** Simulated hours take seconds where the machine is shared. */
vi.setConfig({ testTimeout: 60_000 });

describe("the search for a culprit", () => {
  const cases: { name: string; seq: number; lines: string[] }[] = [
    {
      name: "at the head",
      seq: 1,
      lines: [
        "fresh 1-8: 500",
        "isolation 5-8: 200",
        "isolation 1-4: 500",
        "isolation 3-4: 200",
        "isolation 1-2: 500",
        "isolation 2: 200",
        "isolation 1: 500",
      ],
    },
    {
      name: "in the middle",
      seq: 6,
      lines: [
        "fresh 1-8: 500",
        "isolation 5-8: 500",
        "isolation 1-4: 200",
        "isolation 7-8: 200",
        "isolation 5-6: 500",
        "isolation 6: 500",
        "isolation 5: 200",
      ],
    },
    {
      name: "at the end",
      seq: 8,
      lines: [
        "fresh 1-8: 500",
        "isolation 5-8: 500",
        "isolation 1-4: 200",
        "isolation 7-8: 500",
        "isolation 5-6: 200",
        "isolation 8: 500",
        "isolation 7: 200",
      ],
    },
  ];
  for (const { name, seq, lines } of cases) {
    test(`[V9] ${name}: both halves are sent, the later one first; the half that fails is halved again`, () => {
      const simulation = new Simulation({ settings: QUICK, origin: poisoned([seq], { status: 500 }) });
      simulation.arrive(8);
      simulation.run(600);
      expect(trace(simulation.requests)).toEqual(lines);
      expect(simulation.tenant.aside.all()).toMatchObject([{ seq, failures: 1, charged: 1, reason: "failed" }]);
      expect(simulation.row.position).toBe(8);
    });
  }

  test("[V9] per culprit at most 2·⌈log2 n⌉ further requests, wherever it is", () => {
    for (const count of [2, 3, 5, 8, 13, 31, 50]) {
      for (let seq = 1; seq <= count; seq++) {
        const simulation = new Simulation({ settings: QUICK, origin: poisoned([seq], { status: 400 }) });
        simulation.arrive(count);
        simulation.run(10_000, () => simulation.tenant.aside.count("aside") === 1 && simulation.row.position === count);
        const further = simulation.requests.filter((request) => request.lane === "isolation").length;
        expect(further, `${seq} of ${count}`).toBeLessThanOrEqual(2 * Math.ceil(Math.log2(count)));
        expect(simulation.tenant.delivered.size).toBe(count - 1);
      }
    }
  });

  test("[V9] a single later half waits for the other half's answer: then there is contrast, and it is charged", () => {
    const simulation = new Simulation({ settings: QUICK, origin: poisoned([2], { status: 500 }) });
    simulation.arrive(2);
    simulation.run(260);
    expect(trace(simulation.requests)).toEqual(["fresh 1-2: 500", "isolation 2: 500", "isolation 1: 200"]);
    expect(simulation.tenant.aside.all()).toMatchObject([{ seq: 2, charged: 1 }]);
  });
});

describe("neither half succeeds", () => {
  test("[V9] [V13] it counts against the destination, the batch size falls, the events are fresh again", () => {
    const settings = settingsWith({ batch: { maxEvents: 8, flushDelayMs: 0 } });
    const origin = script({ status: 500 }, { status: 500 }, { status: 500 }, { status: 200 });
    const simulation = new Simulation({ settings, origin });
    simulation.arrive(20);
    simulation.run(61, () => simulation.requests.length === 3 && simulation.live.flights.length === 0);
    simulation.run(1_000);
    expect(trace(simulation.requests)).toEqual([
      "fresh 1-8: 500",
      "isolation 5-8: 500",
      "isolation 1-4: 500",
      "fresh 1-4: 200",
      "fresh 5-12: 200",
      "fresh 13-20: 200",
    ]);
    expect(simulation.tenant.aside.count("aside")).toBe(0);
  });

  test("[V11] a batch of which neither half succeeded counts as two", () => {
    const settings = settingsWith({ batch: { maxEvents: 20, flushDelayMs: 0 } });
    const simulation = new Simulation({ settings, origin: always({ status: 500 }) });
    simulation.arrive(100);
    simulation.run(1_000);
    expect(trace(simulation.requests)).toEqual([
      "fresh 1-20: 500",
      "isolation 11-20: 500",
      "isolation 1-10: 500",
      "fresh 1-10: 500",
    ]);
    expect(simulation.state()).toBe("open");
  });

  test("[V9] two culprits in one batch: both end up alone, each neighbour is delivered once", () => {
    for (const [a, b] of [
      [1, 2],
      [1, 40],
      [5, 35],
      [20, 21],
      [39, 40],
    ] as const) {
      const simulation = new Simulation({ settings: QUICK, origin: poisoned([a, b], { status: 500 }) });
      simulation.arrive(40);
      simulation.run(60_000);
      expect(simulation.tenant.delivered.size, `${a} and ${b}`).toBe(38);
      expect([...simulation.accepted.values()].every((count) => count === 1)).toBe(true);
      simulation.run(600_000);
      expect([...simulation.tenant.dead.keys()].sort((x, y) => x - y)).toEqual([a, b]);
    }
  });
});

describe("beside an isolation", () => {
  test("[V9] [V13] with maxInFlight 4 the batches on their way end first, then one request at a time", () => {
    const settings = settingsWith({ maxInFlight: 4, batch: { maxEvents: 4, flushDelayMs: 0 } });
    const simulation = new Simulation({ settings, origin: poisoned([6], { status: 500 }) });
    simulation.arrive(40);
    simulation.run(10_000);
    expect(trace(simulation.requests).slice(0, 10)).toEqual([
      "fresh 1-4: 200",
      "fresh 5-8: 500",
      "fresh 9-12: 200",
      "fresh 13-16: 200",
      "isolation 7-8: 200",
      "isolation 5-6: 500",
      "isolation 6: 500",
      "isolation 5: 200",
      "fresh 17-20: 200",
      "fresh 21-24: 200",
    ]);
    expect(simulation.tenant.delivered.size).toBe(39);
  });

  test("[V9] after a restart it begins anew from what is not settled; what was accepted is not sent again", () => {
    const simulation = new Simulation({ settings: QUICK, origin: poisoned([1], { status: 500 }) });
    simulation.arrive(8);
    simulation.run(10_000, () => simulation.requests.length === 5);
    simulation.crash();
    simulation.run(600);
    expect(trace(simulation.requests).slice(4)).toEqual([
      "isolation 1-2: 500",
      "resend 1-2: 500",
      "isolation 2: 200",
      "isolation 1: 500",
    ]);
    expect(simulation.tenant.delivered.size).toBe(7);
    expect(Math.max(...simulation.accepted.values())).toBe(1);
  });
});

describe("set-aside events", () => {
  test("[V9] while fresh events wait, one that failed gives way until another event was accepted", () => {
    const settings = settingsWith({ batch: { maxEvents: 1, flushDelayMs: 0 }, retry: { baseMs: 1_000, maxMs: 1_000 } });
    const origin = script(
      { status: 500 },
      { status: 500, latencyMs: 5_000 },
      { status: 500, latencyMs: 5_000 },
      { status: 200 },
    );
    const simulation = new Simulation({ settings, origin });
    simulation.arrive(8);
    simulation.run(30_000);
    expect(trace(simulation.requests).slice(0, 6)).toEqual([
      "fresh 1: 500",
      "fresh 2: 500",
      "fresh 3: 500",
      "fresh 4: 200",
      "fresh 5: 200",
      "aside 1: 200",
    ]);
  });

  test("[V9] they are sent alone, and take at most half of the requests while fresh events wait", () => {
    const settings = settingsWith({ batch: { maxEvents: 1, flushDelayMs: 0 }, retry: { baseMs: 100, maxMs: 1_000 } });
    const origin = poisoned([3, 6, 9, 12, 15, 18, 21, 24, 27, 30], { status: 400 });
    const simulation = new Simulation({ settings, origin });
    simulation.arrive(600);
    simulation.run(600_000, () => simulation.row.position >= 600);
    const asideCount = simulation.requests.filter((request) => request.lane === "aside").length;
    expect(asideCount).toBeGreaterThan(50);
    for (let start = 0; start + 40 <= simulation.requests.length; start++) {
      const run = simulation.requests.slice(start, start + 40);
      expect(run.filter((request) => request.lane === "aside").length).toBeLessThanOrEqual(20);
      expect(run.every((request) => request.lane !== "aside" || request.seqs.length === 1)).toBe(true);
    }
  });

  test("[V13] the retry of one that hangs is sent beside the fresh events, and holds none of them up", () => {
    const settings = settingsWith({ batch: { maxEvents: 2, flushDelayMs: 0 }, retry: { baseMs: 1_000, maxMs: 1_000 } });
    const simulation = new Simulation({ settings, origin: poisoned([1], "hang") });
    simulation.arrive(2);
    simulation.run(60_000, () => simulation.requests.at(-1)?.lane === "aside");
    const beganMs = simulation.nowMs;
    simulation.arrive(100);
    simulation.run(9_000, () => simulation.tenant.delivered.size === 101);
    expect(simulation.nowMs - beganMs).toBeLessThan(2_000);
    expect(simulation.live.flights.map((flight) => flight.lane)).toEqual(["aside"]);
  });

  test("[V9] beyond 10,000 the breaker opens, with an alert", () => {
    const settings = settingsWith({ batch: { flushDelayMs: 0 } });
    const simulation = new Simulation({
      settings,
      // Each request delivers one event and names the others.
      origin: (post) => ({ status: 200, refusedIds: post.ids.slice(1) }),
    });
    simulation.arrive(12_000);
    simulation.run(60_000, () => simulation.state() === "open");
    expect(simulation.tenant.aside.count("aside")).toBeGreaterThan(10_000);
    expect(simulation.tenant.aside.count("aside")).toBeLessThanOrEqual(10_049);
    expect(simulation.tenant.alertLog).toEqual(["+breaker-open", "+aside-full"]);
  });
});

test("[V9] [V23] a batch sent again as it was, of which every event is named beside a search: none goes again with it", () => {
  const settings = settingsWith({ maxInFlight: 3, batch: { maxEvents: 2, flushDelayMs: 0 }, timeoutMs: 5_000 });
  const simulation = new Simulation({
    settings,
    origin: ({ seqs, ids, number }) => {
      if (number === 1) return { status: 429 };
      if (seqs.includes(3) && seqs.includes(4)) return "hang";
      return seqs.includes(1) && seqs.includes(2)
        ? { status: 200, refusedIds: ids, latencyMs: 6_000 }
        : { status: 200 };
    },
  });
  simulation.arrive(5);
  simulation.run(20_000);
  expect(trace(simulation.requests)).toContain("isolation 1-2: 200 but 1,2");
  const others = simulation.requests.filter(
    ({ lane, seqs }) => lane !== "aside" && (seqs.includes(1) || seqs.includes(2)),
  );
  expect(trace(others)).toEqual(["fresh 1-2: 429", "isolation 1-2: 200 but 1,2"]);
  expect(simulation.tenant.backlog()).toBe(0);
  expect(Math.max(...simulation.accepted.values())).toBe(1);
});
