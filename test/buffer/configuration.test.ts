import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ConfigRecord } from "../../src/tenants/config.ts";
import { parseConfig } from "../../src/tenants/parse.ts";
import { sealConfig } from "../../src/tenants/sealing.ts";
import { moveClock, startClock, stopClock } from "../flow/clock.ts";
import { gate, Origin, status } from "../flow/origin.ts";
import { admin, alertOf, http, isBalanced, SECRET, Tenant } from "../flow/tenant.ts";
import { context } from "../tenants/sample.ts";
import { arriveOne, callFor } from "./arrivals.ts";

const DAY_MS = 86_400_000;
const keys = { current: Uint8Array.from({ length: 32 }, (_, index) => index), previous: null };

beforeEach(() => startClock());

afterEach(() => {
  vi.restoreAllMocks();
  stopClock();
});

async function versionOf(tenant: Tenant): Promise<number> {
  return (await tenant.calls.readConfig())?.version ?? 0;
}

/** A sealed record as the admin API makes one. */
async function recordOf(tenant: Tenant, input: unknown): Promise<ConfigRecord> {
  const parsed = parseConfig(input, { ...context, allowInsecureDestinations: true, nowMs: Date.now() });
  if (parsed.kind === "problems") throw new Error(JSON.stringify(parsed.problems));
  return sealConfig(keys, tenant.name, parsed.config, 0, "live");
}

const sources = { in: { provider: "generic", secrets: [SECRET] } };

describe("versions", () => {
  test("[O4] a version is the time of the change, and always above the last: never back, not across delete and create", async () => {
    new Origin();
    const tenant = await Tenant.create();
    expect(await versionOf(tenant)).toBe(Date.now());
    await tenant.reconfigure({});
    expect(await versionOf(tenant)).toBe(Date.now() + 1);
    moveClock(-3_600_000);
    await tenant.reconfigure({});
    expect(await versionOf(tenant)).toBe(Date.now() + 3_600_002);
    expect((await tenant.admin("DELETE", "")).status).toBe(200);
    const deleted = await versionOf(tenant);
    await tenant.reconfigure({});
    expect(await versionOf(tenant)).toBe(deleted + 1);
  });

  test("[O4] of racing writers that name the same version one is taken, the others hear 412", async () => {
    const tenant = await Tenant.create();
    const version = await versionOf(tenant);
    const body = { sources, destinations: { origin: http() } };
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => admin("PUT", `/tenants/${tenant.name}`, body, { "if-match": `"${version}"` })),
    );
    expect(answers.map((answer) => answer.status).sort()).toEqual([200, 412, 412, 412, 412]);
    expect(await versionOf(tenant)).toBe(version + 1);
  });

  test("[O4] a delete that names an older version deletes nothing", async () => {
    const tenant = await Tenant.create();
    const version = await versionOf(tenant);
    await tenant.reconfigure({});
    const answer = await admin("DELETE", `/tenants/${tenant.name}`, {}, { "if-match": `"${version}"` });
    expect(answer.status).toBe(412);
    expect((await tenant.stats()).accepted).toBe(0);
  });

  test("[O4] an object without configuration stores nothing and adopts none from an ingest call", async () => {
    const tenant = new Tenant(`t-${crypto.randomUUID()}`);
    expect(await arriveOne(tenant, { id: "evt_1" })).toEqual({ kind: "unconfigured" });
    expect(await tenant.calls.stats()).toBeNull();
    expect(await tenant.calls.event("in:evt_1")).toBeNull();
    expect(await tenant.sql("SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf%' ESCAPE '\\'")).toEqual([]);
    expect(await tenant.alarmAtMs()).toBeNull();
  });

  test("[O4] a call verified with an older version is answered with the newest, sealed, and stores nothing; not so a newer one", async () => {
    new Origin();
    const tenant = await Tenant.create();
    const old = await versionOf(tenant);
    await tenant.reconfigure({});
    const newest = await tenant.calls.readConfig();
    const stale = await tenant.ingest({ ...(await callFor(tenant, { id: "evt_1" })), version: old });
    expect(stale).toEqual({ kind: "stale", record: newest });
    expect(JSON.stringify(stale)).not.toContain(SECRET);
    expect((await tenant.stats()).accepted).toBe(0);
    const same = await tenant.ingest({ ...(await callFor(tenant, { id: "evt_1" })), version: old + 1 });
    expect(same.kind).toBe("buffered");
  });

  test("[O4] where KV cannot be told the answer is 503, the object has the change, and its alarm goes on telling", async () => {
    new Origin();
    const tenant = await Tenant.create();
    await tenant.runFor(60_000);
    const isFailing = { value: true };
    await runInDurableObject(tenant.stub, (instance) => {
      const { env } = instance as unknown as { env: { TENANT_CONFIG: KVNamespace } };
      const kv = env.TENANT_CONFIG;
      const failing = new Proxy(kv, {
        get: (target, name) => {
          if (name === "put" && isFailing.value) return () => Promise.reject(new Error("KV is down"));
          const member: unknown = Reflect.get(target, name);
          return typeof member === "function" ? member.bind(target) : member;
        },
      });
      Object.defineProperty(env, "TENANT_CONFIG", { configurable: true, value: failing });
    });
    try {
      const answer = await tenant.configure({ destinations: { origin: http("second.test") } });
      expect([answer.status, await answer.json()]).toMatchObject([503, { code: "not-everywhere" }]);
      await tenant.runFor(20_000);
      isFailing.value = false;
      await tenant.runFor(10_000);
      expect(await tenant.sql("SELECT untold FROM tenant")).toEqual([{ untold: 0 }]);
      const origin = new Origin();
      await tenant.accept("evt_1");
      await tenant.settle();
      expect(origin.requests.map(({ url }) => url)).toEqual(["https://second.test/in"]);
    } finally {
      isFailing.value = false;
    }
  });

  test("[O4] [L5] a change that cannot be stored changes nothing: the old settings go on, in memory as on disk", async () => {
    const origin = new Origin();
    const tenant = await Tenant.create();
    await tenant.runFor(60_000);
    await tenant.sql("CREATE TRIGGER trouble BEFORE INSERT ON destination BEGIN SELECT RAISE(ABORT, 'no room'); END");
    const version = await versionOf(tenant);
    const answer = await tenant.configure({ destinations: { origin: http("second.test"), more: http("more.test") } });
    expect(answer.status).toBe(500);
    await tenant.sql("DROP TRIGGER trouble");
    expect(await versionOf(tenant)).toBe(version);
    await tenant.accept("evt_1");
    await tenant.settle();
    expect(origin.requests.map(({ url }) => url)).toEqual(["https://origin.test/in"]);
    expect(Object.keys((await tenant.stats()).destinations)).toEqual(["origin"]);
    await tenant.reconfigure({ destinations: { origin: http("second.test") } });
    await tenant.accept("evt_2");
    await tenant.settle();
    expect(origin.requests.map(({ url }) => url)).toEqual(["https://origin.test/in", "https://second.test/in"]);
  });

  test("[O4] a first change that could not be stored can be made again", async () => {
    const tenant = new Tenant(`t-${crypto.randomUUID()}`);
    await tenant.reconfigure({});
    await tenant.sql("DELETE FROM tenant");
    await tenant.sql("DELETE FROM destination");
    await tenant.evict();
    expect((await tenant.configure({})).status).toBe(200);
  });
});

describe("deleting", () => {
  test("[O4] [FR 69] a deleted tenant is 404, its alarm and data go, and its name begins anew: no old events, no old ids", async () => {
    const origin = new Origin();
    origin.answer = () => status(503);
    const tenant = await Tenant.create();
    await tenant.accept("evt_1", "evt_2");
    expect((await tenant.admin("DELETE", "")).status).toBe(409);
    expect((await tenant.admin("DELETE", "?force=true")).status).toBe(200);
    expect((await tenant.post("evt_3", "{}")).status).toBe(404);
    expect((await tenant.admin("GET", "/stats")).status).toBe(404);
    await tenant.runFor(3_600_000);
    expect(origin.requests).toEqual([]);
    await tenant.reconfigure({});
    origin.answer = () => status(200);
    await tenant.accept("evt_1");
    await tenant.runFor(60_000);
    expect(origin.ids()).toEqual(["in:evt_1"]);
    expect(await tenant.ledger()).toMatchObject({ offered: 1, delivered: 1, backlog: 0 });
  });

  test("[O4] an ingest call of an older version hears of the deletion", async () => {
    const tenant = await Tenant.create();
    const version = await versionOf(tenant);
    await tenant.admin("DELETE", "");
    const answer = await tenant.ingest({ ...(await callFor(tenant, { id: "evt_1" })), version });
    expect(answer).toMatchObject({ kind: "stale", record: { state: "deleted", version: version + 1 } });
  });

  test("[O4] [FR 75] after 24 h the tombstone goes: nothing is left, no alarm, and a late call creates nothing", async () => {
    new Origin();
    const tenant = await Tenant.create();
    await tenant.accept("evt_1", "evt_2");
    await tenant.settle();
    await tenant.admin("DELETE", "");
    await tenant.runFor(DAY_MS - 1_000);
    expect(await tenant.sql("SELECT count(*) AS n FROM tenant")).toEqual([{ n: 1 }]);
    await tenant.runFor(2_000);
    expect(await tenant.alarmAtMs()).toBeNull();
    expect(await tenant.sql("SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf%' ESCAPE '\\'")).toEqual([]);
    expect((await arriveOne(tenant, { id: "evt_3" })).kind).toBe("unconfigured");
    expect(await tenant.alarmAtMs()).toBeNull();
    await tenant.reconfigure({});
    await tenant.accept("evt_1");
  });

  test("[O4] [FR 75] [V14] deleted while a run is on: what comes of its request is nobody's business, and no alarm is left over", async () => {
    const origin = new Origin();
    const { answer, open } = gate();
    origin.answer = () => answer;
    const tenant = await Tenant.create();
    await tenant.accept("evt_1");
    const run = tenant.runAlarm();
    await origin.reached(1);
    expect((await tenant.admin("DELETE", "?force=true")).status).toBe(200);
    await tenant.reconfigure({});
    open(status(200));
    await run;
    expect(await tenant.ledger()).toMatchObject({ offered: 0, delivered: 0, backlog: 0 });
    origin.answer = () => status(200);
    await tenant.accept("evt_1");
    await tenant.runFor(60_000);
    expect(await tenant.ledger()).toMatchObject({ offered: 1, delivered: 1 });
  });
});

describe("destinations", () => {
  test("[V21] [FR 69] settings are those at the time of sending: waiting events go to the new URL", async () => {
    const origin = new Origin();
    origin.answer = (request) => status(request.url.includes("old.test") ? 503 : 200);
    const tenant = await Tenant.create({ destinations: { origin: http("old.test") } });
    await tenant.accept("a", "b", "c", "d", "e");
    await tenant.settle();
    await tenant.reconfigure({ destinations: { origin: http("new.test") } });
    const before = origin.requests.length;
    await tenant.runFor(600_000);
    expect(origin.exchanges.slice(before).every(({ url }) => url === "https://new.test/in")).toBe(true);
    expect(new Set(origin.ids()).size).toBe(5);
  });

  test("[V18] [FR 69] paused events are kept and counted, and no attempt is used; resumed, they go", async () => {
    const origin = new Origin();
    const tenant = await Tenant.create();
    await tenant.admin("POST", "/destinations/origin/pause");
    await tenant.accept("a", "b", "c");
    await tenant.evict();
    await tenant.runFor(10 * DAY_MS);
    expect(origin.requests).toEqual([]);
    expect(await tenant.ledger()).toMatchObject({ state: "paused", backlog: 3, dead: 0, nextAttemptAt: null });
    await tenant.admin("POST", "/destinations/origin/resume");
    await tenant.runFor(1_000);
    expect(origin.accepted.map(({ id, attempt }) => [id, attempt])).toEqual([
      ["in:a", 1],
      ["in:b", 1],
      ["in:c", 1],
    ]);
  });

  test("[V21] [X5] a new destination begins with what comes after it; one with `from: oldest` with what is still stored", async () => {
    const origin = new Origin();
    const tenant = await Tenant.create();
    await tenant.accept("a", "b");
    await tenant.settle();
    await tenant.reconfigure({
      destinations: { origin: http(), late: http("late.test"), old: http("old.test", { from: "oldest" }) },
    });
    await tenant.accept("c");
    await tenant.runFor(1_000);
    const to = (host: string) => origin.exchanges.filter(({ url }) => url.includes(host)).flatMap(({ ids }) => ids);
    expect(to("late.test")).toEqual(["in:c"]);
    expect(to("old.test")).toEqual(["in:a", "in:b", "in:c"]);
    const { destinations } = await tenant.stats();
    expect(destinations["late"]).toMatchObject({ offered: 1, delivered: 1 });
    expect(destinations["old"]).toMatchObject({ offered: 3, delivered: 3 });
    expect(isBalanced(await tenant.stats())).toBe(true);
  });

  test("[V21] [X5] [V14] removing one that has a backlog is 409 without force; its ledger ends, one of the same name begins at zero", async () => {
    const origin = new Origin();
    origin.answer = (request) => status(request.url.includes("a.test") ? 503 : 200);
    const tenant = await Tenant.create({ destinations: { a: http("a.test"), b: http("b.test") } });
    await tenant.accept("evt_1", "evt_2");
    await tenant.settle();
    const refused = await tenant.configure({ destinations: { b: http("b.test") } });
    expect(refused.status).toBe(409);
    expect(await refused.text()).toContain("a");
    await tenant.reconfigure({ destinations: { b: http("b.test") } }, "?force=true");
    expect(Object.keys((await tenant.stats()).destinations)).toEqual(["b"]);
    await tenant.reconfigure({ destinations: { a: http("a.test"), b: http("b.test") } });
    expect((await tenant.stats()).destinations["a"]).toMatchObject({ offered: 0, delivered: 0, backlog: 0, dead: 0 });
    origin.answer = () => status(200);
    await tenant.accept("evt_3");
    await tenant.runFor(600_000);
    expect(await tenant.ledger("a")).toMatchObject({ offered: 1, delivered: 1 });
    expect(await tenant.ledger("b")).toMatchObject({ offered: 3, delivered: 3 });
  });

  test("[V14] [V21] an outcome that arrives for a destination created anew meanwhile is dropped", async () => {
    const origin = new Origin();
    const { answer, open } = gate();
    origin.answer = (request) => (request.url.includes("a.test") ? answer : status(200));
    const tenant = await Tenant.create({ destinations: { a: http("a.test"), b: http("b.test") } });
    await tenant.accept("evt_1");
    const run = tenant.runAlarm();
    await origin.reached(2);
    await tenant.reconfigure({ destinations: { b: http("b.test") } }, "?force=true");
    await tenant.reconfigure({ destinations: { a: http("a.test"), b: http("b.test") } });
    open(status(200));
    await run;
    expect(await tenant.ledger("a")).toMatchObject({ offered: 0, delivered: 0, backlog: 0 });
    expect(isBalanced(await tenant.stats())).toBe(true);
  });

  test("[L1] [V21] copied-out events of a removed destination are not kept for ever", async () => {
    const origin = new Origin();
    origin.answer = (request) => status(request.url.includes("a.test") ? 400 : 200);
    const retry = { maxAttempts: 1 };
    const tenant = await Tenant.create({
      retainSeconds: 3_600,
      dedupeWindowSeconds: 86_400,
      destinations: { a: http("a.test", { retry }), b: http("b.test") },
    });
    origin.answer = (request, events) =>
      status(request.url.includes("a.test") && events.some(({ id }) => id === "in:bad") ? 400 : 200);
    await tenant.accept(...Array.from({ length: 99 }, (_, index) => `evt_${index}`));
    await tenant.settle();
    await tenant.accept("bad");
    await tenant.runFor(3 * 3_600_000);
    expect(await tenant.ledger("a")).toMatchObject({ dead: 1, delivered: 99 });
    expect(await tenant.sql("SELECT seq FROM kept")).toEqual([{ seq: 100 }]);
    await tenant.reconfigure({ destinations: { b: http("b.test") } });
    await tenant.runFor(5 * DAY_MS);
    expect(await tenant.sql("SELECT seq FROM kept")).toEqual([]);
    expect((await tenant.stats()).storage.segments).toBe(0);
  });

  test("[V5] a tenant that names no destination is refused while there is no ORIGIN_BASE_URL", async () => {
    const tenant = new Tenant(`t-${crypto.randomUUID()}`);
    const answer = await tenant.configure({ destinations: {} });
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain("ORIGIN_BASE_URL");
  });

  test("[V5] where the variable is gone later `origin` is disabled with an alert and its events wait; an address of its own enables it", async () => {
    const origin = new Origin();
    const tenant = new Tenant(`t-${crypto.randomUUID()}`);
    // Stored when the variable was set; this Worker has none.
    const record = await recordOf(tenant, { sources, rateLimit: { events: 1_000, windowSeconds: 10 } });
    expect(await tenant.calls.configure({ tenant: tenant.name, ifVersion: null, force: false, record })).toMatchObject({
      kind: "configured",
    });
    expect((await arriveOne(tenant, { id: "evt_1" })).kind).toBe("buffered");
    await tenant.runFor(DAY_MS);
    expect(await tenant.ledger()).toMatchObject({ state: "disabled", backlog: 1, dead: 0 });
    expect(alertOf(await tenant.stats(), "destination-disabled")).toMatchObject({
      destination: "origin",
      clearedAt: null,
    });
    await tenant.evict();
    expect(await tenant.ledger()).toMatchObject({ state: "disabled", backlog: 1 });
    await tenant.reconfigure({ destinations: { origin: http() } });
    await tenant.runFor(60_000);
    expect(origin.ids()).toEqual(["in:evt_1"]);
    expect(alertOf(await tenant.stats(), "destination-disabled")?.clearedAt).toEqual(expect.any(String));
  });

  test("[V16] [X5] each destination has its own position and filter: exact by source and type, and counted", async () => {
    const origin = new Origin();
    const tenant = await Tenant.create({
      sources: { ...sources, other: { provider: "generic", secrets: [SECRET] } },
      destinations: {
        all: http("all.test"),
        invoices: http("invoices.test", { filter: { sources: ["in"], types: ["invoice.*"] } }),
        none: http("none.test", { filter: { types: ["never"] } }),
      },
    });
    const types = ["invoice.paid", "charge.failed", "invoice.sent", "invoices", null];
    for (const [index, type] of types.entries()) {
      await arriveOne(tenant, { id: `a${index}`, type });
      await arriveOne(tenant, { id: `b${index}`, type, source: "other" });
    }
    await tenant.runFor(600_000);
    const to = (host: string) => origin.exchanges.filter(({ url }) => url.includes(host)).flatMap(({ ids }) => ids);
    expect(to("all.test")).toHaveLength(10);
    expect(to("invoices.test")).toEqual(["in:a0", "in:a2"]);
    expect(to("none.test")).toEqual([]);
    const { destinations } = await tenant.stats();
    expect(destinations["invoices"]).toMatchObject({ offered: 10, delivered: 2, filtered: 8, backlog: 0 });
    expect(destinations["none"]).toMatchObject({ offered: 10, delivered: 0, filtered: 10, backlog: 0 });
    expect(isBalanced(await tenant.stats())).toBe(true);
  });
});
