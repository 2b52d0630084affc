import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startClock, stopClock } from "./clock.ts";
import { Origin, status } from "./origin.ts";
import { isBalanced, Tenant } from "./tenant.ts";

const HOUR_MS = 3_600_000;
const OUTAGE_HOURS = 70;
const GROUP_EVENTS = 100;

beforeEach(() => startClock());

afterEach(() => {
  vi.restoreAllMocks();
  stopClock();
});

async function acceptAll(tenant: Tenant, ids: readonly string[]): Promise<void> {
  for (let from = 0; from < ids.length; from += GROUP_EVENTS) {
    await Promise.all(ids.slice(from, from + GROUP_EVENTS).map((id) => tenant.accept(id)));
  }
}

test("[V12] [X5] 70 hours of 503 with 5,000 events waiting, by default settings: under 400 requests, none dead, each delivered once", {
  timeout: 60_000,
}, async () => {
  const origin = new Origin();
  origin.answer = () => status(503);
  const tenant = await Tenant.create({ destinations: { origin: { kind: "http", url: "https://origin.test/in" } } });
  const ids = Array.from({ length: 5_000 }, (_, index) => `evt_${index}`);
  await acceptAll(tenant, ids.slice(0, 4_000));
  // The rest comes while the origin is down, and in between the object is out of memory.
  for (let round = 0; round < 10; round += 1) {
    await tenant.runFor((OUTAGE_HOURS * HOUR_MS) / 10);
    await acceptAll(tenant, ids.slice(4_000 + round * 100, 4_100 + round * 100));
    if (round === 4) await tenant.evict();
  }
  const during = await tenant.stats();
  expect(during.destinations.origin).toMatchObject({ offered: 5_000, delivered: 0, backlog: 5_000, dead: 0 });
  expect(isBalanced(during)).toBe(true);
  // It was asked every quarter of an hour all the time, and hardly more often.
  expect(origin.requests.length).toBeGreaterThan(200);
  expect(origin.requests.length).toBeLessThan(400);

  origin.answer = () => status(204);
  await tenant.runFor(HOUR_MS);
  const after = await tenant.stats();
  const ledger = { offered: 5_000, delivered: 5_000, backlog: 0, retrying: 0, dead: 0, state: "closed" };
  expect(after.destinations.origin).toMatchObject(ledger);
  expect(isBalanced(after)).toBe(true);
  expect([...origin.counts().values()].filter((count) => count !== 1)).toEqual([]);
  expect(new Set(origin.ids())).toEqual(new Set(ids.map((id) => `in:${id}`)));
});
