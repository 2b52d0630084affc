import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { hurried, moveClock, startClock, stopClock } from "./clock.ts";
import { Origin, status } from "./origin.ts";
import { http, isBalanced, Tenant } from "./tenant.ts";

beforeEach(() => startClock());

afterEach(() => {
  vi.restoreAllMocks();
  stopClock();
});

function crowd(count: number, host: string): Promise<Tenant[]> {
  const origin = http(host, { batch: { flushDelayMs: 0, maxEvents: 1 }, maxInFlight: 5 });
  return Promise.all(Array.from({ length: count }, () => Tenant.create({ destinations: { origin } })));
}

/** Lets time pass for all of them: whose alarm is due runs beside the others; while nobody runs the clock goes on. */
async function runAll(tenants: readonly Tenant[], ms: number): Promise<void> {
  const endMs = Date.now() + ms;
  const running = new Set<Promise<void>>();
  const alarms = new Map<Tenant, number>();
  const look = async (tenant: Tenant): Promise<void> => {
    const atMs = await tenant.alarmAtMs();
    if (atMs !== null) alarms.set(tenant, atMs);
  };
  await Promise.all(tenants.map(look));
  for (;;) {
    for (const [tenant, atMs] of [...alarms]) {
      if (atMs > Date.now()) continue;
      alarms.delete(tenant);
      const run: Promise<void> = tenant
        .runAlarm()
        .then(() => look(tenant))
        .finally(() => running.delete(run));
      running.add(run);
    }
    if (running.size > 0) {
      await Promise.race([...running, new Promise((resolve) => setTimeout(resolve, 50))]);
      continue;
    }
    const nextMs = Math.min(endMs, ...alarms.values());
    vi.setSystemTime(Math.max(Date.now(), nextMs));
    if (nextMs >= endMs) return;
  }
}

test("[V27] ten tenants that could send 50 requests at once hold 32 at a shared host, five each at most", {
  timeout: 30_000,
}, async () => {
  const origin = new Origin();
  const inFlight = new Map<string, number>();
  const sum = (): number => [...inFlight.values()].reduce((all, count) => all + count, 0);
  let most = 0;
  let mostOfTenant = 0;
  let released = 0;
  origin.answer = async (request) => {
    const { tenant } = JSON.parse(new TextDecoder().decode(request.body)) as { tenant: string };
    inFlight.set(tenant, (inFlight.get(tenant) ?? 0) + 1);
    most = Math.max(most, sum());
    mostOfTenant = Math.max(mostOfTenant, inFlight.get(tenant) ?? 0);
    const turn = origin.requests.length;
    while (turn > released) await new Promise((resolve) => setTimeout(resolve, 5));
    inFlight.set(tenant, (inFlight.get(tenant) ?? 1) - 1);
    return status(204);
  };
  const tenants = await crowd(10, "shared-1.test");
  for (const tenant of tenants) await tenant.accept(...Array.from({ length: 6 }, (_, index) => `evt_${index}`));
  const runs = tenants.map((tenant) => tenant.runAlarm());
  await vi.waitFor(() => expect(sum()).toBe(32), { timeout: 5_000 });
  moveClock(10_000);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(sum()).toBe(32);
  while (origin.accepted.length < 60) {
    released += 1;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await Promise.all(runs);
  expect(most).toBe(32);
  expect(mostOfTenant).toBeLessThanOrEqual(5);
  for (const tenant of tenants) expect(await tenant.ledger()).toMatchObject({ delivered: 6, backlog: 0 });
});

test("[V27] [V12] 20 tenants share a host that is down for a minute: one at a time tries, then all is delivered, slowly at first", {
  timeout: 60_000,
}, async () => {
  const origin = new Origin();
  const arrivals: { atMs: number; tenant: string; inFlight: number }[] = [];
  let isDown = true;
  let inFlight = 0;
  origin.answer = async (request) => {
    const { tenant } = JSON.parse(new TextDecoder().decode(request.body)) as { tenant: string };
    inFlight += 1;
    arrivals.push({ atMs: Date.now(), tenant, inFlight });
    await new Promise((resolve) => setTimeout(resolve, 100));
    inFlight -= 1;
    return status(isDown ? 502 : 204);
  };
  const tenants = await crowd(20, "shared-2.test");
  await Promise.all(tenants.map((tenant) => tenant.accept(...Array.from({ length: 5 }, (_, index) => `evt_${index}`))));
  const beganMs = Date.now();
  await hurried(() => runAll(tenants, 60_000));
  expect(arrivals.every((arrival) => arrival.inFlight <= 32)).toBe(true);
  const probes = arrivals.filter((arrival) => arrival.atMs > beganMs + 2_000);
  expect(probes.length).toBeGreaterThan(1);
  expect(probes.length).toBeLessThan(40);
  expect(probes.every((arrival) => arrival.inFlight === 1)).toBe(true);
  isDown = false;
  const before = arrivals.length;
  await hurried(() => runAll(tenants, 240_000));
  const after = arrivals.slice(before);
  const firstMs = after[0]?.atMs ?? 0;
  expect(after.filter((arrival) => arrival.atMs < firstMs + 1_000).length).toBeLessThanOrEqual(32);
  expect(after.every((arrival) => arrival.inFlight <= 32)).toBe(true);
  expect(new Set(after.map((arrival) => arrival.tenant)).size).toBe(20);
  for (const tenant of tenants) {
    const stats = await tenant.stats();
    expect(isBalanced(stats)).toBe(true);
    expect(stats.destinations.origin).toMatchObject({ delivered: 5, dead: 0, backlog: 0, state: "closed" });
  }
});
