import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { countRows } from "../buffer/rows.ts";
import { hurried, startClock, stopClock } from "./clock.ts";
import { gate, Origin, status } from "./origin.ts";
import { http, isBalanced, Tenant } from "./tenant.ts";

beforeEach(() => startClock());

afterEach(() => {
  vi.restoreAllMocks();
  stopClock();
});

const MINUTE_MS = 60_000;
const ids = (count: number, from = 0): string[] => Array.from({ length: count }, (_, index) => `e${from + index}`);

test("[V13] maxEventsPerSecond caps the pace of a backlog", {
  timeout: 60_000,
}, async () => {
  const origin = new Origin();
  const tenant = await Tenant.create({
    destinations: { origin: http("origin.test", { maxEventsPerSecond: 10, batch: { maxEvents: 5, flushDelayMs: 0 } }) },
  });
  await tenant.admin("POST", "/destinations/origin/pause");
  await tenant.accept(...ids(100));
  await tenant.admin("POST", "/destinations/origin/resume");
  const beganMs = Date.now();
  await hurried(() => tenant.runFor(9_000));
  const sent = origin.exchanges.map(({ atMs, ids: of }) => ({ atMs: atMs - beganMs, count: of.length }));
  for (let fromMs = 0; fromMs < 9_000; fromMs += 500) {
    const within = sent.filter(({ atMs }) => atMs >= fromMs && atMs < fromMs + 3_000);
    expect(within.reduce((sum, { count }) => sum + count, 0)).toBeLessThanOrEqual(35);
  }
  expect(origin.ids().length).toBeGreaterThanOrEqual(70);
  await hurried(() => tenant.runFor(MINUTE_MS));
  expect(await tenant.ledger()).toMatchObject({ delivered: 100, backlog: 0 });
});

test("[V13] [FR 61] [FR 62] at most 5 requests at once to one host and 6 from one object, whatever the destinations allow", async () => {
  const origin = new Origin();
  const waiting: { url: string; open: (response: Response) => void }[] = [];
  let most = 0;
  const mostByHost = new Map<string, number>();
  let isOpen = false;
  const gates = Array.from({ length: 30 }, () => gate());
  origin.answer = async ({ url }) => {
    const next = gates.pop();
    if (isOpen || next === undefined) return status(200);
    const { answer, open } = next;
    const host = new URL(url).host;
    const entry = { url, open };
    waiting.push(entry);
    most = Math.max(most, waiting.length);
    mostByHost.set(
      host,
      Math.max(mostByHost.get(host) ?? 0, waiting.filter((each) => new URL(each.url).host === host).length),
    );
    const response = await answer;
    waiting.splice(waiting.indexOf(entry), 1);
    return response;
  };
  const busy = { maxInFlight: 5, batch: { maxEvents: 1, flushDelayMs: 0 } };
  const tenant = await Tenant.create({
    destinations: {
      a: http("one.test", busy),
      b: http("one.test", busy),
      c: http("two.test", busy),
    },
  });
  await tenant.accept(...ids(10));
  const run = tenant.runAlarm();
  await origin.reached(6);
  await scheduler.wait(50);
  expect(most).toBe(6);
  expect(mostByHost.get("one.test")).toBeLessThanOrEqual(5);
  expect(mostByHost.get("two.test")).toBeGreaterThanOrEqual(1);
  isOpen = true;
  for (const each of [...waiting]) each.open(status(200));
  await run;
  await tenant.runFor(MINUTE_MS);
  expect(await tenant.ledger("a")).toMatchObject({ delivered: 10 });
  expect(await tenant.ledger("b")).toMatchObject({ delivered: 10 });
  expect(await tenant.ledger("c")).toMatchObject({ delivered: 10 });
});

test("[V10] retry.scheduleSeconds gives the delays outright", async () => {
  const origin = new Origin();
  origin.answer = (_request, events) => status(events.some((event) => event.id === "in:bad") ? 422 : 200);
  const schedule = [5, 30, 120, 600];
  const tenant = await Tenant.create({
    destinations: { origin: http("origin.test", { retry: { maxAttempts: 5, scheduleSeconds: schedule } }) },
  });
  await tenant.accept("good", "bad", "better");
  await tenant.runFor(60 * MINUTE_MS);
  const alone = origin.exchangesOf("in:bad").filter((exchange) => exchange.ids.length === 1);
  const gaps = alone.slice(1).map((exchange, index) => (exchange.atMs - (alone[index]?.atMs ?? 0)) / 1_000);
  expect(gaps.map(Math.round)).toEqual(schedule);
  expect(await tenant.ledger()).toMatchObject({ delivered: 2, dead: 1, backlog: 0 });
});

test("[V6] [V10] retry.countDestinationFaults: N attempts, then dead letter, also where the destination is at fault", async () => {
  const origin = new Origin();
  origin.answer = () => status(500);
  const retry = { maxAttempts: 4, baseMs: 1_000, maxMs: 2_000, countDestinationFaults: true };
  const circuitBreaker = { openMs: 1_000, openMsMax: 1_000 };
  const tenant = await Tenant.create({
    destinations: { origin: http("origin.test", { retry, circuitBreaker, batch: { maxEvents: 1, flushDelayMs: 0 } }) },
  });
  await tenant.accept("e0");
  await tenant.runFor(10 * MINUTE_MS);
  expect(origin.exchangesOf("in:e0")).toHaveLength(4);
  expect(await tenant.ledger()).toMatchObject({ dead: 1, backlog: 0 });
});

test("[V9] [V1] [FR 79] an event that arrives while a known poison is being retried is delivered within flushDelayMs + 1 s", async () => {
  const origin = new Origin();
  origin.answer = (_request, events) => status(events.some((event) => event.id === "in:poison") ? 500 : 200);
  const flushDelayMs = 500;
  const tenant = await Tenant.create({
    destinations: {
      origin: http("origin.test", { batch: { flushDelayMs }, retry: { maxAttempts: 15, baseMs: 5_000 } }),
    },
  });
  await tenant.accept("poison");
  for (let index = 0; index < 40; index += 1) {
    await tenant.runFor(7_000 + 911 * index);
    const id = `late_${index}`;
    await tenant.accept(id);
    const acceptedAtMs = Date.now();
    await tenant.runFor(flushDelayMs + 1_000);
    const [sent] = origin.exchangesOf(`in:${id}`).filter((exchange) => exchange.status === 200);
    expect(sent, id).toBeDefined();
    expect((sent?.atMs ?? 0) - acceptedAtMs).toBeLessThanOrEqual(flushDelayMs + 1_000);
  }
  expect(origin.exchangesOf("in:poison").length).toBeGreaterThan(5);
});

test("[V9] [V1] an event that arrives while a poison hangs is delivered within flushDelayMs + 1 s all the same", async () => {
  const origin = new Origin();
  const held = [gate(), gate()] as const;
  let turn = 0;
  origin.answer = (_request, events) => {
    if (!events.some((event) => event.id === "in:poison")) return status(200);
    turn += 1;
    return (turn === 1 ? held[0] : held[1]).answer;
  };
  const flushDelayMs = 0;
  const tenant = await Tenant.create({
    destinations: { origin: http("origin.test", { batch: { flushDelayMs }, timeoutMs: 60_000 }) },
  });
  await tenant.accept("poison");
  const first = tenant.runAlarm();
  await origin.reached(1);
  held[0].open(status(500));
  await first;
  vi.setSystemTime(Date.now() + 60_000);
  const run = tenant.runAlarm();
  await origin.reached(2);
  await tenant.accept("late");
  await origin.reached(3);
  expect(origin.ids()).toEqual(["in:late"]);
  held[1].open(status(500));
  await run;
});

test("[V16] [V21] [X5] the ledger of a destination added later, removed and added again balances at each step", async () => {
  const origin = new Origin();
  const all = http("origin.test");
  const some = http("some.test", { filter: { types: ["invoice.*"] } });
  const tenant = await Tenant.create({ destinations: { all } });
  const post = async (id: string, type: string) => {
    expect((await tenant.post(id, "{}", { "x-event-type": type })).status).toBe(202);
  };
  const check = async (expected: Record<string, unknown> | null) => {
    const stats = await tenant.stats();
    expect(isBalanced(stats)).toBe(true);
    if (expected === null) expect(stats.destinations.some).toBeUndefined();
    else expect(stats.destinations.some).toMatchObject(expected);
  };
  await post("1", "invoice.paid");
  await check(null);
  await tenant.reconfigure({ destinations: { all, some } });
  await check({ offered: 0, backlog: 0 });
  await post("2", "invoice.paid");
  await post("3", "customer.new");
  await check({ offered: 2, backlog: 2 });
  await tenant.runFor(2 * MINUTE_MS);
  await check({ offered: 2, delivered: 1, filtered: 1, backlog: 0 });
  await tenant.admin("POST", "/destinations/some/pause");
  await post("4", "invoice.sent");
  await check({ offered: 3, delivered: 1, filtered: 1, backlog: 1 });
  expect((await tenant.configure({ destinations: { all } })).status).toBe(409);
  await check({ offered: 3, backlog: 1 });
  await tenant.reconfigure({ destinations: { all } }, "?force=true");
  await check(null);
  await post("5", "invoice.sent");
  await tenant.reconfigure({ destinations: { all, some } });
  await check({ offered: 0, delivered: 0, filtered: 0, backlog: 0, state: "closed" });
  await post("6", "invoice.sent");
  await tenant.runFor(2 * MINUTE_MS);
  await check({ offered: 1, delivered: 1, backlog: 0 });
  // The event view knows which of the two it was.
  expect((await tenant.event("3"))?.destinations.some?.state).toBe("not-offered");
  expect((await tenant.event("6"))?.destinations.some?.state).toBe("delivered");
  const toSome = origin.exchanges.filter((each) => each.url.includes("some.test")).flatMap((each) => each.ids);
  expect(toSome).toEqual(["in:2", "in:6"]);
});

test("[V16] [C1] a destination added costs at most 0.1 row per event, filtered or not", {
  timeout: 60_000,
}, async () => {
  new Origin();
  const cost = async (destinations: Record<string, unknown>): Promise<number> => {
    const tenant = await Tenant.create({ destinations });
    await tenant.accept("warm");
    await tenant.runFor(2 * MINUTE_MS);
    const rows = await countRows(tenant);
    for (let round = 0; round < 4; round += 1) {
      for (const name of Object.keys(destinations)) await tenant.admin("POST", `/destinations/${name}/pause`);
      await Promise.all(ids(100, round * 100).map((id) => tenant.post(id, "{}")));
      for (const name of Object.keys(destinations)) await tenant.admin("POST", `/destinations/${name}/resume`);
      await tenant.runFor(2 * MINUTE_MS);
    }
    for (const name of Object.keys(destinations)) expect(await tenant.ledger(name)).toMatchObject({ backlog: 0 });
    return rows.written();
  };
  const one = await cost({ a: http("a.test") });
  const plain = await cost({ a: http("a.test"), b: http("b.test") });
  const filtered = await cost({ a: http("a.test"), b: http("b.test", { filter: { types: ["none"] } }) });
  // Eight rows of each are the pausing and resuming of the destination added.
  expect((plain - one - 8) / 400).toBeLessThanOrEqual(0.1);
  expect((filtered - one - 8) / 400).toBeLessThanOrEqual(0.1);
});
