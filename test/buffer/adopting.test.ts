/** An object is told of two configurations at nearly the same time [O4] [S2]. */
import { runInDurableObject } from "cloudflare:test";
import { afterEach, expect, test, vi } from "vitest";
import type { TenantBufferCalls } from "../../src/buffer/contract.ts";
import { parseConfig } from "../../src/tenants/parse.ts";
import { sealConfig } from "../../src/tenants/sealing.ts";
import { Origin } from "../flow/origin.ts";
import { bindings, http, SECRET, Tenant } from "../flow/tenant.ts";
import { context } from "../tenants/sample.ts";

const keys = { current: Uint8Array.from({ length: 32 }, (_, index) => index), previous: null };

afterEach(() => {
  vi.restoreAllMocks();
});

test("[O4] an older configuration that takes longer to open does not come after a newer one", async () => {
  new Origin();
  const tenant = await Tenant.create({ shards: 2 });
  const newest = await tenant.calls.readConfig();
  if (newest === null) throw new Error("no configuration");
  const other = bindings.TENANT_BUFFER.getByName(`${tenant.name}.1`);
  const input = {
    shards: 2,
    sources: { in: { provider: "generic", secrets: [SECRET] } },
    destinations: { origin: http() },
  };
  const parsed = parseConfig(input, { ...context, allowInsecureDestinations: true });
  if (parsed.kind === "problems") throw new Error(JSON.stringify(parsed.problems));
  const versioned = async (ahead: number) => {
    const version = newest.version + ahead;
    const record = { ...newest, ...(await sealConfig(keys, tenant.name, parsed.config, version, "live")) };
    return { tenant: tenant.name, shard: 1, record };
  };
  const [older, newer] = [await versioned(1), await versioned(2)];
  const version = await runInDurableObject(other, async (instance) => {
    const object = instance as unknown as TenantBufferCalls;
    const slow = Promise.withResolvers<void>();
    const decrypt = crypto.subtle.decrypt.bind(crypto.subtle);
    vi.spyOn(crypto.subtle, "decrypt").mockImplementationOnce(async (...parameters) => {
      await slow.promise;
      return decrypt(...parameters);
    });
    const late = object.adopt(older);
    expect(await object.adopt(newer)).toBe(true);
    slow.resolve();
    expect(await late).toBe(true);
    return (await object.readConfig())?.version;
  });
  expect(version).toBe(newest.version + 2);
});
