import { describe, expect, test, vi } from "vitest";
import { always, healthy, poisoned, QUICK, type Reply, randomly, settingsWith, until } from "./origins.ts";
import { Simulation } from "./simulation.ts";
import { START_MS } from "./trace.ts";

/** Simulated hours take seconds where the machine is shared. */
vi.setConfig({ testTimeout: 60_000 });

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

describe("one poison event among forty", () => {
  const replies: [string, Reply][] = [
    ["500", { status: 500 }],
    ["400", { status: 400 }],
    ["a hang", "hang"],
    ["a dropped connection", "drop"],
  ];
  for (const [name, reply] of replies) {
    for (const seq of [1, 20, 40]) {
      test(`[V9] [V22] ${name} at ${seq}: 39 delivered once, one dead after four charged attempts`, () => {
        const simulation = new Simulation({ settings: QUICK, origin: poisoned([seq], reply) });
        simulation.arrive(40);
        simulation.run(30_000);
        expect(simulation.tenant.delivered.size).toBe(39);
        expect([...simulation.accepted.values()].every((count) => count === 1)).toBe(true);
        simulation.run(30_000);
        expect([...simulation.tenant.dead.values()]).toMatchObject([{ seq, charged: 4, failures: 4 }]);
        expect(simulation.state()).toBe("closed");
        const alone = simulation.requests.filter((request) => request.seqs.length === 1 && request.seqs[0] === seq);
        expect(alone.length).toBe(4);
      });
    }
  }
});

describe("an origin that fails at random", () => {
  for (const share of [0.5, 0.9]) {
    for (const seed of [1, 2, 3, 4, 5, 6, 7, 8]) {
      test(`[V11] [V22] 502 to ${share * 100} % of requests for an hour, seed ${seed}: none of 5,000 events dead`, () => {
        const origin = until(START_MS + HOUR_MS, randomly(share, { status: 502 }));
        const simulation = new Simulation({ settings: settingsWith(), origin, seed });
        simulation.arriveEvenly(5_000, HOUR_MS);
        simulation.run(HOUR_MS);
        expect(simulation.tenant.dead.size).toBe(0);
        simulation.runUntilIdle(24 * HOUR_MS);
        expect(simulation.tenant.delivered.size).toBe(5_000);
      });
    }
  }
});

test("[V11] 400 to everything for an hour: at most 12 requests before the breaker first opens, none dead", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const origin = until(START_MS + HOUR_MS, always({ status: 400 }));
    const simulation = new Simulation({ settings: settingsWith(), origin, seed });
    simulation.arrive(30);
    simulation.arriveEvenly(2_000, HOUR_MS);
    simulation.run(HOUR_MS, () => simulation.state() === "open");
    expect(simulation.requests.length).toBeLessThanOrEqual(12);
    simulation.run(HOUR_MS);
    expect(simulation.tenant.dead.size).toBe(0);
    simulation.runUntilIdle(24 * HOUR_MS);
    expect(simulation.tenant.delivered.size).toBe(2_030);
  }
});

test("[V7] 503 with Retry-After: 1 for 70 hours: under 400 requests, none dead, all delivered", () => {
  const origin = until(START_MS + 70 * HOUR_MS, always({ status: 503, retryAfterSeconds: 1 }));
  const simulation = new Simulation({ settings: settingsWith(), origin });
  simulation.arrive(500);
  simulation.arriveEvenly(2_000, 70 * HOUR_MS);
  simulation.run(70 * HOUR_MS);
  expect(simulation.requests.length).toBeLessThan(400);
  expect(simulation.tenant.dead.size).toBe(0);
  simulation.runUntilIdle(24 * HOUR_MS);
  expect(simulation.tenant.delivered.size).toBe(2_500);
});

/** 70 hours of this with 100,000 events waiting, and then a healthy origin; answers the requests of the outage. */
function longOutage(reply: Reply): number {
  const origin = until(START_MS + 70 * HOUR_MS, always(reply));
  const simulation = new Simulation({ settings: settingsWith(), origin });
  simulation.arrive(100_000);
  simulation.run(70 * HOUR_MS);
  const requestCount = simulation.requests.length;
  expect(simulation.tenant.dead.size).toBe(0);
  simulation.runUntilIdle(24 * HOUR_MS);
  expect(simulation.tenant.delivered.size).toBe(100_000);
  expect(simulation.state()).toBe("closed");
  return requestCount;
}

for (const [name, reply] of [
  ["503", { status: 503 }],
  ["a hang", "hang"],
  ["a dropped connection", "drop"],
  ["503 with Retry-After: 1", { status: 503, retryAfterSeconds: 1 }],
] as [string, Reply][]) {
  test(`[V12] ${name} for 70 hours with 100,000 events waiting: under 400 requests, none dead, all delivered`, () => {
    expect(longOutage(reply)).toBeLessThan(400);
  });
}

// A refusal may be the one event's own fault, so each round of probes asks with three of them: three times as many.
test("[V11] [V12] 400 for 70 hours with 100,000 events waiting: three probes a round, under 900 requests, none dead, all delivered", () => {
  expect(longOutage({ status: 400 })).toBeLessThan(900);
});

test("[V12] 120 events accepted through an outage of 503s all arrive, none dead", () => {
  const origin = until(START_MS + 2 * MINUTE_MS, always({ status: 503 }));
  const simulation = new Simulation({ settings: settingsWith(), origin });
  simulation.arriveEvenly(120, MINUTE_MS);
  simulation.runUntilIdle(30 * MINUTE_MS);
  expect(simulation.tenant.delivered.size).toBe(120);
  expect(simulation.tenant.dead.size).toBe(0);
});

test("[V24] one event alone is answered 410, others 200: the destination stays enabled", () => {
  for (const seq of [1, 20, 40]) {
    const simulation = new Simulation({ settings: QUICK, origin: poisoned([seq], { status: 410 }) });
    simulation.arrive(40);
    simulation.run(2 * MINUTE_MS);
    expect(simulation.tenant.delivered.size).toBe(39);
    expect([...simulation.tenant.dead.values()]).toMatchObject([{ seq, reason: "refused" }]);
    expect(simulation.state()).toBe("closed");
    expect(simulation.tenant.alertLog).not.toContain("+destination-disabled");
  }
});

test("[V24] [V22] by default, too, one event alone that is answered 410 leaves the destination enabled, and is dead as refused", () => {
  for (const seq of [1, 20, 40]) {
    const simulation = new Simulation({ settings: settingsWith(), origin: poisoned([seq], { status: 410 }) });
    simulation.arrive(40);
    simulation.run(48 * HOUR_MS);
    expect(simulation.tenant.delivered.size).toBe(39);
    expect([...simulation.tenant.dead.values()]).toMatchObject([{ seq, reason: "refused", charged: 15 }]);
    expect(simulation.state()).toBe("closed");
    expect(simulation.tenant.alertLog).not.toContain("+destination-disabled");
  }
});

test("[V9] a known poison without other traffic: an event that arrives meanwhile is delivered within flushDelayMs + 1 s", () => {
  for (const reply of [{ status: 500 }, "hang", "drop", { status: 400 }] as Reply[]) {
    for (const retry of [1, 2, 3, 4, 5, 6]) {
      const simulation = new Simulation({ settings: settingsWith(), origin: poisoned([1], reply) });
      simulation.arrive(2);
      const retries = (): number => simulation.requests.filter((request) => request.lane === "aside").length;
      simulation.run(24 * HOUR_MS, () => retries() === retry);
      expect(simulation.live.flights.length, "the retry is on its way").toBe(1);
      simulation.arrive(1);
      simulation.run(2_000 + 1_000);
      expect(simulation.tenant.delivered.has(3), `${JSON.stringify(reply)}, retry ${retry}`).toBe(true);
    }
  }
});

test("[V11] a poison that came alone: the first arrival is the probe, at once", () => {
  for (const reply of [{ status: 500 }, "hang", "drop", { status: 400 }] as Reply[]) {
    for (const afterMs of [60_000, 600_000, 3_600_000]) {
      const simulation = new Simulation({ settings: settingsWith(), origin: poisoned([1], reply) });
      simulation.arrive(1);
      simulation.arrive(1, afterMs);
      simulation.run(afterMs + 2_000 + 1_000);
      expect(simulation.tenant.delivered.has(2), `${JSON.stringify(reply)} after ${afterMs} ms`).toBe(true);
    }
  }
});

test("[V1] a backlog drains without pauses, at the pace of the origin", () => {
  const simulation = new Simulation({ settings: settingsWith(), origin: healthy });
  simulation.arrive(1_000);
  simulation.runUntilIdle(HOUR_MS);
  expect(simulation.requests.length).toBe(20);
  expect(simulation.nowMs - START_MS).toBeLessThanOrEqual(20 * 20);
});
