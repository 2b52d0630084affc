import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startClock, stopClock } from "./clock.ts";
import { Origin } from "./origin.ts";
import { bindings, http, Tenant } from "./tenant.ts";

beforeEach(() => startClock());

afterEach(() => {
  vi.restoreAllMocks();
  stopClock();
});

async function problem(response: Response): Promise<{ status: number; code: string; errors?: { path: string }[] }> {
  const { code, errors } = (await response.json()) as { code: string; errors?: { path: string }[] };
  return { status: response.status, code, ...(errors === undefined ? {} : { errors }) };
}

test("[O13] a jurisdiction that this runtime cannot keep is refused when the tenant is created, and nothing is stored", async () => {
  const tenant = new Tenant(`t-${crypto.randomUUID()}`);
  const response = await tenant.configure({ jurisdiction: "eu" });
  expect(await problem(response)).toMatchObject({ status: 400, errors: [{ path: "jurisdiction" }] });
  expect((await tenant.admin("GET", "")).status).toBe(404);
});

test("[O13] a location hint goes to the namespace with every object of the tenant", async () => {
  const origin = new Origin();
  const getByName = vi.spyOn(bindings.TENANT_BUFFER, "getByName");
  const tenant = await Tenant.create({ locationHint: "weur", shards: 3 });
  await tenant.accept("a", "b", "c", "d", "e", "f");
  const own = getByName.mock.calls.filter(([name]) => name.startsWith(tenant.name));
  const without = own.filter(([, options]) => options?.locationHint !== "weur");
  // Only the question whether there is such a tenant yet goes without.
  expect(without.length).toBeLessThanOrEqual(1);
  expect(new Set(own.map(([name]) => name))).toEqual(new Set([tenant.name, `${tenant.name}.1`, `${tenant.name}.2`]));
  const { config } = (await (await tenant.admin("GET", "")).json()) as { config: Record<string, unknown> };
  expect(config).toMatchObject({ locationHint: "weur", jurisdiction: null });
  await tenant.settleShards(3);
  expect(origin.accepted).toHaveLength(6);
});

test("[O13] where a tenant lives is fixed when it is created, until it is deleted", async () => {
  new Origin();
  const tenant = await Tenant.create({ locationHint: "weur" });
  expect(await problem(await tenant.configure({ locationHint: "apac" }))).toEqual({ status: 400, code: "place-fixed" });
  expect(await problem(await tenant.configure({}))).toEqual({ status: 400, code: "place-fixed" });
  expect(await problem(await tenant.admin("PATCH", "", { locationHint: null }))).toMatchObject({ code: "place-fixed" });
  expect((await tenant.admin("PATCH", "", { retainSeconds: 3_600 })).status).toBe(200);
  expect((await tenant.configure({ locationHint: "weur" })).status).toBe(200);
  await tenant.accept("a");
  expect((await tenant.admin("DELETE", "?force=true", {})).status).toBe(200);
  expect((await tenant.configure({ locationHint: "apac", destinations: { origin: http() } })).status).toBe(200);
  await tenant.accept("b");
});
