import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { AlertRow } from "../../src/buffer/contract.ts";
import { startClock, stopClock } from "./clock.ts";
import { Origin, status } from "./origin.ts";
import { http, isBalanced, Tenant } from "./tenant.ts";

beforeEach(() => startClock());

afterEach(() => {
  vi.restoreAllMocks();
  stopClock();
});

const MINUTE_MS = 60_000;

function strict(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return http("origin.test", {
    ordering: "strict",
    batch: { maxEvents: 8, flushDelayMs: 0 },
    retry: { maxAttempts: 3, baseMs: 1_000, maxMs: 2_000 },
    circuitBreaker: { openMs: 5_000, openMsMax: 60_000 },
    ...changes,
  });
}

const ids = (count: number, from = 0): string[] => Array.from({ length: count }, (_, index) => `e${from + index}`);
const named = (events: readonly string[]): string[] => events.map((id) => `in:${id}`);

async function alerts(tenant: Tenant): Promise<AlertRow[]> {
  return [...(await tenant.stats()).alerts];
}

test("[V15] a refused event is found by halving from the front; what precedes it goes first, and nothing passes it", async () => {
  const origin = new Origin();
  origin.answer = (_request, events) => status(events.some((event) => event.id === "in:e5") ? 422 : 200);
  const tenant = await Tenant.create({ destinations: { origin: strict() } });
  await tenant.accept(...ids(8));
  await tenant.runFor(MINUTE_MS);
  expect(
    origin.exchanges.map(({ ids: sent, status: code }) => `${sent.map((id) => id.slice(4)).join("")}:${code}`),
  ).toEqual(["01234567:422", "0123:200", "45:422", "4:200", "5:422", "5:422", "5:422", "67:200"]);
  expect(origin.ids()).toEqual(named(["e0", "e1", "e2", "e3", "e4", "e6", "e7"]));
  expect(await tenant.ledger()).toMatchObject({ delivered: 7, dead: 1, backlog: 0 });
});

test("[V15] [V23] from the first named event on everything counts as not accepted", async () => {
  const origin = new Origin();
  origin.answer = (_request, events) => {
    const failures = events.filter((event) => event.id === "in:e2").map((event) => ({ itemIdentifier: event.id }));
    return Response.json({ batchItemFailures: failures });
  };
  const tenant = await Tenant.create({ destinations: { origin: strict() } });
  await tenant.accept(...ids(5));
  await tenant.runFor(MINUTE_MS);
  const batches = origin.exchanges.map((exchange) => exchange.ids.map((id) => id.slice(4)).join(""));
  expect(batches).toEqual(["01234", "2", "2", "34"]);
  expect(await tenant.ledger()).toMatchObject({ delivered: 4, dead: 1, backlog: 0 });
});

test("[V15] [O9] [X11] [FR 63] a head that fails blocks, is named after 15 minutes, and can be moved out of the way by hand", async () => {
  const origin = new Origin();
  origin.answer = (_request, events) => status(events.some((event) => event.id === "in:e0") ? 500 : 200);
  const tenant = await Tenant.create({ destinations: { origin: strict() } });
  await tenant.accept(...ids(12));
  await tenant.runFor(14 * MINUTE_MS);
  expect((await alerts(tenant)).filter(({ kind }) => kind === "head-blocked")).toEqual([]);
  expect(await tenant.ledger()).toMatchObject({ delivered: 0, dead: 0, backlog: 12 });
  await tenant.runFor(10 * MINUTE_MS);
  const [blocked] = (await alerts(tenant)).filter(({ kind }) => kind === "head-blocked");
  expect(blocked).toMatchObject({ destination: "origin", clearedAt: null });
  // Every probe is the head, alone; an attempt is charged for none.
  const probes = origin.exchanges.filter((exchange) => exchange.ids.length === 1);
  expect(probes.length).toBeGreaterThan(3);
  expect(new Set(probes.flatMap((exchange) => exchange.ids))).toEqual(new Set(["in:e0"]));
  expect(new Set(probes.flatMap((exchange) => exchange.attempts))).toEqual(new Set([1]));

  const path = `/events/${encodeURIComponent("in:e0")}/dead-letter`;
  expect(await (await tenant.admin("POST", path, { destination: "origin" })).json()).toEqual({ count: 1 });
  await tenant.runFor(5 * MINUTE_MS);
  expect(origin.ids()).toEqual(named(ids(11, 1)));
  expect((await tenant.event("e0"))?.destinations.origin).toMatchObject({ state: "dead", reason: "by-hand" });
  expect(await tenant.ledger()).toMatchObject({ delivered: 11, dead: 1, backlog: 0, state: "closed" });
  // A second time there is nothing to give up.
  expect((await tenant.admin("POST", path, { destination: "origin" })).status).toBe(409);
});

test.each(["relaxed", "strict"])(
  "[X11] [X12] [V26] (%s) an event given up by hand behind others is never sent, not even after a restart",
  async (ordering) => {
    const origin = new Origin();
    const tenant = await Tenant.create({ destinations: { origin: strict({ ordering }) } });
    await tenant.admin("POST", "/destinations/origin/pause");
    await tenant.accept(...ids(6));
    for (const id of ["e3", "e4"]) {
      const path = `/events/${encodeURIComponent(`in:${id}`)}/dead-letter`;
      expect((await tenant.admin("POST", path, { destination: "origin" })).status).toBe(200);
    }
    expect(await tenant.ledger()).toMatchObject({ backlog: 4, dead: 2 });
    // One of them is wanted after all: it goes once, outside the order.
    await tenant.admin("POST", "/dead-letters/redrive", { destination: "origin", ids: ["in:e4"] });
    await tenant.evict();
    await tenant.admin("POST", "/destinations/origin/resume");
    await tenant.runFor(MINUTE_MS);
    expect([...origin.ids()].sort()).toEqual(named(["e0", "e1", "e2", "e4", "e5"]));
    expect((await tenant.event("e4"))?.destinations.origin?.state).toBe("delivered");
    expect(await tenant.ledger()).toMatchObject({ delivered: 5, dead: 1, backlog: 0 });
    expect(isBalanced(await tenant.stats())).toBe(true);
  },
);

test("[V15] redriven and replayed events go when due, outside the order", async () => {
  const origin = new Origin();
  origin.answer = (_request, events) => status(events.some((event) => event.id === "in:e1") ? 422 : 200);
  const tenant = await Tenant.create({ destinations: { origin: strict() } });
  await tenant.accept(...ids(3));
  await tenant.runFor(MINUTE_MS);
  expect(await tenant.ledger()).toMatchObject({ delivered: 2, dead: 1 });
  origin.answer = (_request, events) => status(events.some((event) => event.id === "in:e3") ? 500 : 200);
  await tenant.accept("e3", "e4");
  await tenant.runFor(3_000);
  await tenant.admin("POST", "/dead-letters/redrive", { destination: "origin", all: true });
  await tenant.admin("POST", "/events/in%3Ae0/replay");
  await tenant.runFor(5 * MINUTE_MS);
  expect(origin.counts()).toEqual(
    new Map([
      ["in:e0", 2],
      ["in:e2", 1],
      ["in:e1", 1],
    ]),
  );
  expect(await tenant.ledger()).toMatchObject({ delivered: 3, backlog: 2 });
});
