import { afterEach, expect, test, vi } from "vitest";
import { moveClock, startClock, stopClock } from "./clock.ts";
import { Origin } from "./origin.ts";
import { admin, isBalanced, Tenant } from "./tenant.ts";

afterEach(() => {
  stopClock();
  vi.restoreAllMocks();
});

const oneTry = { retry: { maxAttempts: 1, baseMs: 100, maxMs: 1_000 }, batch: { flushDelayMs: 0 } };

test("[X2] [X3] [X4] [X5] dead letters are redriven by filter as a job, purged by id, and delivered events replayed", async () => {
  const origin = new Origin();
  const tenant = await Tenant.create({
    destinations: { origin: { kind: "http", url: "https://origin.test/in", ...oneTry } },
  });
  origin.answer = (_request, events) =>
    new Response(null, { status: events.some((e) => e.type === "bad") ? 422 : 204 });
  // Guilt needs contrast: each bad event comes among others that are accepted.
  for (let index = 0; index < 24; index += 1) {
    await tenant.post(`evt_${index}`, "{}", { "x-event-type": index % 4 === 0 ? "bad" : "good" });
    if (index % 4 === 3) await tenant.settle();
  }
  let stats = await tenant.stats();
  expect(stats.destinations.origin).toMatchObject({ dead: 6, delivered: 18, backlog: 0 });

  const dry = await admin("POST", `/tenants/${tenant.name}/dead-letters/redrive`, {
    filter: { type: "bad" },
    dryRun: true,
  });
  expect(await dry.json()).toEqual({ count: 6 });
  const purged = await admin("POST", `/tenants/${tenant.name}/dead-letters/purge`, { ids: ["in:evt_0"] });
  expect(await purged.json()).toEqual({ count: 1 });

  origin.answer = () => new Response(null, { status: 204 });
  const redriven = await admin("POST", `/tenants/${tenant.name}/dead-letters/redrive`, { filter: { type: "bad" } });
  const started = (await redriven.json()) as { job: string; count: number };
  expect(started.count).toBe(5);
  await tenant.settle();
  const job = await admin("GET", `/tenants/${tenant.name}/jobs/${started.job}`);
  expect(await job.json()).toMatchObject({ kind: "redrive", state: "done", count: 5, done: 5 });
  stats = await tenant.stats();
  expect(stats.destinations.origin).toMatchObject({ dead: 0, delivered: 23, purged: 1, backlog: 0 });
  expect(isBalanced(stats)).toBe(true);

  const before = origin.accepted.length;
  const replay = await admin("POST", `/tenants/${tenant.name}/events/in%3Aevt_1/replay`, {});
  expect(await replay.json()).toMatchObject({ count: 1 });
  await tenant.settle();
  expect(origin.accepted.slice(before)).toMatchObject([{ id: "in:evt_1", replay: true }]);
  stats = await tenant.stats();
  expect(stats.destinations.origin).toMatchObject({ delivered: 23, backlog: 0 });
  expect(isBalanced(stats)).toBe(true);
});

test("[X6] an erased event loses its bytes and headers, leaves the backlog, and stays known", async () => {
  const origin = new Origin();
  const tenant = await Tenant.create();
  await admin("POST", `/tenants/${tenant.name}/destinations/origin/pause`, {});
  for (const id of ["a", "b", "c"]) await tenant.post(id, `{"secret":"${id}"}`);
  const erased = await admin("DELETE", `/tenants/${tenant.name}/events/in%3Ab/body`);
  expect(await erased.json()).toEqual({ count: 1 });
  let stats = await tenant.stats();
  expect(stats.destinations.origin).toMatchObject({ backlog: 2, erased: 1 });
  expect(isBalanced(stats)).toBe(true);
  expect((await admin("GET", `/tenants/${tenant.name}/events/in%3Ab/body`)).status).toBe(410);
  expect((await tenant.post("b", '{"secret":"b"}')).status).toBe(200);
  await admin("POST", `/tenants/${tenant.name}/destinations/origin/resume`, {});
  await tenant.settle();
  expect(origin.ids()).toEqual(["in:a", "in:c"]);
  stats = await tenant.stats();
  expect(stats.destinations.origin).toMatchObject({ backlog: 0, delivered: 2, erased: 1, filtered: 0 });
});

test("[X8] search finds events by source, type and state, page by page, newest first", async () => {
  const origin = new Origin();
  origin.answer = (_request, events) =>
    new Response(null, { status: events.some((e) => e.type === "bad") ? 422 : 204 });
  const tenant = await Tenant.create({
    destinations: { origin: { kind: "http", url: "https://origin.test/in", ...oneTry } },
  });
  for (let index = 0; index < 7; index += 1) {
    await tenant.post(`evt_${index}`, "{}", { "x-event-type": index === 3 ? "bad" : "good" });
  }
  await tenant.settle();
  const seen: string[] = [];
  let cursor: string | null = null;
  do {
    const query: string = cursor === null ? "" : `&cursor=${cursor}`;
    const response = await admin("GET", `/tenants/${tenant.name}/events?type=good&limit=2${query}`);
    const page = (await response.json()) as { items: { id: string }[]; cursor: string | null };
    seen.push(...page.items.map((item) => item.id));
    cursor = page.cursor;
  } while (cursor !== null);
  expect(seen).toEqual([6, 5, 4, 2, 1, 0].map((index) => `in:evt_${index}`));
  const dead = await admin("GET", `/tenants/${tenant.name}/events?state=dead`);
  expect(await dead.json()).toMatchObject({ items: [{ id: "in:evt_3", states: { origin: "dead" } }], cursor: null });
});

test("[V16] [V21] [X5] [V34] filters are exact, and a destination added later begins with now or with the oldest", async () => {
  const origin = new Origin();
  const all = { kind: "http", url: "https://origin.test/all", batch: { flushDelayMs: 0 } };
  const tenant = await Tenant.create({ destinations: { all } });
  const post = (id: string, type: string) => tenant.post(id, "{}", { "x-event-type": type });
  await post("1", "invoice.paid");
  await post("2", "customer.new");
  await tenant.settle();
  const invoices = { ...all, url: "https://origin.test/invoices", filter: { types: ["invoice.*"] } };
  const oldest = { ...all, url: "https://origin.test/oldest", from: "oldest" };
  expect((await tenant.configure({ destinations: { all, invoices, oldest } })).status).toBe(200);
  await post("3", "invoice.sent");
  await post("4", "customer.gone");
  await tenant.settle();
  const to = (path: string) =>
    origin.requests
      .filter((request) => request.url.endsWith(path))
      .flatMap((request) => (JSON.parse(new TextDecoder().decode(request.body)) as { events: { id: string }[] }).events)
      .map((event) => event.id);
  expect(to("/invoices")).toEqual(["in:3"]);
  expect(to("/oldest")).toEqual(["in:1", "in:2", "in:3", "in:4"]);
  let stats = await tenant.stats();
  expect(stats.destinations.oldest).toMatchObject({ offered: 4, delivered: 4 });
  expect(stats.destinations.invoices).toMatchObject({ offered: 2, delivered: 1 });
  expect(isBalanced(stats)).toBe(true);
  startClock(Date.now());
  moveClock(61_000);
  await tenant.settle();
  stats = await tenant.stats();
  expect(stats.destinations.invoices).toMatchObject({ offered: 2, delivered: 1, filtered: 1, backlog: 0 });
  expect((await tenant.configure({ destinations: { all, oldest } })).status).toBe(200);
  expect((await tenant.configure({ destinations: { all, invoices, oldest } })).status).toBe(200);
  stats = await tenant.stats();
  expect(stats.destinations.invoices).toMatchObject({ offered: 0, delivered: 0, filtered: 0 });
});

test("[S1] [S2] [S4] 1 → 4 → 2 shards: nothing is stored twice, nothing lost, and the ledger is the tenant's", async () => {
  const origin = new Origin();
  const tenant = await Tenant.create();
  const ids = Array.from({ length: 40 }, (_, index) => `evt_${index}`);
  const postAll = async () =>
    (await Promise.all(ids.map((id) => tenant.post(id, "{}")))).map((answer) => answer.status);
  expect(new Set(await postAll())).toEqual(new Set([202]));
  for (const shards of [4, 2]) {
    expect((await tenant.configure({ shards })).status).toBe(200);
    expect(new Set(await postAll())).toEqual(new Set([200]));
    for (const id of [`new_${shards}_a`, `new_${shards}_b`, `new_${shards}_c`, `new_${shards}_d`]) {
      expect((await tenant.post(id, "{}")).status).toBe(202);
      expect((await tenant.post(id, "{}")).status).toBe(200);
    }
  }
  expect((await tenant.configure({ shards: 8 })).status).toBe(409);
  await tenant.settleShards(4);
  const stats = await tenant.stats();
  expect(stats.accepted).toBe(48);
  expect(stats.destinations.origin).toMatchObject({ offered: 48, delivered: 48, backlog: 0 });
  expect(origin.ids().length).toBe(48);
  expect(new Set(origin.ids()).size).toBe(48);
  const found = await admin("GET", `/tenants/${tenant.name}/events?limit=100`);
  expect(((await found.json()) as { items: unknown[] }).items.length).toBe(48);
});
