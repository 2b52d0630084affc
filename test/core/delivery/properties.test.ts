import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { drainNow, pause, resume } from "../../../src/core/delivery/machine.ts";
import { healthy, type Origin, type Reply, settingsWith } from "./origins.ts";
import { Simulation } from "./simulation.ts";

/** Simulated hours take seconds where the machine is shared. */
vi.setConfig({ testTimeout: 60_000 });

const HOUR_MS = 3_600_000;

const reply = fc.constantFrom<Reply>(
  { status: 200 },
  { status: 200, latencyMs: 900 },
  { status: 400 },
  { status: 410 },
  { status: 429 },
  { status: 500 },
  { status: 502, latencyMs: 300 },
  { status: 503, retryAfterSeconds: 1 },
  { status: 503, retryAfterSeconds: 4_000 },
  { status: 500, retryAfterSeconds: 30 },
  "hang",
  "drop",
);

/** `crash`: sending the event kills the object [V26]. */
const poison = fc.oneof({ weight: 5, arbitrary: reply }, { weight: 1, arbitrary: fc.constant<Reply>("crash") });

const settings = fc
  .record({
    maxEvents: fc.constantFrom(1, 2, 3, 7, 50),
    flushDelayMs: fc.constantFrom(0, 200, 2_000),
    maxInFlight: fc.integer({ min: 1, max: 5 }),
    ordering: fc.constantFrom("relaxed" as const, "strict" as const),
    maxEventsPerSecond: fc.constantFrom(null, null, 5, 100),
    maxAttempts: fc.constantFrom(1, 4, 15),
    countDestinationFaults: fc.constantFrom(false, false, false, true),
    maxBytes: fc.constantFrom(200, 1_000, 1_000_000),
    giveUpAfterSeconds: fc.constantFrom(120, 259_200, 259_200),
  })
  .map(({ maxEvents, flushDelayMs, maxBytes, maxAttempts, countDestinationFaults, ...rest }) =>
    settingsWith({
      ...rest,
      maxInFlight: rest.ordering === "strict" ? 1 : rest.maxInFlight,
      batch: { maxEvents, flushDelayMs, maxBytes },
      timeoutMs: 5_000,
      retry: { maxAttempts, baseMs: 1_000, maxMs: 20_000, countDestinationFaults },
      circuitBreaker: { openMs: 2_000, openMsMax: 30_000 },
    }),
  );

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("arrive" as const), count: fc.integer({ min: 1, max: 60 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("arrive-filtered" as const), count: fc.integer({ min: 1, max: 9 }) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("time" as const),
      ms: fc.constantFrom(1, 50, 700, 5_000, 60_000, 300_000),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("mood" as const), mood: reply }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("poison" as const), nth: fc.nat(200), reply: poison }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("name" as const), share: fc.constantFrom(0, 0.1, 1) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("crash" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("pause" as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("resume" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("drain" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("redrive" as const) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("erase" as const), nth: fc.nat(30) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("reorder" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("crowd" as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("resize" as const), maxEvents: fc.constantFrom(1, 2, 5, 50) }),
  },
);

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** An origin whose mood changes, with events it never likes, and some that it names. */
class MoodyOrigin {
  mood: Reply = { status: 200 };
  readonly poison = new Map<number, Reply>();
  namedShare = 0;

  readonly answer: Origin = (post, random) => {
    for (const seq of post.seqs) {
      const own = this.poison.get(seq);
      if (own !== undefined) return own;
    }
    if (typeof this.mood === "string" || this.mood.status !== 200) return this.mood;
    return { ...this.mood, refusedIds: post.ids.filter(() => random() < this.namedShare) };
  };
}

test("[V14] [X5] whatever happens, each event is in one state, in flight once, and the position never falls; all arrive in the end", () => {
  fc.assert(
    fc.property(settings, fc.array(step, { minLength: 5, maxLength: 60 }), fc.nat(), (chosen, steps, seed) => {
      const origin = new MoodyOrigin();
      const simulation = new Simulation({ settings: chosen, origin: origin.answer, seed, lookAheadMax: 40 });
      const redriven = new Map<number, number>();
      for (const each of steps) {
        take(simulation, origin, redriven, each);
        simulation.check();
      }
      const { tenant } = simulation;
      simulation.origin = healthy;
      simulation.otherDestinationsWaiting = false;
      simulation.run(10_000);
      simulation.act(resume);
      simulation.runUntilIdle(24 * HOUR_MS);
      expect(tenant.backlog()).toBe(0);
      // Where all died while the breaker was open, the next arrival is the probe, once it is half-open.
      simulation.arrive(1);
      simulation.run(60_000);
      expect(tenant.backlog()).toBe(0);
      expect(simulation.state()).toBe("closed");
      for (const [seq, count] of simulation.accepted) {
        const allowed = 1 + (simulation.crashedWith.get(seq) ?? 0) + (redriven.get(seq) ?? 0);
        expect(count, `times event ${seq} was accepted`).toBeLessThanOrEqual(allowed);
      }
    }),
    { numRuns: 3_000 },
  );
});

function take(simulation: Simulation, origin: MoodyOrigin, redriven: Map<number, number>, each: Step): void {
  const { tenant } = simulation;
  switch (each.kind) {
    case "arrive":
      simulation.arrive(each.count);
      return;
    case "arrive-filtered":
      simulation.arrive(each.count, 0, { passes: false });
      return;
    case "time":
      simulation.run(each.ms);
      return;
    case "mood":
      origin.mood = each.mood;
      return;
    case "poison":
      origin.poison.set(each.nth, each.reply);
      return;
    case "name":
      origin.namedShare = each.share;
      return;
    case "crash":
      simulation.crash();
      return;
    case "pause":
      simulation.act(pause);
      return;
    case "resume":
      simulation.act(resume);
      return;
    case "drain":
      simulation.act(drainNow);
      return;
    case "erase":
      if (each.nth < tenant.log.length) simulation.erase(each.nth + 1);
      return;
    case "reorder":
      if (simulation.live.flights.length > 0) return;
      simulation.reconfigure({
        ...simulation.settings,
        ordering: simulation.settings.ordering === "strict" ? "relaxed" : "strict",
        maxInFlight: 1,
      });
      return;
    case "resize": {
      const { batch } = simulation.settings;
      simulation.reconfigure({ ...simulation.settings, batch: { ...batch, maxEvents: each.maxEvents } });
      return;
    }
    case "crowd":
      simulation.otherDestinationsWaiting = !simulation.otherDestinationsWaiting;
      return;
    case "redrive":
      for (const seq of [...tenant.dead.keys()].slice(0, 20)) {
        tenant.redrive(seq, simulation.nowMs);
        redriven.set(seq, (redriven.get(seq) ?? 0) + 1);
      }
  }
}
