import { describe, expect, test, vi } from "vitest";
import { healthy, poisoned, QUICK, settingsWith } from "./origins.ts";
import { seeded } from "./random.ts";
import { Simulation } from "./simulation.ts";
import { trace } from "./trace.ts";

/** Simulated hours take seconds where the machine is shared. */
vi.setConfig({ testTimeout: 60_000 });

const AT_ONCE = settingsWith({ batch: { maxEvents: 10, flushDelayMs: 0 } });

describe("an event that kills the object", () => {
  test("[V26] [V41] is dead after five unfinished runs; its neighbours are delivered once each", () => {
    for (const seq of [1, 4, 10]) {
      const simulation = new Simulation({ settings: AT_ONCE, origin: poisoned([seq], "crash") });
      simulation.arrive(10);
      simulation.run(60_000);
      expect(simulation.crashes).toBe(5);
      expect([...simulation.tenant.dead.values()]).toMatchObject([{ seq, reason: "crash" }]);
      expect(simulation.tenant.delivered.size).toBe(9);
      expect([...simulation.accepted.values()].every((count) => count === 1)).toBe(true);
    }
  });

  test("[V26] first unchanged with the same batch id, then event by event, one at a time", () => {
    const simulation = new Simulation({ settings: AT_ONCE, origin: poisoned([2], "crash") });
    simulation.arrive(4);
    simulation.run(60_000);
    expect(trace(simulation.requests)).toEqual([
      "fresh 1-4: crash",
      "resend 1-4: crash",
      "resend 1: 200",
      "resend 2: crash",
      "resend 3: 200",
      "resend 4: 200",
      "resend 2: crash",
      "resend 2: crash",
    ]);
    expect(simulation.requests[0]?.batchId).toBe(simulation.requests[1]?.batchId);
  });

  test("[V26] alone in the backlog, or set aside, it is dead after five times too", () => {
    const alone = new Simulation({ settings: AT_ONCE, origin: poisoned([1], "crash") });
    alone.arrive(1);
    alone.run(60_000);
    expect(alone.requests.length).toBe(5);
    expect(alone.tenant.dead.get(1)?.reason).toBe("crash");

    const aside = new Simulation({ settings: AT_ONCE, origin: poisoned([3], { status: 500 }) });
    aside.arrive(10);
    aside.run(500);
    expect(aside.tenant.aside.count("aside")).toBe(1);
    aside.origin = poisoned([3], "crash");
    aside.run(60_000);
    expect(aside.crashes).toBe(5);
    expect(aside.tenant.dead.get(3)?.reason).toBe("crash");
    expect(aside.tenant.aside.count("aside")).toBe(0);
  });

  test("[V26] several of them, with maxInFlight 4: all dead, all others delivered", () => {
    const settings = settingsWith({ maxInFlight: 4, batch: { maxEvents: 5, flushDelayMs: 0 } });
    const simulation = new Simulation({ settings, origin: poisoned([3, 4, 12, 33], "crash") });
    simulation.arrive(40);
    simulation.run(600_000);
    expect([...simulation.tenant.dead.keys()].sort((a, b) => a - b)).toEqual([3, 4, 12, 33]);
    expect(simulation.tenant.delivered.size).toBe(36);
    expect(simulation.crashes).toBeLessThanOrEqual(20);
  });

  test("[V26] a run that ends in between begins the count anew", () => {
    let kills = 4;
    const simulation = new Simulation({
      settings: QUICK,
      origin: (post) =>
        post.seqs.includes(1) && kills-- > 0 ? "crash" : { status: post.seqs.includes(1) ? 500 : 200 },
    });
    simulation.arrive(1);
    simulation.run(500);
    expect(simulation.crashes).toBe(4);
    expect(simulation.tenant.aside.count("aside")).toBe(1);
    kills = 4;
    simulation.run(20_000);
    expect(simulation.crashes).toBe(8);
    expect(simulation.tenant.dead.size).toBe(0);
  });

  test("[V26] as a probe of an open breaker it is dead in the end as well", () => {
    const settings = settingsWith({ batch: { maxEvents: 1, flushDelayMs: 0 } });
    const simulation = new Simulation({ settings, origin: () => ({ status: 500 }) });
    simulation.arrive(11);
    simulation.run(10_000);
    expect(simulation.state()).toBe("open");
    simulation.origin = (post) => (post.seqs.includes(11) ? "crash" : { status: 500 });
    simulation.run(4 * 3_600_000);
    expect(simulation.tenant.dead.get(11)?.reason).toBe("crash");
    expect(simulation.crashes).toBe(5);
  });
});

describe("a kill at any moment", () => {
  test("[V14] nothing is lost, and repeats are at most what was in flight", () => {
    for (let seed = 1; seed <= 10; seed++) {
      const random = seeded(seed);
      const settings = settingsWith({
        maxInFlight: 1 + (seed % 5),
        batch: { maxEvents: 1 + (seed % 9), flushDelayMs: 0 },
        retry: { baseMs: 500, maxMs: 2_000 },
      });
      const origin = () => ({ status: random() < 0.2 ? 500 : 200, latencyMs: Math.floor(random() * 400) });
      const simulation = new Simulation({ settings, origin, seed });
      simulation.arriveEvenly(300, 20_000);
      for (let kill = 0; kill < 12; kill++) {
        simulation.run(450 + Math.floor(random() * 2_000));
        simulation.crash();
        simulation.check();
      }
      simulation.origin = healthy;
      simulation.runUntilIdle(24 * 3_600_000);
      expect(simulation.tenant.delivered.size, `seed ${seed}`).toBe(300);
      for (const [seq, count] of simulation.accepted) {
        expect(count, `seed ${seed}`).toBeLessThanOrEqual(1 + (simulation.crashedWith.get(seq) ?? 0));
      }
    }
  });

  test("[V14] killed after each single step of a search for a culprit: all arrive, none twice but those in flight", () => {
    for (let step = 1; step <= 12; step++) {
      const simulation = new Simulation({ settings: QUICK, origin: poisoned([5], { status: 500 }) });
      simulation.arrive(16);
      simulation.run(10_000, () => simulation.requests.length === step);
      simulation.crash();
      // What a search had found out is forgotten: guilt needs another event, accepted after that.
      simulation.arrive(1, 5_000);
      simulation.run(60_000);
      expect(simulation.tenant.delivered.size, `step ${step}`).toBe(16);
      expect([...simulation.tenant.dead.keys()]).toEqual([5]);
      for (const [seq, count] of simulation.accepted) {
        expect(count).toBeLessThanOrEqual(1 + (simulation.crashedWith.get(seq) ?? 0));
      }
    }
  });
});
