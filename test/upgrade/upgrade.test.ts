import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { writeRecord } from "../../src/tenants/kv.ts";
import { startClock, stopClock } from "../flow/clock.ts";
import { bytesOf, Origin, status } from "../flow/origin.ts";
import { bindings, isBalanced, Tenant } from "../flow/tenant.ts";
import { type RecordedCall, type RecordedStore, recordedStores, revived } from "./recorded-stores.ts";

/** As the recorded run's origin: `bad-…` is refused, all else taken. */
let origin: Origin;

beforeEach(() => {
  origin = new Origin();
  origin.answer = (_, events) => status(events.some(({ id }) => id.startsWith("in:bad-")) ? 400 : 200, "noted");
});

afterEach(() => {
  vi.restoreAllMocks();
  stopClock();
});

describe.each(recordedStores)("a store of schema version %i", (_, store) => {
  test("[O12] (by construction) opens: its ledger, its states and its configuration are as they were left", async () => {
    const tenant = await opened(store);
    const stats = await tenant.stats();
    const recorded = store.calls.findLast((call) => call.method === "stats")?.answer;
    expect(stats).toMatchObject(lasting(recorded) as Record<string, unknown>);
    expect(isBalanced(stats)).toBe(true);
    for (const call of store.calls.filter(isLook).slice(-3)) {
      expect(lasting(await make(tenant, call))).toMatchObject(lasting(revived(call.answer)) as object);
    }
    expect((await tenant.admin("GET", "")).status).toBe(200);
  });

  test("[O12] [D5] (by construction) knows every event it stored, and what waits in it goes out byte for byte", async () => {
    const tenant = await opened(store);
    const ingests = store.calls.filter((call) => call.method === "ingest");
    const known = new Map(ingests.map((call) => [(call.args[0] as { eventId: string }).eventId, call]));
    for (const [id, call] of known) {
      const { version } = (await tenant.calls.readConfig()) ?? { version: 0 };
      const [arrival] = revived(call.args) as [Parameters<typeof tenant.calls.ingest>[0]];
      const wanted = id === "in:bad-0" ? "reopened" : "deduplicated";
      expect([id, (await tenant.ingest({ ...arrival, version })).kind]).toEqual([id, wanted]);
    }
    expect((await tenant.post("new-1", '{"type":"order.paid"}')).status).toBe(202);
    for (const name of ["origin", "later"]) await tenant.admin("POST", `/destinations/${name}/resume`);
    await tenant.runFor(600_000);
    const bodies = new Map(origin.accepted.map((event) => [event.id, bytesOf(event)]));
    for (const [id, call] of known) {
      if (id === "in:good-5" || id.startsWith("in:bad-")) continue;
      const [{ body }] = revived(call.args) as [{ body: Uint8Array }];
      expect([id, bodies.get(id)]).toEqual([id, body]);
    }
    expect(bodies.has("in:new-1")).toBe(true);
    expect(bodies.has("in:good-5")).toBe(false);
    expect(isBalanced(await tenant.stats())).toBe(true);
  });

  test("[O12] (by construction) the calls that made it are understood, and answered as they were then", async () => {
    const tenant = await emptied(store);
    for (const call of store.calls) {
      await runAlarmsUntil(tenant, call.atMs);
      // A configuration is numbered by the clock.
      vi.setSystemTime(versionOf(call) ?? Math.max(Date.now(), call.atMs));
      const answer = lasting(await make(tenant, call));
      const recorded = lasting(revived(call.answer));
      if (typeof recorded !== "object" || recorded === null)
        expect([call.method, answer]).toEqual([call.method, recorded]);
      else expect([call.method, answer]).toMatchObject([call.method, recorded]);
    }
  });
});

/** An object with nothing in it, under the name that the sealed configuration is bound to. */
async function emptied(store: RecordedStore): Promise<Tenant> {
  startClock(store.calls[0]?.atMs ?? store.recordedAtMs);
  const tenant = new Tenant(store.tenant);
  await runInDurableObject(tenant.stub, (_, state) => state.storage.deleteAll());
  await evictDurableObject(tenant.stub);
  return tenant;
}

/** The store on disk as the earlier release left it, and a Worker that knows the tenant. The alarm is lost on the way. */
async function opened(store: RecordedStore): Promise<Tenant> {
  const tenant = await emptied(store);
  vi.setSystemTime(store.recordedAtMs);
  await runInDurableObject(tenant.stub, (_, state) => {
    for (const statement of store.statements) state.storage.sql.exec(statement);
  });
  await evictDurableObject(tenant.stub);
  const record = await tenant.calls.readConfig();
  if (record === null) throw new Error("the store has no configuration");
  await writeRecord(bindings.TENANT_CONFIG, tenant.name, record);
  return tenant;
}

async function runAlarmsUntil(tenant: Tenant, atMs: number): Promise<void> {
  for (let runs = 0; runs < 50; runs += 1) {
    const dueMs = await tenant.alarmAtMs();
    if (dueMs === null || dueMs > atMs) return;
    vi.setSystemTime(Math.max(Date.now(), dueMs));
    await tenant.runAlarm();
  }
}

function make(tenant: Tenant, call: RecordedCall): Promise<unknown> {
  const calls = tenant.calls as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
  return calls[call.method]?.(...(revived(call.args) as unknown[])) ?? Promise.resolve();
}

function versionOf({ method, answer }: RecordedCall): number | null {
  return method === "configure" ? (answer as { record: { version: number } }).record.version : null;
}

function isLook({ method }: RecordedCall): boolean {
  return method === "event" || method === "events" || method === "deadLetters";
}

/** What two runs of the same calls have in common: durations, times of attempts and how batches were cut differ. */
const FLEETING = new Set([
  "attempts",
  "cost",
  "storage",
  "nextAttemptAt",
  "oldestBacklogAgeMs",
  "diedAt",
  "wasIdle",
  "receivedAt",
  "job",
  "alerts",
]);

function lasting(value: unknown): unknown {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return value.map(lasting);
  const members = Object.entries(value).filter(([name]) => !FLEETING.has(name));
  return Object.fromEntries(members.map(([name, member]) => [name, lasting(member)]));
}
