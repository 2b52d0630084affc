import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { hurried, startClock, stopClock } from "./clock.ts";
import { type Answer, drop, hang, Origin, status } from "./origin.ts";
import { http, isBalanced, Tenant } from "./tenant.ts";

beforeEach(() => startClock());

afterEach(() => {
  vi.restoreAllMocks();
  stopClock();
});

test("[V12] [X5] 120 events accepted while the origin answers 503 all arrive after it recovers, none dead", {
  timeout: 30_000,
}, async () => {
  const origin = new Origin();
  origin.answer = () => status(503);
  const tenant = await Tenant.create();
  const ids = Array.from({ length: 120 }, (_, index) => `evt_${index}`);
  await tenant.accept(...ids.slice(0, 40));
  expect(isBalanced(await tenant.stats())).toBe(true);
  await tenant.runFor(60_000);
  await tenant.accept(...ids.slice(40, 80));
  await tenant.runFor(600_000);
  await tenant.accept(...ids.slice(80));
  const during = await tenant.stats();
  expect(during.destinations.origin).toMatchObject({ offered: 120, delivered: 0, backlog: 120, dead: 0 });
  expect(isBalanced(during)).toBe(true);
  expect(origin.requests.length).toBeLessThan(40);
  origin.answer = () => status(204);
  await tenant.runFor(3_600_000);
  const after = await tenant.stats();
  expect(after.destinations.origin).toMatchObject({
    offered: 120,
    delivered: 120,
    backlog: 0,
    dead: 0,
    state: "closed",
  });
  expect(isBalanced(after)).toBe(true);
  expect([...origin.counts().values()]).toEqual(ids.map(() => 1));
  expect(new Set(origin.ids())).toEqual(new Set(ids.map((id) => `in:${id}`)));
});

const poisons: readonly (readonly [string, Answer])[] = [
  ["500", () => status(500, "cannot")],
  ["400", () => status(400, "bad event")],
  ["a hang", (request) => hang(request)],
  ["a dropped connection", () => drop()],
];
const places: readonly (readonly [string, number])[] = [
  ["head", 0],
  ["middle", 20],
  ["end", 39],
];
const cases = poisons.flatMap(([kind, answer]) =>
  places.map(([place, index]) => [kind, place, answer, index] as const),
);

test.each(cases)(
  "[V9] [V10] [V22] [FR 53] of 40 events one gets %s, at the %s: 39 arrive once, the one is dead after 4 charged attempts",
  { timeout: 30_000 },
  async (_kind, _place, poisoned, index) => {
    const origin = new Origin();
    const poison = `in:evt_${index}`;
    origin.answer = (request, events) =>
      events.some((event) => event.id === poison) ? poisoned(request, events) : status(200);
    const tenant = await Tenant.create({
      destinations: {
        origin: http("origin.test", {
          batch: { flushDelayMs: 200 },
          timeoutMs: 1_000,
          circuitBreaker: { openMs: 1_000 },
          retry: { maxAttempts: 4, baseMs: 1_000, maxMs: 4_000 },
        }),
      },
    });
    await tenant.accept(...Array.from({ length: 40 }, (_, each) => `evt_${each}`));
    await hurried(() => tenant.runFor(30_000));
    expect([...origin.counts().values()]).toEqual(Array.from({ length: 39 }, () => 1));
    expect(isBalanced(await tenant.stats())).toBe(true);
    await hurried(() => tenant.runFor(30_000));
    const ledger = await tenant.ledger();
    expect(ledger).toMatchObject({ offered: 40, delivered: 39, dead: 1, backlog: 0, state: "closed" });
    const letters = (await (await tenant.admin("GET", "/dead-letters")).json()) as {
      items: { id: string; attempts: number }[];
    };
    expect(letters.items).toMatchObject([{ id: poison, attempts: 4 }]);
    // Alone it was sent exactly four times: the isolation's single send is the first charged attempt.
    expect(origin.exchangesOf(poison).filter((exchange) => exchange.ids.length === 1)).toHaveLength(4);
    expect(origin.counts().has(poison)).toBe(false);
  },
);
