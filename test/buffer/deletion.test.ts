/** Events that come in at the very moment in which their tenant, or their destination, is removed [O4] [V21]. */
import { runInDurableObject } from "cloudflare:test";
import { afterEach, expect, test, vi } from "vitest";
import type { TenantBufferCalls } from "../../src/buffer/contract.ts";
import { parseConfig } from "../../src/tenants/parse.ts";
import { sealConfig } from "../../src/tenants/sealing.ts";
import { Origin } from "../flow/origin.ts";
import { http, SECRET, Tenant } from "../flow/tenant.ts";
import { context } from "../tenants/sample.ts";
import { callFor } from "./arrivals.ts";

const keys = { current: Uint8Array.from({ length: 32 }, (_, index) => index), previous: null };

afterEach(() => {
  vi.restoreAllMocks();
});

/** Does all of this to the object in one turn. */
function atOnce<const T extends readonly unknown[]>(
  tenant: Tenant,
  calls: (object: TenantBufferCalls) => { readonly [K in keyof T]: Promise<T[K]> },
): Promise<T> {
  return runInDurableObject(tenant.stub, async (instance) => {
    const object = instance as unknown as TenantBufferCalls;
    return (await Promise.all(calls(object))) as unknown as T;
  });
}

test("[O4] [I12] what waits for its commit when the tenant is deleted is not stored, and nobody is told that it was", async () => {
  new Origin();
  const tenant = await Tenant.create();
  const first = await callFor(tenant, { id: "evt_1" });
  const second = await callFor(tenant, { id: "evt_2" });
  const deletion = { tenant: tenant.name, ifVersion: null, force: true };
  const [, deleted, late] = await atOnce(tenant, (object) => [
    object.ingest(first),
    object.deleteTenant(deletion),
    object.ingest(second),
  ]);
  expect(deleted).toMatchObject({ kind: "configured", record: { state: "deleted" } });
  expect(late).toMatchObject({ kind: "unavailable" });
  const segments = "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'body_[0-9]*'";
  expect(await tenant.sql(segments)).toEqual([]);
});

test("[O4] an event that is accepted while the other objects are asked for their backlogs keeps its tenant", async () => {
  new Origin();
  const tenant = await Tenant.create({ shards: 2 });
  const call = await callFor(tenant, { id: "evt_1" });
  const deletion = { tenant: tenant.name, ifVersion: null, force: false };
  const [deleted, accepted] = await atOnce(tenant, (object) => [object.deleteTenant(deletion), object.ingest(call)]);
  expect(accepted).toMatchObject({ kind: "buffered" });
  expect(deleted).toEqual({ kind: "has-backlog", destinations: { origin: 1 } });
});

test("[V21] an event that is accepted while the other objects are asked for their backlogs keeps its destination", async () => {
  new Origin();
  const tenant = await Tenant.create({ shards: 2 });
  const call = await callFor(tenant, { id: "evt_1" });
  const sources = { in: { provider: "generic", secrets: [SECRET] } };
  const parsed = parseConfig(
    { shards: 2, sources, destinations: { other: http() } },
    { ...context, allowInsecureDestinations: true },
  );
  if (parsed.kind === "problems") throw new Error(JSON.stringify(parsed.problems));
  const record = await sealConfig(keys, tenant.name, parsed.config, 0, "live");
  const asked = Promise.withResolvers<void>();
  const slow = Promise.withResolvers<void>();
  await runInDurableObject(tenant.stub, (object) => {
    const spy = vi.spyOn(Object.getPrototypeOf(object) as TenantBufferCalls, "backlogs");
    spy.mockImplementation(async () => {
      asked.resolve();
      await slow.promise;
      return { origin: 0 };
    });
  });
  const configuring = tenant.calls.configure({ tenant: tenant.name, ifVersion: null, force: false, record });
  await asked.promise;
  expect(await tenant.ingest(call)).toMatchObject({ kind: "buffered" });
  slow.resolve();
  const configured = await configuring;
  expect(configured).toEqual({ kind: "has-backlog", destinations: { origin: 1 } });
});

test("[O4] a delete that another change overtakes while the other objects are asked hears of it", async () => {
  new Origin();
  const tenant = await Tenant.create({ shards: 2 });
  const version = (await tenant.calls.readConfig())?.version ?? 0;
  const deletion = { tenant: tenant.name, ifVersion: version, force: true };
  const [first, second] = await atOnce(tenant, (object) => [
    object.deleteTenant(deletion),
    object.deleteTenant(deletion),
  ]);
  expect([first, second].map(({ kind }) => kind).sort()).toEqual(["configured", "version-conflict"]);
});
