import fc from "fast-check";
import { expect, test } from "vitest";
import { Gate, type GateDecision } from "../../src/core/gate.ts";
import type { HostOutcome } from "../../src/core/host-health.ts";
import { type Arrival, LIMITS, SharedOrigin } from "./shared-origin.ts";

const tenants = Array.from({ length: 20 }, (_, index) => `t${index}`);

function permitsOf(decisions: readonly GateDecision[]): number[] {
  return decisions.flatMap((decision) => (decision.kind === "lent" ? [decision.permitId] : []));
}

/** A gate past its careful beginning. */
function openGate(): { gate: Gate; nowMs: number } {
  return { gate: new Gate(LIMITS, 0), nowMs: 10_000 };
}

function countWithin(arrivals: readonly Arrival[], fromMs: number, toMs: number): number {
  return arrivals.filter((arrival) => arrival.atMs >= fromMs && arrival.atMs < toMs).length;
}

test("[V27] [V45] 20 tenants, 32 at once, a minute of outage: never more, everybody's turn, 32 in the first second after it", () => {
  const downFromMs = 30_000;
  const downUntilMs = 90_000;
  const host = {
    answer: (_tenant: string, atMs: number) => {
      const isDown = atMs >= downFromMs && atMs < downUntilMs;
      return { outcome: isDown ? "failed" : "accepted", afterMs: isDown ? 80 : 200 } as const;
    },
  };
  const shared = new SharedOrigin(LIMITS, host);
  for (const tenant of tenants) shared.join(tenant, 5, 0);
  shared.runUntil(240_000);
  const { arrivals } = shared;
  expect(arrivals.some((arrival) => arrival.inFlight === 32)).toBe(true);
  expect(arrivals.filter((arrival) => arrival.inFlight > 32 || arrival.ofTenant > 5)).toEqual([]);
  const before = arrivals.filter((arrival) => arrival.atMs < downFromMs);
  const counts = tenants.map((tenant) => before.filter((arrival) => arrival.tenant === tenant).length);
  expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(10);

  // Noticed at once; from then on one at a time, and not faster than a probe a second.
  const during = arrivals.filter((arrival) => arrival.atMs >= downFromMs + 1_000 && arrival.atMs < downUntilMs);
  expect(during.length).toBeGreaterThan(2);
  expect(during.length).toBeLessThanOrEqual(40);
  expect(during.every((arrival) => arrival.inFlight === 1)).toBe(true);
  expect(new Set(during.map((arrival) => arrival.tenant)).size).toBeGreaterThan(2);

  const firstMs = arrivals.find((arrival) => arrival.atMs >= downUntilMs)?.atMs ?? Number.NaN;
  expect(firstMs - downUntilMs).toBeLessThan(30_000);
  expect(countWithin(arrivals, firstMs, firstMs + 1_000)).toBeLessThanOrEqual(32);
  // Within about the length of the outage everybody is back, and gets as much as anybody.
  for (const tenant of tenants) {
    const back = arrivals.find((arrival) => arrival.tenant === tenant && arrival.atMs >= firstMs);
    expect(back?.atMs).toBeLessThan(downUntilMs + 65_000);
  }
  const after = tenants.map((each) => arrivals.filter((a) => a.tenant === each && a.atMs >= 200_000).length);
  expect(Math.max(...after) - Math.min(...after)).toBeLessThanOrEqual(10);
});

test("[V27] [S3] a tenant whose events always fail is no outage: the others go on as before", () => {
  const host = {
    answer: (tenant: string) => ({ outcome: tenant === "t0" ? "failed" : "accepted", afterMs: 40 }) as const,
  };
  const shared = new SharedOrigin(LIMITS, host);
  for (const tenant of ["t0", "t1", "t2"]) shared.join(tenant, 5, 0);
  shared.runUntil(60_000);
  expect(shared.gate.health.outage).toBeNull();
  const accepted = shared.arrivals.filter((arrival) => arrival.outcome === "accepted" && arrival.atMs > 10_000);
  expect(accepted.length).toBeGreaterThan(10_000);
});

test("[V27] a tenant with hung requests holds five of the permits, and gets them back when they end by themselves", () => {
  const { gate, nowMs } = openGate();
  for (let each = 0; each < 10; each += 1) gate.ask("hung", 15_000, nowMs);
  expect(permitsOf(gate.decide(nowMs))).toHaveLength(5);
  for (let each = 0; each < 3; each += 1) gate.ask("other", 15_000, nowMs + 1);
  expect(permitsOf(gate.decide(nowMs + 1))).toHaveLength(3);
  expect(gate.nextMs(nowMs + 1)).toBe(nowMs + 15_000);
  expect(permitsOf(gate.decide(nowMs + 14_999))).toHaveLength(0);
  expect(permitsOf(gate.decide(nowMs + 15_000))).toHaveLength(5);
  expect(gate.inFlight).toBe(8);
});

test("[V27] [V46] who has waited 20 s is told to ask again, and keeps its turn", () => {
  const { gate, nowMs } = openGate();
  const permits: number[] = [];
  for (let each = 0; each < 32; each += 1) gate.ask(`busy${each}`, 60_000, nowMs);
  permits.push(...permitsOf(gate.decide(nowMs)));
  const early = gate.ask("early", 15_000, nowMs);
  expect(gate.decide(nowMs + 19_999)).toEqual([]);
  expect(gate.decide(nowMs + 20_000)).toEqual([{ kind: "later", waiterId: early, afterMs: 100 }]);
  gate.ask("late", 15_000, nowMs + 20_050);
  const again = gate.ask("early", 15_000, nowMs + 20_100);
  gate.end(permits[0] ?? 0, "accepted", nowMs + 20_200);
  expect(gate.decide(nowMs + 20_200)).toMatchObject([{ kind: "lent", waiterId: again }]);
});

test("[V27] a new gate knows nothing of permits that are out: in its first second it lends no more than 32", () => {
  const host = { answer: () => ({ outcome: "accepted", afterMs: 4 }) as const };
  const shared = new SharedOrigin(LIMITS, host);
  for (const tenant of tenants) shared.join(tenant, 5, 0);
  shared.runUntil(6_000);
  expect(countWithin(shared.arrivals, 0, 1_000)).toBe(32);
  expect(countWithin(shared.arrivals, 1_000, 2_000)).toBe(64);
  expect(countWithin(shared.arrivals, 5_000, 6_000)).toBeGreaterThan(1_000);
});

test("[V27] a host that answers no to one event, or asks for time, is not failing; a probe that gets no answer counts as failed", () => {
  const { gate, nowMs } = openGate();
  const end = (tenant: string, outcome: HostOutcome, atMs: number): void => {
    gate.ask(tenant, 15_000, atMs);
    for (const id of permitsOf(gate.decide(atMs))) gate.end(id, outcome, atMs);
  };
  for (const outcome of ["failed", "failed", "failed", "failed", "answered"] as const) end("a", outcome, nowMs);
  for (const outcome of ["failed", "failed", "failed", "failed", "busy"] as const) end("b", outcome, nowMs);
  expect(gate.health.outage).toBeNull();
  end("a", "failed", nowMs);
  expect(gate.health.outage).not.toBeNull();
  gate.ask("c", 15_000, nowMs + 999);
  expect(gate.decide(nowMs + 999)).toMatchObject([{ kind: "later" }]);
  gate.ask("c", 15_000, nowMs + 1_000);
  expect(permitsOf(gate.decide(nowMs + 1_000))).toHaveLength(1);
  // The probe is never heard of again: the next one is tried after it has ended.
  gate.ask("d", 15_000, nowMs + 10_000);
  expect(gate.decide(nowMs + 10_000)).toMatchObject([{ kind: "later" }]);
  gate.ask("d", 15_000, nowMs + 16_000);
  expect(gate.decide(nowMs + 16_000)).toMatchObject([{ kind: "later" }]);
  gate.ask("d", 15_000, nowMs + 18_000);
  const [probe = 0] = permitsOf(gate.decide(nowMs + 18_000));
  gate.end(probe, "answered", nowMs + 18_010);
  expect(gate.health.outage).toBeNull();
});

interface Step {
  readonly kind: "ask" | "end" | "wait";
  readonly tenant: number;
  readonly pick: number;
  readonly outcome: HostOutcome;
  readonly ms: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom("ask", "ask", "end", "wait"),
  tenant: fc.nat(6),
  pick: fc.nat(1_000),
  outcome: fc.constantFrom<HostOutcome>(
    "accepted",
    "accepted",
    "answered",
    "busy",
    "failed",
    "failed",
    "unknown",
    "unused",
  ),
  ms: fc.nat(4_000),
});

test("[V27] property: the bounds always hold, nobody is decided on twice or forgotten, and no permit is held back", () => {
  const limits = { inFlightMax: 6, perTenantMax: 2, waitMaxMs: 20_000 };
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const gate = new Gate(limits, 0);
      const waiting = new Map<number, { tenant: string; askedAtMs: number }>();
      const out = new Map<number, { tenant: string; endsAtMs: number }>();
      let nowMs = 0;
      const decide = (): void => {
        for (const [id, permit] of out) if (permit.endsAtMs <= nowMs) out.delete(id);
        for (const decision of gate.decide(nowMs)) {
          const waiter = waiting.get(decision.waiterId);
          expect(waiter).toBeDefined();
          waiting.delete(decision.waiterId);
          if (decision.kind === "lent") {
            out.set(decision.permitId, { tenant: waiter?.tenant ?? "", endsAtMs: nowMs + 9_000 });
          } else expect(decision.afterMs).toBeGreaterThan(0);
        }
        expect(gate.inFlight).toBe(out.size);
        expect(out.size).toBeLessThanOrEqual(limits.inFlightMax);
        const counts = new Map<string, number>();
        for (const { tenant } of out.values()) counts.set(tenant, (counts.get(tenant) ?? 0) + 1);
        for (const count of counts.values()) expect(count).toBeLessThanOrEqual(limits.perTenantMax);
        if (gate.health.outage !== null) expect(waiting.size).toBe(0);
        for (const { tenant, askedAtMs } of waiting.values()) {
          expect(nowMs - askedAtMs).toBeLessThan(limits.waitMaxMs);
          const isFull = out.size === limits.inFlightMax || counts.get(tenant) === limits.perTenantMax;
          const isCareful = gate.health.careful !== null && nowMs - gate.health.careful.sinceMs < 5_000;
          expect(isFull || isCareful).toBe(true);
          expect(gate.nextMs(nowMs)).toBeGreaterThan(nowMs);
        }
      };
      for (const { kind, tenant, pick, outcome, ms } of steps) {
        if (kind === "wait") nowMs += ms;
        else if (kind === "ask") {
          waiting.set(gate.ask(`t${tenant}`, 9_000, nowMs), { tenant: `t${tenant}`, askedAtMs: nowMs });
        } else {
          const ids = [...out.keys()];
          const id = ids[pick % Math.max(1, ids.length)];
          if (id !== undefined) {
            gate.end(id, outcome, nowMs);
            out.delete(id);
          }
        }
        decide();
      }
    }),
    { numRuns: 400 },
  );
});

test("[V27] property: between two permits of one tenant every other that waits gets one", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 2, maxLength: 12 }),
      fc.nat(3),
      (lanes, extra) => {
        const limits = { inFlightMax: 1 + extra, perTenantMax: 5, waitMaxMs: 1_000_000 };
        const host = { answer: () => ({ outcome: "accepted", afterMs: 7 }) as const };
        const shared = new SharedOrigin(limits, host);
        lanes.forEach((count, index) => {
          shared.join(`t${index}`, count, 10_000);
        });
        shared.runUntil(10_700);
        const order = shared.arrivals.map((arrival) => arrival.tenant);
        const counts = lanes.map((_, index) => order.filter((tenant) => tenant === `t${index}`).length);
        // Where there are more tenants than permits all of them wait nearly always, however many requests each has ready.
        if (lanes.length <= limits.inFlightMax) return;
        expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1 + limits.inFlightMax);
      },
    ),
    { numRuns: 60 },
  );
});
