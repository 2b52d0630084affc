/** What the random sequences found, one by one: the filter changes while events were looked at and are not settled. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startClock, stopClock } from "../clock.ts";
import { gate, Origin, status } from "../origin.ts";
import { http, Tenant } from "../tenant.ts";

const HOUR_MS = 3_600_000;

beforeEach(() => startClock());

afterEach(() => {
  vi.restoreAllMocks();
  stopClock();
});

const only = (type: string, changes: Record<string, unknown> = {}) => ({
  destinations: { origin: http("origin.test", { filter: { types: [type] }, ...changes }) },
});

const stateOf = async (tenant: Tenant, id: string) => (await tenant.event(id))?.destinations.origin?.state;

test("[V21] [X7] a batch that was Busy, and was forgotten with its object, meets the filter of today: ledger and events agree", async () => {
  const origin = new Origin();
  origin.answer = () => status(429, null, { "retry-after": "5" });
  const tenant = await Tenant.create(only("x"));
  for (const id of ["e0", "e1"]) await tenant.post(id, "{}", { "x-event-type": "x" });
  await tenant.runAlarm();
  expect(origin.requests).toHaveLength(1);
  await tenant.reconfigure(only("y"));
  await tenant.evict();
  origin.answer = () => status(204);
  await tenant.runFor(HOUR_MS);
  expect(origin.requests).toHaveLength(1);
  expect(await tenant.ledger()).toMatchObject({ delivered: 0, filtered: 2, backlog: 0 });
  expect([await stateOf(tenant, "e0"), await stateOf(tenant, "e1")]).toEqual(["filtered", "filtered"]);
});

test("[V21] [X7] of two batches in flight as the filter changes the one that fails is looked at anew, the other is delivered", async () => {
  const origin = new Origin();
  const first = gate();
  const second = gate();
  origin.answer = (_request, events) =>
    (events[0]?.id === "in:e0" ? first : second).answer.then(() => status(events[0]?.id === "in:e0" ? 500 : 204));
  const pairs = { maxInFlight: 2, batch: { maxEvents: 2, flushDelayMs: 0 } };
  const tenant = await Tenant.create(only("x", pairs));
  for (const id of ["e0", "e1", "e2", "e3"]) await tenant.post(id, "{}", { "x-event-type": "x" });
  const run = tenant.runAlarm();
  await origin.reached(2);
  await tenant.reconfigure(only("y", pairs));
  second.open(status(204));
  first.open(status(204));
  await run;
  await tenant.evict();
  await tenant.runFor(HOUR_MS);
  const states = await Promise.all(["e0", "e1", "e2", "e3"].map((id) => stateOf(tenant, id)));
  expect(states.slice(2)).toEqual(["delivered", "delivered"]);
  const ledger = await tenant.ledger();
  for (const state of ["delivered", "filtered", "retrying", "dead"] as const) {
    expect([state, ledger[state]]).toEqual([state, states.filter((each) => each === state).length]);
  }
});
