import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { EventPage, JobView } from "../../src/buffer/contract.ts";
import { moveClock, startClock, stopClock } from "./clock.ts";
import { Origin, status } from "./origin.ts";
import { http, isBalanced, Tenant } from "./tenant.ts";

beforeEach(() => startClock());

afterEach(() => {
  vi.restoreAllMocks();
  stopClock();
});

const HOUR_MS = 3_600_000;
const ids = (count: number, from = 0): string[] => Array.from({ length: count }, (_, index) => `e${from + index}`);

/** A tenant whose `count` events died together of a long outage. */
async function withDead(origin: Origin, count: number, config: Record<string, unknown> = {}): Promise<Tenant> {
  origin.answer = () => status(500);
  const tenant = await Tenant.create({
    destinations: { origin: http("origin.test", { giveUpAfterSeconds: 3_600 }) },
    ...config,
  });
  for (const [index, id] of ids(count).entries()) {
    const type = index % 2 === 0 ? "even" : "odd";
    expect((await tenant.post(id, `{"secret":"${id}"}`, { "x-event-type": type })).status).toBe(202);
  }
  await tenant.runFor(3 * HOUR_MS);
  expect(await tenant.ledger()).toMatchObject({ dead: count, backlog: 0 });
  origin.answer = () => status(200);
  return tenant;
}

async function post<T>(tenant: Tenant, path: string, body: unknown): Promise<T> {
  const response = await tenant.admin("POST", path, body);
  expect(response.status, path).toBe(200);
  return (await response.json()) as T;
}

async function job(tenant: Tenant, id: string): Promise<JobView> {
  return (await (await tenant.admin("GET", `/jobs/${id}`)).json()) as JobView;
}

const byType = (type: string) => ({ destination: "origin", filter: { type } });

test("[X2] [X4] [X6] [X3] a dry run says how many, and changes nothing", async () => {
  const tenant = await withDead(new Origin(), 20);
  const before = await tenant.ledger();
  const dry = { dryRun: true };
  expect(await post(tenant, "/dead-letters/redrive", { ...byType("odd"), ...dry })).toEqual({ count: 10 });
  expect(await post(tenant, "/dead-letters/purge", { destination: "origin", all: true, ...dry })).toEqual({
    count: 20,
  });
  expect(
    await post(tenant, "/dead-letters/redrive", { destination: "origin", ids: ["in:e0", "in:nothing"], ...dry }),
  ).toEqual({ count: 1 });
  expect(await post(tenant, "/events/erase", { filter: { type: "even" }, ...dry })).toEqual({ count: 10 });
  expect(await post(tenant, "/events/replay", { filter: { type: "even" }, ...dry })).toEqual({ count: 0 });
  await tenant.runFor(HOUR_MS);
  expect(await tenant.ledger()).toEqual(before);
});

test("[X4] [L6] [X10] a purge by filter takes single events out of ranges; the rest stays dead, and can be redriven", async () => {
  const origin = new Origin();
  const tenant = await withDead(origin, 30);
  const started = await post<{ job: string; count: number }>(tenant, "/dead-letters/purge", byType("odd"));
  expect(started.count).toBe(15);
  await tenant.runFor(1_000);
  expect(await job(tenant, started.job)).toMatchObject({ kind: "purge", state: "done", count: 15, done: 15 });
  expect(await tenant.ledger()).toMatchObject({ dead: 15, purged: 15, backlog: 0 });
  await post(tenant, "/dead-letters/redrive", { destination: "origin", all: true });
  await tenant.runFor(HOUR_MS);
  expect(await tenant.ledger()).toMatchObject({ dead: 0, purged: 15, delivered: 15 });
  expect(new Set(origin.ids())).toEqual(
    new Set(
      ids(30)
        .filter((_, index) => index % 2 === 0)
        .map((id) => `in:${id}`),
    ),
  );
});

test("[X2] [X10] a job goes on after an eviction, and what arrives or dies after it began is not part of it", async () => {
  const origin = new Origin();
  const tenant = await withDead(origin, 30);
  const { job: id } = await post<{ job: string }>(tenant, "/dead-letters/redrive", {
    destination: "origin",
    all: true,
  });
  await tenant.accept("late");
  await post(tenant, "/events/in%3Alate/dead-letter", { destination: "origin" });
  await tenant.evict();
  await tenant.runFor(HOUR_MS);
  expect(await job(tenant, id)).toMatchObject({ state: "done", count: 30, done: 30 });
  expect(await tenant.ledger()).toMatchObject({ delivered: 30, dead: 1, backlog: 0 });
  expect(origin.ids()).not.toContain("in:late");
});

test("[X2] a cancelled redrive stays where it is: what is in the backlog goes, the rest stays dead", async () => {
  const origin = new Origin();
  const tenant = await withDead(origin, 450);
  await tenant.admin("POST", "/destinations/origin/pause");
  const { job: id } = await post<{ job: string }>(tenant, "/dead-letters/redrive", {
    destination: "origin",
    all: true,
  });
  // One slice at least, and not all of them.
  await runInDurableObject(tenant.stub, (_, state) => {
    state.storage.sql.exec(
      "CREATE TRIGGER trouble BEFORE INSERT ON aside WHEN NEW.seq > 300 BEGIN SELECT RAISE(ABORT, 'no room'); END",
    );
  });
  await tenant.runFor(1_000);
  const during = await job(tenant, id);
  const { done } = during;
  expect(during.state).toBe("running");
  expect(done).toBeGreaterThan(100);
  expect(done).toBeLessThanOrEqual(300);
  const response = await tenant.admin("POST", `/jobs/${id}/cancel`);
  expect(await response.json()).toMatchObject({ state: "cancelled", done });
  await tenant.sql("DROP TRIGGER trouble");
  await tenant.admin("POST", "/destinations/origin/resume");
  await tenant.runFor(HOUR_MS);
  expect(await tenant.ledger()).toMatchObject({ delivered: done, dead: 450 - done, backlog: 0 });
  expect(await job(tenant, id)).toMatchObject({ state: "cancelled", done });
  expect((await tenant.admin("GET", "/jobs/nothing")).status).toBe(404);
});

test("[X10] a slice that cannot be written is tried again after a minute, and delivery goes on meanwhile", async () => {
  const origin = new Origin();
  const tenant = await withDead(origin, 5);
  await tenant.sql("CREATE TRIGGER trouble BEFORE INSERT ON aside BEGIN SELECT RAISE(ABORT, 'no room'); END");
  const { job: id } = await post<{ job: string }>(tenant, "/dead-letters/redrive", {
    destination: "origin",
    all: true,
  });
  await tenant.runFor(1_000);
  await tenant.accept("live");
  await tenant.runFor(10_000);
  expect(origin.ids()).toEqual(["in:live"]);
  expect(await job(tenant, id)).toMatchObject({ state: "running", done: 0 });
  await tenant.sql("DROP TRIGGER trouble");
  await tenant.runFor(70_000);
  expect(await job(tenant, id)).toMatchObject({ state: "done", done: 5 });
  await tenant.runFor(10_000);
  expect(await tenant.ledger()).toMatchObject({ delivered: 6, dead: 0 });
});

test("[X2] at most 1,000 redriven events are in the backlog at a time; the rest stays dead until then", {
  timeout: 60_000,
}, async () => {
  const origin = new Origin();
  const tenant = await withDead(origin, 1_300);
  await tenant.admin("POST", "/destinations/origin/pause");
  const { count } = await post<{ count: number }>(tenant, "/dead-letters/redrive", {
    destination: "origin",
    all: true,
  });
  expect(count).toBe(1_300);
  await tenant.runFor(5_000);
  const { backlog, dead } = await tenant.ledger();
  expect(backlog).toBeLessThanOrEqual(1_000);
  expect(backlog).toBeGreaterThanOrEqual(800);
  expect(dead).toBe(1_300 - backlog);
  await tenant.admin("POST", "/destinations/origin/resume");
  await tenant.runFor(HOUR_MS);
  expect(await tenant.ledger()).toMatchObject({ delivered: 1_300, dead: 0, backlog: 0 });
});

test("[X3] [X5] [X7] replay: to those that had it delivered, and by name to one that passed over it or was never offered it", async () => {
  const origin = new Origin();
  const all = http("all.test");
  const some = http("some.test", { filter: { types: ["wanted"] } });
  const tenant = await Tenant.create({ destinations: { all, some } });
  await tenant.post("e0", "{}", { "x-event-type": "other" });
  await tenant.post("e1", "{}", { "x-event-type": "wanted" });
  await tenant.runFor(120_000);
  const late = http("late.test");
  await tenant.reconfigure({ destinations: { all, some, late } });
  const at = (name: string) =>
    origin.exchanges.filter((each) => each.url.includes(`${name}.test`)).flatMap((each) => each.ids);

  expect(await post(tenant, "/events/replay", { ids: ["in:e0", "in:e1"] })).toEqual({ count: 2 });
  await tenant.runFor(1_000);
  expect([at("all").length, at("some").length, at("late").length]).toEqual([4, 2, 0]);
  expect(await post(tenant, "/events/in%3Ae0/replay", { destinations: ["some", "late"] })).toEqual({ count: 1 });
  await tenant.runFor(1_000);
  expect(at("some")).toEqual(["in:e1", "in:e1", "in:e0"]);
  expect(at("late")).toEqual(["in:e0"]);
  const stats = await tenant.stats();
  expect(isBalanced(stats)).toBe(true);
  expect(stats.destinations).toMatchObject({
    all: { offered: 2, delivered: 2 },
    some: { offered: 2, delivered: 2, filtered: 0 },
    late: { offered: 1, delivered: 1 },
  });
  expect((await tenant.event("e0"))?.destinations).toMatchObject({
    all: { state: "delivered" },
    some: { state: "delivered" },
    late: { state: "delivered" },
  });
  expect((await tenant.event("e1"))?.destinations.late?.state).toBe("not-offered");
  // Its id is the same, and it says what it is; it may be repeated.
  expect(origin.accepted.at(-1)).toMatchObject({ id: "in:e0", replay: true });
  expect(await post(tenant, "/events/in%3Ae0/replay", { destinations: ["late"] })).toEqual({ count: 1 });
  await tenant.runFor(1_000);
  expect(at("late")).toEqual(["in:e0", "in:e0"]);
  expect(await tenant.ledger("late")).toMatchObject({ offered: 1, delivered: 1 });
});

describe("erasing", () => {
  const places = async (tenant: Tenant, text: string): Promise<string[]> => {
    const tables = await tenant.sql<{ name: string; sql: string }>(
      "SELECT name, sql FROM sqlite_master WHERE type = 'table'",
    );
    const found: string[] = [];
    for (const { name } of tables.filter((table) => !table.name.startsWith("_cf"))) {
      const rows = await tenant.sql(`SELECT * FROM ${name}`);
      const isThere = rows.some((row) =>
        Object.values(row).some((value) =>
          (value instanceof ArrayBuffer ? new TextDecoder().decode(value) : String(value)).includes(text),
        ),
      );
      if (isThere) found.push(name);
    }
    return found;
  };

  test("[X6] bytes, kept headers and what destinations said of it go from everywhere, whatever became of it", async () => {
    const origin = new Origin();
    const tenant = await Tenant.create({
      sources: { in: { provider: "generic", secrets: ["generic-secret-01-long"], forwardHeaders: ["x-person"] } },
      destinations: {
        origin: http("origin.test", { retry: { maxAttempts: 2, baseMs: 1_000, maxMs: 1_000 } }),
        other: http("other.test"),
      },
    });
    origin.answer = (_request, events) =>
      events.some(({ id }) => id === "in:e1") && _request.url.includes("origin.test")
        ? status(422, `cannot take ${events.map((event) => event.body).join()}`)
        : status(200);
    for (const id of ids(3)) await tenant.post(id, `{"person":"needle-${id}"}`, { "x-person": `needle-${id}` });
    await tenant.runFor(HOUR_MS);
    expect(await tenant.ledger()).toMatchObject({ delivered: 2, dead: 1 });
    expect((await places(tenant, "needle-e1")).length).toBeGreaterThan(1);
    expect(await (await tenant.admin("DELETE", "/events/in%3Ae1/body")).json()).toEqual({ count: 1 });
    expect(await places(tenant, "needle-e1")).toEqual([]);
    expect(await places(tenant, "needle-e2")).not.toEqual([]);
    expect(await tenant.ledger()).toMatchObject({ delivered: 2, dead: 0, erased: 1 });
    expect(await tenant.ledger("other")).toMatchObject({ delivered: 3, erased: 0 });
    expect((await tenant.event("e1"))?.destinations).toMatchObject({
      origin: { state: "erased" },
      other: { state: "delivered" },
    });
    // It is not sent again, and a repeat is a duplicate that brings nothing back.
    expect(await (await tenant.post("e1", '{"person":"needle-e1"}')).json()).toMatchObject({ status: "deduplicated" });
    expect(await post(tenant, "/events/replay", { ids: ["in:e1"] })).toEqual({ count: 0 });
    expect(await places(tenant, "needle-e1")).toEqual([]);
    expect((await tenant.admin("DELETE", "/events/in%3Ae1/body")).status).toBe(200);
    expect(await tenant.ledger()).toMatchObject({ erased: 1 });
  });

  test("[X13] [X5] a destination that begins with the oldest counts what was erased before it came, and is sent the rest", async () => {
    const origin = new Origin();
    const tenant = await Tenant.create();
    for (const id of ids(4)) await tenant.post(id, "{}");
    await tenant.runFor(1_000);
    expect(await post(tenant, "/events/erase", { ids: ["in:e1"] })).toEqual({ count: 1 });
    const late = http("late.test", { from: "oldest" });
    await tenant.reconfigure({ destinations: { origin: http(), late } });
    await tenant.runFor(120_000);
    expect(await tenant.ledger("late")).toMatchObject({ offered: 4, delivered: 3, erased: 1, backlog: 0 });
    const toLate = origin.exchanges.filter(({ url }) => url.includes("late.test")).flatMap((exchange) => exchange.ids);
    expect(toLate).toEqual(["in:e0", "in:e2", "in:e3"]);
    expect(isBalanced(await tenant.stats())).toBe(true);
  });

  test("[X6] [L1] also from what was copied out of a segment that is gone", async () => {
    const origin = new Origin();
    const tenant = await Tenant.create({
      retainSeconds: 3_600,
      destinations: { origin: http("origin.test", { retry: { maxAttempts: 1 } }) },
    });
    origin.answer = (_request, events) => status(events.some(({ id }) => id === "in:e7") ? 422 : 200);
    for (const id of ids(150)) await tenant.post(id, `{"person":"needle-${id}"}`);
    await tenant.runFor(4 * HOUR_MS);
    expect(await tenant.sql("SELECT seq FROM kept")).toHaveLength(1);
    expect(await post(tenant, "/events/erase", { ids: ["in:e7"] })).toEqual({ count: 1 });
    expect(await places(tenant, "needle-e7")).toEqual([]);
    expect(await tenant.ledger()).toMatchObject({ dead: 0, erased: 1, delivered: 149 });
    expect((await tenant.post("e7", '{"person":"needle-e7"}')).status).toBe(200);
  });

  test("[X6] [X10] by filter as a job, from backlog and dead letters alike; a request in flight is finished", async () => {
    const origin = new Origin();
    const tenant = await withDead(origin, 10);
    await tenant.admin("POST", "/destinations/origin/pause");
    for (const id of ids(4, 10)) await tenant.post(id, "{}", { "x-event-type": "even" });
    const started = await post<{ job: string; count: number }>(tenant, "/events/erase", { filter: { type: "even" } });
    expect(started.count).toBe(9);
    await tenant.runFor(1_000);
    expect(await job(tenant, started.job)).toMatchObject({ kind: "erase", state: "done", done: 9 });
    expect(await tenant.ledger()).toMatchObject({ backlog: 0, dead: 5, erased: 9 });
    await tenant.admin("POST", "/destinations/origin/resume");
    await tenant.runFor(HOUR_MS);
    expect(origin.ids()).toEqual([]);
    expect(isBalanced(await tenant.stats())).toBe(true);
  });
});

describe("search", () => {
  const search = async (tenant: Tenant, query: string): Promise<EventPage> =>
    (await (await tenant.admin("GET", `/events?${query}`)).json()) as EventPage;

  test("[X8] a call reads at most 5,000 rows and then answers what it has with a cursor, also when that is nothing", {
    timeout: 60_000,
  }, async () => {
    new Origin();
    const tenant = await Tenant.create();
    await tenant.admin("POST", "/destinations/origin/pause");
    await tenant.post("needle", "{}", { "x-event-type": "rare" });
    const [segment] = await tenant.sql<{ name: string }>(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'body_[0-9]*'",
    );
    const table = segment?.name ?? "";
    await tenant.sql(
      `WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 20000)
       INSERT INTO ${table} (seq, offered_bytes, received_at_ms, size_bytes, source, provider, event_id, type, content_type, headers, hops, body)
       SELECT seq + n, offered_bytes + n, received_at_ms, size_bytes, source, provider, 'in:copy_' || n, 'common', content_type, headers, hops, body
       FROM number, ${table}`,
    );
    await tenant.evict();
    const first = await search(tenant, "type=rare");
    expect(first.items).toEqual([]);
    expect(first.cursor).not.toBeNull();
    let { cursor } = first;
    let found: EventPage["items"] = [];
    let calls = 1;
    while (cursor !== null && calls < 200) {
      const page = await search(tenant, `type=rare&cursor=${cursor}`);
      found = [...found, ...page.items];
      cursor = page.cursor;
      calls += 1;
    }
    expect(found.map((item) => item.id)).toEqual(["in:needle"]);
    expect(calls).toBeGreaterThanOrEqual(4);
  });

  test("[X8] `from` and `to` choose the time of receipt, and every state is found", async () => {
    const origin = new Origin();
    const tenant = await withDead(origin, 6);
    await tenant.admin("POST", "/dead-letters/purge", { destination: "origin", ids: ["in:e5"] });
    await tenant.admin("DELETE", "/events/in%3Ae4/body");
    const middleMs = Date.now();
    moveClock(1_000);
    await tenant.accept("new");
    await tenant.runFor(HOUR_MS);
    await tenant.admin("POST", "/destinations/origin/pause");
    await tenant.accept("waits");
    const since = encodeURIComponent(new Date(middleMs).toISOString());
    const found = async (query: string) => (await search(tenant, query)).items.map((item) => item.id.slice(3));
    expect(await found(`from=${since}`)).toEqual(["waits", "new"]);
    expect(await found(`to=${since}`)).toEqual(["e5", "e4", "e3", "e2", "e1", "e0"]);
    expect(await found("state=dead")).toEqual(["e3", "e2", "e1", "e0"]);
    expect(await found("state=purged")).toEqual(["e5"]);
    expect(await found("state=erased")).toEqual(["e4"]);
    expect(await found("state=delivered&destination=origin")).toEqual(["new"]);
    expect(await found("state=backlog")).toEqual(["waits"]);
    expect((await tenant.admin("GET", "/events?state=lost")).status).toBe(400);
  });
});
