import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ChangeView } from "../../src/buffer/contract.ts";
import { moveClock, startClock, stopClock } from "../flow/clock.ts";
import { Origin, status } from "../flow/origin.ts";
import { admin, ask, http, Tenant } from "../flow/tenant.ts";

beforeEach(() => startClock());

afterEach(() => {
  vi.restoreAllMocks();
  stopClock();
});

interface Page {
  readonly items: readonly ChangeView[];
  readonly cursor: string | null;
}

async function changes(tenant: Tenant, query = ""): Promise<Page> {
  const response = await tenant.admin("GET", `/changes${query}`);
  expect(response.status).toBe(200);
  return (await response.json()) as Page;
}

test("[O11] each changing call is on record: who, when, what, and how many events it was about", async () => {
  const origin = new Origin();
  origin.answer = () => status(400);
  const destinations = { origin: http("origin.test", { retry: { maxAttempts: 1, countDestinationFaults: true } }) };
  const tenant = await Tenant.create({ destinations });
  await tenant.accept("a", "b");
  await tenant.settle();
  moveClock(1_000);
  const atMs = Date.now();
  await tenant.admin("POST", "/destinations/origin/pause");
  await tenant.admin("POST", "/dead-letters/redrive", { destination: "origin", ids: ["in:a", "in:b"] });
  await tenant.admin("PATCH", "?force=true", { retainSeconds: 3_600 });
  const { items, cursor } = await changes(tenant);
  expect(cursor).toBeNull();
  const at = new Date(atMs).toISOString();
  expect(items).toEqual([
    { at, who: "admin token", what: "PATCH / forced", status: 200, count: null },
    { at, who: "admin token", what: "POST /dead-letters/redrive", status: 200, count: 2 },
    { at, who: "admin token", what: "POST /destinations/origin/pause", status: 200, count: null },
    { at: new Date(atMs - 1_000).toISOString(), who: "admin token", what: "PUT /", status: 200, count: null },
  ]);
});

test("[O11] what was refused is on record too; reading, dry runs and calls without the token are not", async () => {
  const tenant = await Tenant.create();
  await tenant.admin("PATCH", "", { retainSeconds: -1 });
  await tenant.admin("GET", "/stats");
  await tenant.admin("POST", "/events/erase", { filter: { source: "in" }, dryRun: true });
  const anonymous = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
  expect((await ask(`/admin/tenants/${tenant.name}/destinations/origin/pause`, anonymous)).status).toBe(401);
  const { items } = await changes(tenant);
  expect(items.map((change) => [change.what, change.status])).toEqual([
    ["PATCH /", 400],
    ["PUT /", 200],
  ]);
});

test("[O11] the last 1,000 are kept, shown newest first and page by page", async () => {
  const tenant = await Tenant.create();
  const record = (index: number) =>
    tenant.calls.recordChange({ who: "someone", what: `POST /${index}`, status: 200, count: index });
  for (let from = 0; from < 1_020; from += 60) {
    await Promise.all(Array.from({ length: 60 }, (_, index) => record(from + index)));
  }
  const whats: string[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const page: Page = await changes(tenant, `?limit=400${cursor === "" ? "" : `&cursor=${cursor}`}`);
    whats.push(...page.items.map((change) => change.what));
    cursor = page.cursor;
  }
  expect(whats).toHaveLength(1_000);
  expect([whats[0], whats.at(-1)]).toEqual(["POST /1019", "POST /20"]);
  await tenant.evict();
  expect((await changes(tenant, "?limit=1")).items[0]?.what).toBe("POST /1019");
});

test("[O11] [X6] the record goes with the tenant, and nothing is recorded for a name that is none", async () => {
  const tenant = await Tenant.create();
  await tenant.admin("DELETE", "", {});
  expect((await tenant.admin("GET", "/changes")).status).toBe(404);
  expect(await tenant.sql("SELECT * FROM change")).toEqual([]);
  const name = `t-${crypto.randomUUID()}`;
  expect((await admin("POST", `/tenants/${name}/drain`, {})).status).toBe(404);
  expect(await new Tenant(name).sql("SELECT name FROM sqlite_master")).toEqual([]);
});

test("[O11] [O2] a cursor or limit that is none is refused", async () => {
  const tenant = await Tenant.create();
  expect((await tenant.admin("GET", "/changes?cursor=x")).status).toBe(400);
  expect((await tenant.admin("GET", "/changes?limit=0")).status).toBe(400);
});
