import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { moveClock, startClock, stopClock } from "../flow/clock.ts";
import { Origin, status } from "../flow/origin.ts";
import { alertOf, http, isBalanced, Tenant } from "../flow/tenant.ts";
import { arrive } from "./arrivals.ts";

const DAY_MS = 86_400_000;
const YEAR_MS = 365 * DAY_MS;

beforeEach(() => startClock());

afterEach(() => {
  vi.restoreAllMocks();
  stopClock();
});

describe("a wrong clock", () => {
  test("[L7] receivedAt never goes back, and an event received by a clock a year ahead is delivered all the same", async () => {
    const origin = new Origin();
    const tenant = await Tenant.create({
      destinations: { origin: http("origin.test", { batch: { flushDelayMs: 2_000 } }) },
    });
    await tenant.runFor(10_000);
    moveClock(YEAR_MS);
    await tenant.accept("ahead");
    const aheadMs = Date.now();
    moveClock(-YEAR_MS);
    await tenant.accept("after");
    await tenant.runFor(5_000);
    expect(origin.accepted.map(({ id, receivedAt }) => [id, Date.parse(receivedAt)])).toEqual([
      ["in:ahead", aheadMs],
      ["in:after", aheadMs],
    ]);
  });

  test("[L7] [V7] a hold set by a clock a year ahead counts as over", async () => {
    const origin = new Origin();
    origin.answer = () => status(429, null, { "retry-after": "3600" });
    const tenant = await Tenant.create();
    await tenant.runFor(10_000);
    moveClock(YEAR_MS);
    await tenant.accept("evt_1");
    await tenant.settle();
    expect((await tenant.ledger()).state).toBe("holding");
    moveClock(-YEAR_MS);
    origin.answer = () => status(200);
    await tenant.accept("evt_2");
    await tenant.runFor(10_000);
    expect(new Set(origin.ids())).toEqual(new Set(["in:evt_1", "in:evt_2"]));
  });

  test("[L7] [V10] a retry parked by a clock a year ahead counts as due", async () => {
    const origin = new Origin();
    origin.answer = (_request, events) => status(events.some(({ id }) => id === "in:bad") ? 500 : 200);
    const tenant = await Tenant.create();
    await tenant.runFor(10_000);
    moveClock(YEAR_MS);
    await tenant.accept("bad", "good");
    await tenant.runFor(2_000);
    expect(await tenant.ledger()).toMatchObject({ retrying: 1, delivered: 1 });
    moveClock(-YEAR_MS);
    origin.answer = () => status(200);
    await tenant.accept("evt_2");
    await tenant.runFor(600_000);
    expect(await tenant.ledger()).toMatchObject({ delivered: 3, backlog: 0 });
  });

  test("[L7] [V11] a breaker opened by a clock a year ahead probes now", async () => {
    const origin = new Origin();
    origin.answer = () => status(500);
    const tenant = await Tenant.create();
    await tenant.runFor(10_000);
    moveClock(YEAR_MS);
    await tenant.accept(...Array.from({ length: 20 }, (_, index) => `evt_${index}`));
    await tenant.runFor(5_000);
    expect((await tenant.ledger()).state).toBe("open");
    moveClock(-YEAR_MS);
    origin.answer = () => status(200);
    await tenant.accept("evt_20");
    await tenant.runFor(60_000);
    expect(await tenant.ledger()).toMatchObject({ delivered: 21, backlog: 0, state: "closed" });
  });

  test("[L7] [X1] a dead letter's time of expiry does not count as due", async () => {
    const origin = new Origin();
    origin.answer = () => status(400);
    const tenant = await Tenant.create({
      destinations: { origin: http("origin.test", { retry: { maxAttempts: 1 } }) },
    });
    await tenant.runFor(10_000);
    moveClock(YEAR_MS);
    await tenant.accept("evt_1");
    await tenant.settle();
    moveClock(-YEAR_MS);
    await tenant.runFor(20 * DAY_MS);
    expect(await tenant.ledger()).toMatchObject({ dead: 1, expired: 0 });
  });

  test("[R1] [L7] the rate limit goes on from a clock that was set back, also after an eviction", async () => {
    new Origin();
    const tenant = await Tenant.create({ rateLimit: { events: 2, windowSeconds: 10 } });
    moveClock(YEAR_MS);
    await tenant.accept("a", "b");
    moveClock(-YEAR_MS);
    expect((await tenant.post("c", "{}")).status).toBe(429);
    moveClock(10_000);
    await tenant.accept("c", "d");
    expect((await tenant.post("e", "{}")).status).toBe(429);
    moveClock(10_000);
    await tenant.evict();
    await tenant.accept("e");
  });
});

describe("a damaged store", () => {
  test("[L7] an event that cannot be read is a dead letter with an alert; its neighbours are delivered, and it never stops the position", async () => {
    const origin = new Origin();
    const tenant = await Tenant.create();
    await arrive(tenant, ...["a", "b", "c", "d", "e"].map((id) => ({ id })));
    await tenant.sql("UPDATE body_2 SET headers = '{not json' WHERE event_id = 'in:c'");
    await tenant.sql("UPDATE body_2 SET body = NULL WHERE event_id = 'in:a'");
    await tenant.evict();
    await tenant.settle();
    expect(origin.ids()).toEqual(["in:b", "in:d", "in:e"]);
    expect(await tenant.ledger()).toMatchObject({ offered: 5, delivered: 3, dead: 2, backlog: 0, state: "closed" });
    expect(isBalanced(await tenant.stats())).toBe(true);
    expect(alertOf(await tenant.stats(), "event-unreadable")).toMatchObject({ destination: "origin", clearedAt: null });
    const page = (await (await tenant.admin("GET", "/dead-letters")).json()) as { items: { reason: string }[] };
    expect(page.items.map(({ reason }) => reason)).toEqual(["unreadable", "unreadable"]);
    await tenant.accept("f");
    await tenant.settle();
    expect(origin.ids().at(-1)).toBe("in:f");
  });

  test("[L7] [X5] [V12] an unreadable event in a batch that is given up later is counted once", async () => {
    const origin = new Origin();
    origin.answer = () => status(500);
    const tenant = await Tenant.create({
      destinations: { origin: http("origin.test", { giveUpAfterSeconds: 3_600 }) },
    });
    await arrive(tenant, ...Array.from({ length: 12 }, (_, index) => ({ id: `e${index}` })));
    await tenant.sql("UPDATE body_2 SET body = NULL WHERE event_id = 'in:e5'");
    await tenant.runFor(7_200_000);
    expect(await tenant.ledger()).toMatchObject({ offered: 12, delivered: 0, dead: 12, backlog: 0 });
    expect(isBalanced(await tenant.stats())).toBe(true);
  });

  test("[L7] a set-aside event that cannot be read any more is a dead letter too", async () => {
    const origin = new Origin();
    origin.answer = (_request, events) => status(events.some(({ id }) => id === "in:bad") ? 500 : 200);
    const tenant = await Tenant.create();
    await tenant.accept("bad", "good");
    await tenant.runFor(2_000);
    expect(await tenant.ledger()).toMatchObject({ retrying: 1 });
    await tenant.sql("UPDATE body_2 SET body = NULL WHERE event_id = 'in:bad'");
    await tenant.accept("more");
    await tenant.runFor(600_000);
    expect(await tenant.ledger()).toMatchObject({ delivered: 2, dead: 1, backlog: 0, retrying: 0 });
    expect(isBalanced(await tenant.stats())).toBe(true);
  });
});
