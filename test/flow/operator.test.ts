import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { moveClock, startClock, stopClock } from "./clock.ts";
import { Origin, status } from "./origin.ts";
import { http, isBalanced, Tenant } from "./tenant.ts";

beforeEach(() => startClock());

afterEach(() => {
  vi.restoreAllMocks();
  stopClock();
});

interface DeadLetterPage {
  readonly items: readonly { readonly id: string; readonly seq: string; readonly reason: string }[];
  readonly cursor: string | null;
}

async function deadLetters(tenant: Tenant, query = ""): Promise<DeadLetterPage> {
  const response = await tenant.admin("GET", `/dead-letters${query}`);
  expect(response.status).toBe(200);
  return (await response.json()) as DeadLetterPage;
}

describe("one event, looked at", () => {
  test("[X7] waiting, retried, delivered: its state, its batches and what was answered to each", async () => {
    const origin = new Origin();
    origin.answer = () => status(500, "database is down");
    const tenant = await Tenant.create();
    await tenant.accept("evt_1", "evt_2");
    expect((await tenant.event("evt_1"))?.destinations.origin).toEqual({ state: "backlog", attempts: [] });
    await tenant.runAlarm();
    const retried = (await tenant.event("evt_1"))?.destinations.origin;
    expect(retried?.attempts[0]).toMatchObject({ status: 500, outcome: "failed", response: "database is down" });
    origin.answer = () => status(200);
    await tenant.runFor(600_000);
    const delivered = await tenant.event("evt_1");
    expect(delivered).toMatchObject({ id: "in:evt_1", seq: "1", source: "in", provider: "generic", bodySizeBytes: 14 });
    const { state, attempts } = delivered?.destinations.origin ?? { state: null, attempts: [] };
    expect(state).toBe("delivered");
    expect(attempts.at(-1)).toMatchObject({ status: 200, outcome: "accepted", response: "" });
    // Durations are real and the clock of a run stands still: of its requests the longer one seems to have begun earlier.
    const told = attempts.map(({ batchId, status: code }) => `${batchId} ${code}`);
    const own = origin.exchangesOf("in:evt_1").map((exchange) => `${exchange.batchId} ${exchange.status}`);
    expect(told.toSorted()).toEqual(own.toSorted());
  });

  test("[X7] of an answer that is no success at most 8 KiB are kept, of one that is none", async () => {
    const origin = new Origin();
    origin.answer = () => (origin.requests.length === 1 ? status(400, "e".repeat(100_000)) : status(200, "thank you"));
    const tenant = await Tenant.create();
    await tenant.accept("evt_1");
    await tenant.runFor(600_000);
    const attempts = (await tenant.event("evt_1"))?.destinations.origin?.attempts ?? [];
    expect(attempts.map(({ status: code, response }) => [code, response.length])).toEqual([
      [400, 8_192],
      [200, 0],
    ]);
  });

  test("[X7] a retried event keeps its last 20 attempts", { timeout: 30_000 }, async () => {
    const origin = new Origin();
    origin.answer = (_request, events) => status(events.some(({ id }) => id === "in:bad") ? 400 : 200);
    const retry = { maxAttempts: 30, baseMs: 100, maxMs: 1_000 };
    const tenant = await Tenant.create({ destinations: { origin: http("origin.test", { retry }) } });
    await tenant.accept("bad");
    for (let index = 0; index < 35 && (await tenant.ledger()).dead === 0; index += 1) {
      await tenant.accept(`good_${index}`);
      await tenant.runFor(2_000);
    }
    expect(await tenant.ledger()).toMatchObject({ dead: 1, backlog: 0 });
    const event = await tenant.event("bad");
    expect(event?.destinations.origin).toMatchObject({ state: "dead", reason: "refused" });
    expect(event?.destinations.origin?.attempts.length).toBeGreaterThanOrEqual(20);
    expect(event?.destinations.origin?.attempts.length).toBeLessThanOrEqual(40);
    const [row] = await tenant.sql<{ attempts: string }>("SELECT attempts FROM dead");
    expect((JSON.parse(row?.attempts ?? "[]") as unknown[]).length).toBe(20);
  });

  test("[X7] [V21] an event from before a destination began was not offered to it", async () => {
    new Origin();
    const tenant = await Tenant.create();
    await tenant.accept("evt_1");
    await tenant.settle();
    await tenant.reconfigure({ destinations: { origin: http(), late: http("late.test") } });
    expect((await tenant.event("evt_1"))?.destinations.late).toEqual({ state: "not-offered", attempts: [] });
  });

  test("[O11] [I3] its bytes come as they came, as data to be saved; an unknown one is 404", async () => {
    new Origin();
    const tenant = await Tenant.create();
    const body = new Uint8Array([0x3c, 0x73, 0x63, 0x72, 0x69, 0x70, 0x74, 0x3e, 0xff, 0x00]);
    await tenant.post("evt_1", body, { "content-type": "text/html" });
    const response = await tenant.admin("GET", "/events/in%3Aevt_1/body");
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(body);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "application/octet-stream",
      "content-disposition": "attachment",
      "x-content-type-options": "nosniff",
      "content-security-policy": "sandbox; default-src 'none'",
    });
    expect((await tenant.admin("GET", "/events/in%3Anobody/body")).status).toBe(404);
  });
});

describe("dead letters", () => {
  test("[X1] [X2] are listed page by page, oldest first, and redriven by id with fresh attempts; the ledger balances at each step", async () => {
    const origin = new Origin();
    origin.answer = () => status(422, "unknown order");
    const tenant = await Tenant.create({
      destinations: { origin: http("origin.test", { retry: { maxAttempts: 1 } }) },
    });
    for (let index = 0; index < 7; index += 1) {
      await tenant.accept(`evt_${index}`);
      await tenant.runFor(600_000);
      // Guilt needs contrast: another event is accepted in between.
      origin.answer = () => status(200);
      await tenant.accept(`good_${index}`);
      await tenant.runFor(600_000);
      origin.answer = (_request, events) => status(events.some(({ id }) => id.includes("evt_")) ? 422 : 200);
    }
    const dead = (await tenant.ledger()).dead;
    expect(dead).toBeGreaterThanOrEqual(5);
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page: DeadLetterPage = await deadLetters(tenant, `?limit=2${cursor === null ? "" : `&cursor=${cursor}`}`);
      seen.push(...page.items.map(({ id }) => id));
      expect(page.items.length).toBeLessThanOrEqual(2);
      cursor = page.cursor;
    } while (cursor !== null);
    expect(seen).toHaveLength(dead);
    expect(new Set(seen).size).toBe(dead);
    const [first, second] = seen;
    const call = { ids: [first, second, "in:good_0", "in:nobody"] };
    const dry = await tenant.admin("POST", "/dead-letters/redrive", { ...call, dryRun: true });
    expect(await dry.json()).toMatchObject({ count: 2 });
    expect((await tenant.ledger()).dead).toBe(dead);
    const redriven = await tenant.admin("POST", "/dead-letters/redrive", call);
    expect(await redriven.json()).toMatchObject({ count: 2 });
    expect(await tenant.ledger()).toMatchObject({ dead: dead - 2, backlog: 2 });
    expect(isBalanced(await tenant.stats())).toBe(true);
    origin.answer = () => status(200);
    const before = origin.accepted.length;
    await tenant.settle();
    expect(origin.accepted.slice(before).map(({ id, attempt }) => [id, attempt])).toEqual([
      [first, 1],
      [second, 1],
    ]);
    expect(await tenant.ledger()).toMatchObject({ dead: dead - 2, backlog: 0 });
    expect(isBalanced(await tenant.stats())).toBe(true);
  });

  test("[V12] [L6] [X5] what is given up after a long outage is listed and redriven like any other", {
    timeout: 30_000,
  }, async () => {
    const origin = new Origin();
    origin.answer = () => status(500);
    const tenant = await Tenant.create({
      destinations: { origin: http("origin.test", { giveUpAfterSeconds: 3_600 }) },
    });
    await tenant.accept(...Array.from({ length: 30 }, (_, index) => `evt_${index}`));
    await tenant.runFor(3_500_000);
    expect(await tenant.ledger()).toMatchObject({ dead: 0, backlog: 30 });
    await tenant.runFor(3_600_000);
    expect(await tenant.ledger()).toMatchObject({ dead: 30, backlog: 0 });
    const page = await deadLetters(tenant, "?limit=100");
    expect(page.items.map(({ seq }) => seq)).toEqual(Array.from({ length: 30 }, (_, index) => String(index + 1)));
    expect(new Set(page.items.map(({ reason }) => reason))).toEqual(new Set(["gave-up"]));
    origin.answer = () => status(200);
    const ids = page.items.slice(10, 20).map(({ id }) => id);
    expect(await (await tenant.admin("POST", "/dead-letters/redrive", { ids })).json()).toMatchObject({ count: 10 });
    await tenant.runFor(3_600_000);
    expect(await tenant.ledger()).toMatchObject({ dead: 20, delivered: 10, backlog: 0, state: "closed" });
    expect(new Set(origin.ids())).toEqual(new Set(ids));
    expect((await deadLetters(tenant, "?limit=100")).items).toHaveLength(20);
    expect(isBalanced(await tenant.stats())).toBe(true);
  });
});

describe("stats", () => {
  test("[X5] [O10] name the age of the oldest event that waits, when it is tried next, and what is stored", async () => {
    const origin = new Origin();
    origin.answer = () => status(429, null, { "retry-after": "30" });
    const tenant = await Tenant.create();
    expect(await tenant.ledger()).toMatchObject({ oldestBacklogAgeMs: null, nextAttemptAt: null });
    await tenant.accept("evt_1");
    await tenant.settle();
    const heldUntilMs = Date.now() + 30_000;
    moveClock(12_000);
    await tenant.accept("evt_2");
    const ledger = await tenant.ledger();
    expect(ledger).toMatchObject({ state: "holding", backlog: 2, oldestBacklogAgeMs: 12_000 });
    expect(Date.parse(ledger.nextAttemptAt ?? "")).toBeGreaterThan(Date.now());
    expect(Date.parse(ledger.nextAttemptAt ?? "")).toBeLessThanOrEqual(heldUntilMs + 60_000);
    const { storage, cost } = await tenant.stats();
    expect(storage.bytes).toBeGreaterThan(0);
    expect(storage.segments).toBe(2);
    expect(Date.parse(cost.since)).toBeLessThanOrEqual(Date.now());
    origin.answer = () => status(200);
    await tenant.admin("POST", "/drain");
    await tenant.runFor(60_000);
    expect(await tenant.ledger()).toMatchObject({ delivered: 2, oldestBacklogAgeMs: null });
  });
});
