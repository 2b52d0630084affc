import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { moveClock, startClock, stopClock } from "../flow/clock.ts";
import { Origin, status } from "../flow/origin.ts";
import { alertOf, http, isBalanced, SECRET, Tenant } from "../flow/tenant.ts";
import { failToStore, mend } from "../flow/trouble.ts";
import { arrive, arriveOne, manyCalls } from "./arrivals.ts";

beforeEach(() => startClock());

afterEach(() => {
  vi.restoreAllMocks();
  stopClock();
});

function kindsOf(answers: readonly { readonly kind: string }[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { kind } of answers) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

describe("rate limit", () => {
  test("[R1] [D4] an eviction is no way around it, and duplicates cost no quota", async () => {
    new Origin();
    const tenant = await Tenant.create({ rateLimit: { events: 5, windowSeconds: 10 } });
    const arrivals = Array.from({ length: 6 }, (_, index) => ({ id: `evt_${index}` }));
    expect(kindsOf(await arrive(tenant, ...arrivals))).toEqual({ buffered: 5, "rate-limited": 1 });
    for (let repeat = 0; repeat < 3; repeat += 1) {
      await tenant.evict();
      expect((await arriveOne(tenant, { id: "evt_0" })).kind).toBe("deduplicated");
      expect((await arriveOne(tenant, { id: "evt_5" })).kind).toBe("rate-limited");
    }
    moveClock(2_000);
    await tenant.evict();
    expect((await arriveOne(tenant, { id: "evt_5" })).kind).toBe("buffered");
    expect((await arriveOne(tenant, { id: "evt_6" })).kind).toBe("rate-limited");
  });

  test("[R1] rebuilding after an eviction reads at most `events` rows and writes none", async () => {
    new Origin();
    const tenant = await Tenant.create({ rateLimit: { events: 20, windowSeconds: 3_600 } });
    for (let round = 0; round < 5; round += 1) {
      const arrivals = Array.from({ length: 20 }, (_, index) => ({ id: `evt_${round}_${index}` }));
      expect(kindsOf(await arrive(tenant, ...arrivals))).toEqual({ buffered: 20 });
      await tenant.settle();
      moveClock(3_600_000);
    }
    const before = await tenant.stats();
    await tenant.evict();
    const after = await tenant.stats();
    expect(after.cost.rowsWritten).toBeLessThanOrEqual(before.cost.rowsWritten);
    // The rest is the registry, the cursors and what `stats` itself reads.
    expect(after.cost.rowsRead - before.cost.rowsRead).toBeLessThan(20 + 60);
  });

  test("[R1] a token is given back where storing fails", async () => {
    new Origin();
    const tenant = await Tenant.create({ rateLimit: { events: 4, windowSeconds: 10 } });
    await tenant.accept("evt_0");
    await failToStore(tenant, "bad");
    for (let attempt = 0; attempt < 5; attempt += 1) {
      expect((await arriveOne(tenant, { id: "bad" })).kind).toBe("unavailable");
    }
    await mend(tenant);
    const arrivals = ["evt_1", "evt_2", "evt_3", "evt_4"].map((id) => ({ id }));
    expect(kindsOf(await arrive(tenant, ...arrivals))).toEqual({ buffered: 3, "rate-limited": 1 });
  });

  test("[R3] [FR 67] a provider that would give up is absorbed: ten times the limit, then 429 for all", async () => {
    new Origin();
    const tenant = await Tenant.create({ rateLimit: { events: 10, windowSeconds: 10, action: "absorb" } });
    const arrivals = Array.from({ length: 115 }, (_, index) => ({ id: `e${index}`, overLimit: "absorb" as const }));
    expect(kindsOf(await arrive(tenant, ...arrivals))).toEqual({ buffered: 110, "rate-limited": 5 });
    expect(await tenant.stats()).toMatchObject({ accepted: 110, rateLimited: 5 });
  });

  test("[R3] [FR 67] GitHub, which never retries, is absorbed from outside, generic is told to wait", async () => {
    new Origin();
    const tenant = await Tenant.create({
      rateLimit: { events: 1, windowSeconds: 10 },
      sources: {
        in: { provider: "generic", secrets: [SECRET] },
        gh: { provider: "github", secrets: [SECRET] },
      },
    });
    const asGitHub = async (id: string) => {
      const signature = await sha256Of("{}");
      const headers = { "x-signature": "", "x-hub-signature-256": `sha256=${signature}`, "x-github-delivery": id };
      return (await tenant.post(null, "{}", headers, `/webhook/${tenant.name}/gh`)).status;
    };
    expect([await asGitHub("a"), await asGitHub("b"), await asGitHub("c")]).toEqual([202, 202, 202]);
    expect((await tenant.post("d", "{}", {}, `/webhook/${tenant.name}/in`)).status).toBe(429);
  });

  test("[R1] a smaller limit counts at once, a larger one fills up from what there is", async () => {
    new Origin();
    const tenant = await Tenant.create({ rateLimit: { events: 50, windowSeconds: 10 } });
    await tenant.reconfigure({ rateLimit: { events: 2, windowSeconds: 10 } });
    const arrivals = Array.from({ length: 5 }, (_, index) => ({ id: `evt_${index}` }));
    expect(kindsOf(await arrive(tenant, ...arrivals))).toEqual({ buffered: 2, "rate-limited": 3 });
  });
});

describe("backlog", () => {
  test("[R4] [X5] [L6] one of two destinations is paused at its bound: the other gets all 3,000, no 503, at most a row per 1,000 dead", {
    timeout: 60_000,
  }, async () => {
    const origin = new Origin();
    const tenant = await Tenant.create({
      maxBacklogEvents: 1_000,
      destinations: { on: http("on.test"), off: http("off.test") },
    });
    expect((await tenant.admin("POST", "/destinations/off/pause")).status).toBe(200);
    const calls = await manyCalls(tenant, "e", 3_000);
    for (let first = 0; first < calls.length; first += 200) {
      const answers = await Promise.all(calls.slice(first, first + 200).map(async (call) => tenant.ingest(call)));
      expect(kindsOf(answers)).toEqual({ buffered: 200 });
      await tenant.runFor(1_000);
      expect(isBalanced(await tenant.stats())).toBe(true);
    }
    expect(await tenant.ledger("on")).toMatchObject({ offered: 3_000, delivered: 3_000, backlog: 0, dead: 0 });
    const off = await tenant.ledger("off");
    expect(off).toMatchObject({ state: "paused", offered: 3_000, delivered: 0 });
    expect(off.dead + off.backlog).toBe(3_000);
    expect(off.backlog).toBeLessThanOrEqual(1_000);
    expect(off.backlog).toBeGreaterThan(980);
    const ranges = await tenant.sql<{ n: number; events: number }>(
      "SELECT count(*) AS n, sum(event_count) AS events FROM dead_range",
    );
    expect(ranges[0]?.events).toBe(off.dead);
    expect(ranges[0]?.n).toBeLessThanOrEqual(Math.ceil(off.dead / 1_000));
    expect(alertOf(await tenant.stats(), "backlog-full")).toMatchObject({ destination: "off" });
    const on = origin.exchanges.filter(({ url }) => url.includes("on.test")).flatMap(({ ids }) => ids);
    expect(new Set(on).size).toBe(3_000);
    expect(on).toHaveLength(3_000);
    // The oldest went, the newest are delivered once it is resumed.
    await tenant.admin("POST", "/destinations/off/resume");
    await tenant.runFor(600_000);
    const late = origin.exchanges.filter(({ url }) => url.includes("off.test")).flatMap(({ ids }) => ids);
    expect(late).toHaveLength(off.backlog);
    expect(late).toContain("in:e2999");
    expect(late).not.toContain("in:e0");
    expect(await tenant.ledger("off")).toMatchObject({ delivered: off.backlog, dead: off.dead, backlog: 0 });
  });

  test("[R4] beyond the bound intake stops with 503 and Retry-After: 60; at 80 % an alert names who is behind; when it drains it goes on", async () => {
    const origin = new Origin();
    origin.answer = () => status(503);
    const tenant = await Tenant.create({ maxBacklogEvents: 100 });
    const calls = await manyCalls(tenant, "e", 79);
    await Promise.all(calls.map(async (call) => tenant.ingest(call)));
    expect(alertOf(await tenant.stats(), "backlog-nearly-full")).toBeNull();
    const more = await manyCalls(tenant, "f", 30);
    const answers = await Promise.all(more.map(async (call) => tenant.ingest(call)));
    expect(kindsOf(answers)).toEqual({ buffered: 21, unavailable: 9 });
    expect(answers.at(-1)).toEqual({ kind: "unavailable", code: "backlog-full", retryAfterSeconds: 60 });
    const refused = await tenant.post("late", "{}");
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "60"]);
    expect(alertOf(await tenant.stats(), "backlog-nearly-full")).toMatchObject({
      destination: "origin",
      clearedAt: null,
    });
    expect(await tenant.ledger()).toMatchObject({ offered: 100, backlog: 100, dead: 0 });
    // A repeat of what is stored is still a duplicate.
    const [known] = calls;
    if (known !== undefined) expect((await tenant.ingest(known)).kind).toBe("deduplicated");
    origin.answer = () => status(200);
    await tenant.runFor(3_600_000);
    expect(await tenant.ledger()).toMatchObject({ delivered: 100, backlog: 0 });
    expect((await tenant.post("late", "{}")).status).toBe(202);
    expect(alertOf(await tenant.stats(), "backlog-nearly-full")?.clearedAt).toEqual(expect.any(String));
  });

  test("[R4] a lone destination that is paused loses nothing: at the bound intake stops", async () => {
    new Origin();
    const tenant = await Tenant.create({ maxBacklogEvents: 100 });
    await tenant.admin("POST", "/destinations/origin/pause");
    const calls = await manyCalls(tenant, "e", 105);
    const answers = await Promise.all(calls.map(async (call) => tenant.ingest(call)));
    expect(kindsOf(answers)).toEqual({ buffered: 100, unavailable: 5 });
    expect(await tenant.ledger()).toMatchObject({ backlog: 100, dead: 0 });
  });

  test("[R4] bytes are bounded as well", async () => {
    new Origin();
    const tenant = await Tenant.create({ maxBacklogBytes: 1_000_000 });
    await tenant.admin("POST", "/destinations/origin/pause");
    const calls = await manyCalls(tenant, "e", 12, 100_000);
    const answers = await Promise.all(calls.map(async (call) => tenant.ingest(call)));
    expect(kindsOf(answers)).toEqual({ buffered: 10, unavailable: 2 });
  });

  test("[R4] [L5] an alert raised in a transaction that was rolled back is raised by the next one", async () => {
    new Origin();
    const tenant = await Tenant.create({ maxBacklogEvents: 100 });
    await tenant.admin("POST", "/destinations/origin/pause");
    const calls = await manyCalls(tenant, "e", 79);
    await Promise.all(calls.map(async (call) => tenant.ingest(call)));
    await failToStore(tenant, "bad");
    expect((await arriveOne(tenant, { id: "bad" })).kind).toBe("unavailable");
    await mend(tenant);
    expect((await arriveOne(tenant, { id: "good" })).kind).toBe("buffered");
    expect(alertOf(await tenant.stats(), "backlog-nearly-full")).toMatchObject({ clearedAt: null });
  });
});

describe("batches", () => {
  test("[V48] [V1] [C3] a batch is full by its bytes, those of kept headers among them: fresh, and put back", async () => {
    const origin = new Origin();
    const batch = { flushDelayMs: 60_000, maxEvents: 100, maxBytes: 100_000 };
    const tenant = await Tenant.create({ destinations: { origin: http("origin.test", { batch }) } });
    const headers = JSON.stringify({ "x-much": "a".repeat(20_000) });
    const contentType = `text/plain; charset=${"b".repeat(10_000)}`;
    const calls = await manyCalls(tenant, "e", 10, 64, { headers, contentType });
    await Promise.all(calls.map(async (call) => tenant.ingest(call)));
    await tenant.runFor(120_000);
    expect(origin.exchanges.map(({ ids }) => ids.length)).toEqual([3, 3, 3, 1]);
    const ids = calls.map(({ eventId }) => eventId);
    expect((await tenant.admin("POST", "/events/replay", { destinations: ["origin"], ids })).status).toBe(200);
    await tenant.runFor(120_000);
    expect(origin.exchanges.map(({ ids }) => ids.length)).toEqual([3, 3, 3, 1, 3, 3, 3, 1]);
  });
});

async function sha256Of(body: string): Promise<string> {
  const key = await crypto.subtle.importKey(
    "raw",
    new TextEncoder().encode(SECRET),
    { name: "HMAC", hash: "SHA-256" },
    false,
    ["sign"],
  );
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, new TextEncoder().encode(body))).toHex();
}
