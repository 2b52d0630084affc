import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { moveClock, startClock, stopClock } from "../flow/clock.ts";
import { Origin, status } from "../flow/origin.ts";
import { http, isBalanced, Tenant } from "../flow/tenant.ts";
import { arriveOne, manyCalls } from "./arrivals.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

beforeEach(() => startClock());

afterEach(() => {
  vi.restoreAllMocks();
  stopClock();
});

/** A tenant whose lone event died of its first refusal. */
async function withDeadLetter(config: Record<string, unknown> = {}) {
  const origin = new Origin();
  origin.answer = () => status(400, "no such order");
  const tenant = await Tenant.create({
    destinations: { origin: http("origin.test", { retry: { maxAttempts: 1 } }) },
    ...config,
  });
  await tenant.accept("evt_1");
  await tenant.settle();
  expect(await tenant.ledger()).toMatchObject({ dead: 1, backlog: 0 });
  origin.answer = () => status(204);
  return { origin, tenant };
}

test("[D6] [X5] a provider's repeat of a dead event re-opens it with fresh attempts, and the answer says so", async () => {
  const { origin, tenant } = await withDeadLetter();
  const repeat = await tenant.post("evt_1", '{"id":"evt_1"}');
  expect([repeat.status, await repeat.json()]).toEqual([202, { status: "reopened", eventId: "in:evt_1" }]);
  expect(await tenant.ledger()).toMatchObject({ dead: 0, backlog: 1 });
  expect(isBalanced(await tenant.stats())).toBe(true);
  await tenant.settle();
  expect(origin.accepted).toMatchObject([{ id: "in:evt_1", seq: "1", attempt: 1 }]);
  expect(await tenant.stats()).toMatchObject({
    accepted: 1,
    reopened: 1,
    destinations: { origin: { delivered: 1, dead: 0 } },
  });
  expect((await tenant.post("evt_1", '{"id":"evt_1"}')).status).toBe(200);
});

test("[D6] [R1] re-opening takes a token: over the limit the repeat is 429 and the event stays dead", async () => {
  const { tenant } = await withDeadLetter({ rateLimit: { events: 1, windowSeconds: 60 } });
  expect((await tenant.post("evt_1", '{"id":"evt_1"}')).status).toBe(429);
  expect(await tenant.ledger()).toMatchObject({ dead: 1, backlog: 0 });
  moveClock(60_000);
  expect((await tenant.post("evt_1", '{"id":"evt_1"}')).status).toBe(202);
});

test("[D6] [V16] only where it is dead: the destination that has it does not get it again", async () => {
  const origin = new Origin();
  origin.answer = (request) => status(request.url.includes("bad.test") ? 400 : 200);
  const retry = { maxAttempts: 1 };
  const tenant = await Tenant.create({ destinations: { good: http("good.test"), bad: http("bad.test", { retry }) } });
  await tenant.accept("evt_1");
  await tenant.settle();
  origin.answer = () => status(200);
  expect((await tenant.post("evt_1", '{"id":"evt_1"}')).status).toBe(202);
  await tenant.settle();
  const accepted = origin.exchanges.filter((exchange) => exchange.status === 200);
  expect(accepted.map((exchange) => exchange.url)).toEqual(["https://good.test/in", "https://bad.test/in"]);
});

test("[D6] [X1] an expired one, whose bytes are gone, comes back with the bytes of the repeat under its old number", async () => {
  const { origin, tenant } = await withDeadLetter({ deadLetterTtlSeconds: 86_400, retainSeconds: 3_600 });
  await tenant.runFor(DAY_MS + 2 * HOUR_MS);
  expect(await tenant.ledger()).toMatchObject({ dead: 0, expired: 1 });
  expect((await tenant.calls.body("in:evt_1")).kind).toBe("expired");
  expect(await tenant.sql("SELECT name FROM sqlite_master WHERE name GLOB 'body_*'")).toEqual([]);
  const repeat = await arriveOne(tenant, { id: "evt_1", body: '{"id":"evt_1"}', trust: "unsigned" });
  expect(repeat).toMatchObject({ kind: "reopened", eventId: "in:evt_1" });
  expect(await tenant.ledger()).toMatchObject({ expired: 0, backlog: 1, retrying: 1 });
  expect(isBalanced(await tenant.stats())).toBe(true);
  await tenant.evict();
  await tenant.settle();
  expect(origin.accepted).toMatchObject([{ id: "in:evt_1", seq: "1", body: '{"id":"evt_1"}' }]);
  // The copied-out bytes are not kept for ever.
  expect(await tenant.sql("SELECT seq FROM kept")).toEqual([]);
  expect(await tenant.ledger()).toMatchObject({ delivered: 1, expired: 0, backlog: 0 });
});

test("[D6] the stored bytes are used where they are still there, whatever the repeat brings", async () => {
  const origin = new Origin();
  origin.answer = () => status(400);
  const retry = { maxAttempts: 1 };
  const tenant = await Tenant.create({ destinations: { origin: http("origin.test", { retry }) } });
  await arriveOne(tenant, { id: "evt_1", body: "first", trust: "signed-changing-body" });
  await tenant.settle();
  origin.answer = () => status(204);
  await arriveOne(tenant, { id: "evt_1", body: "second", trust: "signed-changing-body" });
  await tenant.settle();
  expect(origin.accepted.map((event) => event.body)).toEqual(["first"]);
});

test("[D6] a purged event stays closed: its repeat is a duplicate", async () => {
  const { tenant } = await withDeadLetter();
  await tenant.sql("UPDATE dead SET state = 'purged'");
  expect((await tenant.post("evt_1", '{"id":"evt_1"}')).status).toBe(200);
});

test("[D6] [L6] one event leaves a range of the dead: the range is split there, and its neighbours stay dead", async () => {
  const origin = new Origin();
  const tenant = await Tenant.create({
    maxBacklogEvents: 500,
    destinations: { off: http("off.test"), on: http("on.test") },
  });
  await tenant.admin("POST", "/destinations/off/pause");
  const calls = await manyCalls(tenant, "e", 504);
  for (let first = 0; first < calls.length; first += 100) {
    await Promise.all(calls.slice(first, first + 100).map(async (call) => tenant.ingest(call)));
    await tenant.runAlarm();
  }
  expect(await tenant.ledger("off")).toMatchObject({ offered: 504, dead: 5, backlog: 499 });
  const middle = calls[2];
  if (middle === undefined) throw new Error("no such call");
  expect((await tenant.ingest(middle)).kind).toBe("reopened");
  expect(await tenant.ledger("off")).toMatchObject({ dead: 4, backlog: 500, retrying: 1 });
  expect(await tenant.sql("SELECT first_seq, last_seq, event_count FROM dead_range ORDER BY first_seq")).toEqual([
    { first_seq: 1, last_seq: 2, event_count: 2 },
    { first_seq: 4, last_seq: 5, event_count: 2 },
  ]);
  expect((await tenant.ingest(middle)).kind).toBe("deduplicated");
  expect(isBalanced(await tenant.stats())).toBe(true);
  await tenant.admin("POST", "/destinations/off/resume");
  await tenant.runFor(60_000);
  expect(origin.exchanges.filter(({ url, ids }) => url.includes("off.test") && ids.includes("in:e2"))).toHaveLength(1);
  expect(await tenant.ledger("off")).toMatchObject({ dead: 4, backlog: 0, delivered: 500 });
});
