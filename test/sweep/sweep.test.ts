import { createScheduledController } from "cloudflare:test";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { TenantBufferCalls, TenantObjects, TenantStats, TendAnswer } from "../../src/buffer/contract.ts";
import worker from "../../src/index.ts";
import { enterRegistry, readRegistry } from "../../src/sweep/registry.ts";
import { readSummaries } from "../../src/sweep/summaries.ts";
import { type SweepReport, sweep } from "../../src/sweep/sweep.ts";
import { moveClock, startClock, stopClock } from "../flow/clock.ts";
import { Origin } from "../flow/origin.ts";
import { bindings, Tenant } from "../flow/tenant.ts";

const kv = bindings.TENANT_CONFIG;

/** What other files registered in the shared runtime is nobody's business here. */
async function forgetAll(): Promise<void> {
  for (const { name } of (await kv.list()).keys) await kv.delete(name);
}

beforeEach(async () => {
  startClock();
  await forgetAll();
});

afterEach(async () => {
  vi.restoreAllMocks();
  stopClock();
  await forgetAll();
});

const objects: TenantObjects = {
  of: (tenant) => bindings.TENANT_BUFFER.getByName(tenant) as unknown as TenantBufferCalls,
};

function run(of: TenantObjects = objects): Promise<SweepReport> {
  return sweep({ kv, objects: of, now: () => Date.now() });
}

async function registered(): Promise<string[]> {
  return (await readRegistry(kv)).map((each) => each.object);
}

/** The Worker enters the object after it has answered. */
function waitForRegistry(tenant: Tenant): Promise<void> {
  return vi.waitFor(async () => expect(await registered()).toContain(tenant.name), { timeout: 20_000 });
}

test("[V20] (f) (by construction) an alarm that is lost behind the object's back is set again by the sweep, and delivery goes on", async () => {
  const origin = new Origin();
  const tenant = await Tenant.create();
  await tenant.accept("evt_1");
  await waitForRegistry(tenant);
  await tenant.loseAlarm();
  expect(await tenant.runAlarm()).toBe(false);
  expect((await run()).called).toEqual([tenant.name]);
  expect(await tenant.alarmAtMs()).toBeLessThanOrEqual(Date.now() + 1);
  await tenant.settle();
  expect(origin.ids()).toEqual(["in:evt_1"]);
});

test("[V20] (f) an object is registered by the first event and by one after an idle hour, and leaves when it is idle again", async () => {
  new Origin();
  const tenant = await Tenant.create();
  await tenant.accept("evt_1");
  await waitForRegistry(tenant);
  await tenant.settle();
  expect((await run()).left).toEqual([]);
  await kv.delete(`registry:${tenant.name}`);
  moveClock(3_599_000);
  await tenant.accept("evt_2");
  await tenant.settle();
  expect(await registered()).toEqual([]);
  moveClock(3_600_000);
  await tenant.accept("evt_3");
  await waitForRegistry(tenant);
  await tenant.settle();
  moveClock(3_600_000);
  expect((await run()).left).toEqual([tenant.name]);
  expect(await registered()).toEqual([]);
  moveClock(300_000);
  expect((await run()).called).toEqual([]);
});

test("[V20] [O20] (f) an object with a backlog is not idle, however long nothing arrives", async () => {
  const origin = new Origin();
  origin.answer = () => new Response(null, { status: 500 });
  const tenant = await Tenant.create();
  await tenant.accept("evt_1");
  await waitForRegistry(tenant);
  moveClock(7_200_000);
  expect((await run()).left).toEqual([]);
  expect(await registered()).toEqual([tenant.name]);
});

test("[V20] (f) every configured object is called once a day; one that is busy and not registered is entered", async () => {
  new Origin();
  const tenant = await Tenant.create();
  await tenant.accept("evt_1");
  await waitForRegistry(tenant);
  await kv.delete(`registry:${tenant.name}`);
  await tenant.loseAlarm();
  expect((await run()).called).toEqual([tenant.name]);
  expect(await registered()).toEqual([tenant.name]);
  await tenant.settle();
  moveClock(3_600_000);
  await run();
  moveClock(3_600_000);
  expect((await run()).called).toEqual([]);
  moveClock(86_400_000);
  expect((await run()).called).toEqual([tenant.name]);
});

test("[X6] [V20] a deleted tenant leaves the registry and the summaries, but not before KV has surely shown it", async () => {
  new Origin();
  const tenant = await Tenant.create();
  await tenant.accept("evt_1");
  await waitForRegistry(tenant);
  await run();
  expect([...(await readSummaries(kv)).keys()]).toEqual([tenant.name]);
  expect((await tenant.admin("DELETE", "?force=true")).status).toBe(200);
  await run();
  expect((await readSummaries(kv)).size).toBe(0);
  expect(await registered()).toEqual([tenant.name]);
  moveClock(600_000);
  await run();
  expect(await registered()).toEqual([]);
});

function statsOf(tenant: string): TenantStats {
  return {
    tenant,
    version: 1,
    accepted: 7,
    deduplicated: 0,
    deduplicatedWithOtherBody: 0,
    rateLimited: 0,
    reopened: 0,
    destinations: {},
    storage: { bytes: 0, segments: 0 },
    cost: { since: "2026-11-29T00:00:00.000Z", rowsWritten: 0, rowsRead: 0, setupRows: 0, commits: 0 },
    alerts: [],
  };
}

/** Objects that answer as `tend` says; nothing else is asked of them. */
function answering(tend: (tenant: string) => Promise<TendAnswer | null>): TenantObjects {
  return { of: (tenant) => ({ tend: () => tend(tenant) }) as unknown as TenantBufferCalls };
}

test("[O8] summaries are kept 100 to a value, each object in its own, and only what changed is written", async () => {
  const names = Array.from({ length: 250 }, (_, index) => `o${index}`);
  for (const name of names) await enterRegistry(kv, name, Date.now());
  const live = answering(async (tenant) => ({ stats: statsOf(tenant), isIdle: false }));
  await run(live);
  expect((await kv.list({ prefix: "summaries:" })).keys.map((key) => key.name)).toEqual([
    "summaries:0",
    "summaries:1",
    "summaries:2",
  ]);
  const summaries = await readSummaries(kv);
  expect(summaries.size).toBe(250);
  expect(summaries.get("o249")).toMatchObject({ collectedAtMs: Date.now(), stats: { accepted: 7 } });
  const puts = vi.spyOn(kv, "put");
  for (const name of names.slice(1)) await kv.delete(`registry:${name}`);
  moveClock(300_000);
  await run(live);
  expect(puts.mock.calls.map(([key]) => key)).toHaveLength(1);
}, 30_000);

test("[O8] [V20] an object that fails keeps its last summary with its age, counts as called, and stays registered", async () => {
  await enterRegistry(kv, "odd", Date.now());
  await run(answering(async (tenant) => ({ stats: statsOf(tenant), isIdle: false })));
  const beforeMs = Date.now();
  moveClock(300_000);
  const report = await run(answering(() => Promise.reject(new Error("Durable Object is overloaded"))));
  expect(report).toMatchObject({ called: ["odd"], failed: ["odd"], left: [] });
  expect((await readSummaries(kv)).get("odd")).toMatchObject({
    calledAtMs: beforeMs + 300_000,
    collectedAtMs: beforeMs,
    stats: { accepted: 7 },
  });
});

test("[V20] (f) the cron trigger of the Worker sweeps", async () => {
  new Origin();
  const tenant = await Tenant.create();
  await tenant.accept("evt_1");
  await waitForRegistry(tenant);
  await tenant.loseAlarm();
  await worker.scheduled(createScheduledController(), bindings);
  expect(await tenant.alarmAtMs()).not.toBeNull();
});
