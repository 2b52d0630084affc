import { describe, expect, test } from "vitest";
import { type Origin, QUICK, settingsWith } from "./origins.ts";
import { Simulation } from "./simulation.ts";
import { trace } from "./trace.ts";

const AT_ONCE = settingsWith({ batch: { flushDelayMs: 0 } });

function naming(...seqs: number[]): Origin {
  return (post) => ({ status: 200, refusedIds: post.ids.filter((id) => seqs.includes(Number(id.slice(2)))) });
}

describe("batchItemFailures", () => {
  test("[V23] the named are refused and charged, the rest is accepted, in one write", () => {
    const simulation = new Simulation({ settings: AT_ONCE, origin: naming(2, 5) });
    simulation.arrive(6);
    simulation.run(100);
    expect(trace(simulation.requests)).toEqual(["fresh 1-6: 200 but 2,5"]);
    expect([...simulation.tenant.delivered.keys()]).toEqual([1, 3, 4, 6]);
    expect(simulation.tenant.aside.all().map(({ seq, charged, reason }) => ({ seq, charged, reason }))).toEqual(
      expect.arrayContaining([
        { seq: 2, charged: 1, reason: "refused" },
        { seq: 5, charged: 1, reason: "refused" },
      ]),
    );
    expect(simulation.row.position).toBe(6);
    expect(simulation.row.settledRanges).toEqual([]);
  });

  test("[V23] ids that are not in the batch change nothing", () => {
    const simulation = new Simulation({
      settings: AT_ONCE,
      origin: () => ({ status: 200, refusedIds: ["s:99", "x"] }),
    });
    simulation.arrive(3);
    simulation.run(100);
    expect(simulation.tenant.delivered.size).toBe(3);
  });

  test("[V22] [V43] an answer that names all of several charges nobody; the breaker opens after enough of them", () => {
    const simulation = new Simulation({ settings: AT_ONCE, origin: (post) => ({ status: 200, refusedIds: post.ids }) });
    simulation.arrive(400);
    simulation.run(10_000);
    expect(simulation.state()).toBe("open");
    expect(simulation.requests.length).toBeLessThanOrEqual(12);
    expect(simulation.tenant.aside.all().every((event) => event.charged === 0)).toBe(true);
  });

  test("[V23] [V10] an event that is always named is dead after maxAttempts, the others delivered once", () => {
    const simulation = new Simulation({ settings: QUICK, origin: naming(3) });
    simulation.arrive(10);
    simulation.run(60_000);
    expect([...simulation.tenant.dead.values()]).toMatchObject([{ seq: 3, reason: "refused", charged: 4 }]);
    expect([...simulation.accepted.values()].every((count) => count === 1)).toBe(true);
  });

  test("[V23] within a search for a culprit too", () => {
    const origin: Origin = (post) => {
      if (post.seqs.includes(1)) return { status: 500 };
      return { status: 200, refusedIds: post.ids.filter((id) => id === "s:6") };
    };
    const simulation = new Simulation({ settings: QUICK, origin });
    simulation.arrive(8);
    simulation.run(60_000);
    expect(simulation.tenant.delivered.size).toBe(6);
    expect([...simulation.tenant.dead.keys()].sort()).toEqual([1, 6]);
  });
});

describe("countDestinationFaults", () => {
  const settings = settingsWith({
    batch: { maxEvents: 4, flushDelayMs: 0 },
    retry: { maxAttempts: 5, baseMs: 1_000, maxMs: 2_000, countDestinationFaults: true },
    circuitBreaker: { openMs: 1_000, openMsMax: 2_000 },
  });

  test("[V6] every failed attempt is charged to its events, whatever the cause: N attempts, then dead letter", () => {
    const simulation = new Simulation({ settings, origin: () => ({ status: 500 }) });
    simulation.arrive(12);
    simulation.run(600_000);
    expect(simulation.tenant.dead.size).toBe(12);
    for (const { seq, charged } of simulation.tenant.dead.values()) {
      expect(charged).toBe(5);
      expect(simulation.requests.filter((request) => request.seqs.includes(seq)).length).toBe(5);
    }
  });

  test("[V6] by default an outage charges nobody", () => {
    const simulation = new Simulation({
      settings: { ...settings, retry: { ...settings.retry, countDestinationFaults: false } },
      origin: () => ({ status: 500 }),
    });
    simulation.arrive(12);
    simulation.run(600_000);
    expect(simulation.tenant.dead.size).toBe(0);
    expect(simulation.tenant.aside.all().every((event) => event.charged === 0)).toBe(true);
  });
});
