import { expect, test } from "vitest";
import { buildConfig } from "../../src/tenants/build.ts";
import { TenantCache } from "../../src/tenants/cache.ts";
import type { ConfigRecord } from "../../src/tenants/config.ts";
import { configSchema } from "../../src/tenants/schema.ts";
import { sealConfig } from "../../src/tenants/sealing.ts";
import { minimal } from "./sample.ts";

const keys = { current: new Uint8Array(32).fill(1), previous: null };
const config = buildConfig(configSchema().parse(minimal), minimal);
const request = { waitUntil: () => {} };

/** KV as a map that counts its reads and can be made to fail. */
class FakeKv {
  readonly records = new Map<string, ConfigRecord>();
  readonly reads: string[] = [];
  failing = false;

  read = async (tenant: string): Promise<ConfigRecord | null> => {
    this.reads.push(tenant);
    if (this.failing) throw new Error("KV is down");
    return this.records.get(tenant) ?? null;
  };

  async put(tenant: string, version: number, state: ConfigRecord["state"] = "live"): Promise<ConfigRecord> {
    const record = await sealConfig(keys, tenant, config, version, state);
    this.records.set(tenant, record);
    return record;
  }
}

function cacheOver(kv: FakeKv): TenantCache {
  return new TenantCache({ read: kv.read, keys });
}

test("[C4] KV is read once in 30 s, however many ask at once", async () => {
  const kv = new FakeKv();
  await kv.put("acme", 1);
  const cache = cacheOver(kv);
  expect(cache.peek("acme", 0)).toBeNull();
  const lookups = await Promise.all(Array.from({ length: 20 }, () => cache.load("acme", 0, request)));
  expect(lookups.every((lookup) => lookup.kind === "live" && lookup.config.active)).toBe(true);
  expect(cache.peek("acme", 29_999)).toMatchObject({ kind: "live", version: 1 });
  expect(kv.reads).toHaveLength(1);
  expect(cache.peek("acme", 30_000)).toBeNull();
  await cache.load("acme", 30_000, request);
  expect(cache.peek("acme", 59_999)).toMatchObject({ kind: "live" });
  expect(kv.reads).toHaveLength(2);
});

test("[C4] while one request reads KV anew the others go on with what memory has, unless that is too old", async () => {
  const kv = new FakeKv();
  await kv.put("acme", 1);
  const cache = cacheOver(kv);
  await cache.load("acme", 0, request);
  await kv.put("acme", 2);
  expect(cache.peek("acme", 30_000)).toBeNull();
  const reading = cache.load("acme", 30_000, request);
  expect(cache.peek("acme", 30_001)).toMatchObject({ version: 1 });
  expect(cache.peek("acme", 60_000)).toBeNull();
  expect(await reading).toMatchObject({ version: 2 });
  expect(cache.peek("acme", 30_002)).toMatchObject({ version: 2 });
});

test("[C4] an unknown name is remembered as long, and does not become known by waiting", async () => {
  const kv = new FakeKv();
  const cache = cacheOver(kv);
  expect(await cache.load("nobody", 0, request)).toEqual({ kind: "unknown" });
  expect(cache.peek("nobody", 29_999)).toEqual({ kind: "unknown" });
  await kv.put("nobody", 1);
  expect(await cache.load("nobody", 30_000, request)).toMatchObject({ kind: "live" });
});

test("[C4] at most 1,000 tenants are remembered, and a flood of made-up names drives out none that exist", async () => {
  const kv = new FakeKv();
  await kv.put("acme", 1);
  const cache = cacheOver(kv);
  await cache.load("acme", 0, request);
  for (let i = 0; i < 1_500; i++) await cache.load(`made-up-${i}`, 0, request);
  const remembered = Array.from({ length: 1_500 }, (_, i) => cache.peek(`made-up-${i}`, 1)).filter((entry) => entry);
  expect(remembered.length).toBeGreaterThan(0);
  expect(remembered.length).toBeLessThan(1_000);
  expect(cache.peek("acme", 1)).toMatchObject({ kind: "live" });
});

test("[C4] of tenants that exist, those not asked for the longest are forgotten first", async () => {
  const kv = new FakeKv();
  const record = await kv.put("t", 1, "deleted");
  const cache = cacheOver(kv);
  for (let i = 0; i < 900; i++) {
    await cache.keep(`t${i}`, record, 0);
    // Read again from KV: asked for again.
    kv.records.set("t0", record);
    if (i === 500) await cache.load("t0", 30_000, request);
  }
  const known = Array.from({ length: 900 }, (_, i) => cache.peek(`t${i}`, 1)).filter((entry) => entry);
  expect(known.length).toBeLessThanOrEqual(1_000);
  expect(cache.peek("t0", 1)).not.toBeNull();
  expect(cache.peek("t1", 1)).toBeNull();
});

test("[C4] [C5] when KV fails, memory goes on being used; without memory the lookup is unavailable, and tried again soon", async () => {
  const kv = new FakeKv();
  await kv.put("acme", 1);
  const cache = cacheOver(kv);
  await cache.load("acme", 0, request);
  kv.failing = true;
  expect(await cache.load("acme", 30_000, request)).toMatchObject({ kind: "live", version: 1 });
  expect(cache.peek("acme", 30_001)).toMatchObject({ kind: "live" });
  expect(await cache.load("other", 30_000, request)).toEqual({ kind: "unavailable" });
  const readsBefore = kv.reads.length;
  expect(await cache.load("other", 31_000, request)).toEqual({ kind: "unavailable" });
  expect(kv.reads).toHaveLength(readsBefore);
  kv.failing = false;
  await kv.put("other", 1);
  expect(await cache.load("other", 32_000, request)).toMatchObject({ kind: "live" });
});

test("[O4] memory never goes back to an older version from KV, nor forgets a deletion it was told of", async () => {
  const kv = new FakeKv();
  const old = await kv.put("acme", 1);
  const cache = cacheOver(kv);
  await cache.load("acme", 0, request);
  const newer = await sealConfig(keys, "acme", config, 5, "live");
  expect(await cache.keep("acme", newer, 1)).toMatchObject({ kind: "live", version: 5 });
  expect(await cache.load("acme", 31_000, request)).toMatchObject({ version: 5 });
  expect(await cache.keep("acme", old, 31_001)).toMatchObject({ version: 5 });
  await cache.keep("acme", { ...newer, version: 6, state: "deleted" }, 31_002);
  expect(await cache.load("acme", 62_000, request)).toEqual({ kind: "deleted", version: 6 });
});

test("[O4] what the object said holds although KV has nothing yet; later KV is believed", async () => {
  const kv = new FakeKv();
  const cache = cacheOver(kv);
  await cache.keep("acme", await sealConfig(keys, "acme", config, 5, "live"), 0);
  expect(await cache.load("acme", 60_000, request)).toMatchObject({ kind: "live" });
  expect(await cache.load("acme", 120_000, request)).toEqual({ kind: "unknown" });
});

test("[I7] a record that cannot be opened is not an unknown tenant, and a readable copy of it replaces it", async () => {
  const kv = new FakeKv();
  const good = await kv.put("acme", 3);
  kv.records.set("acme", { ...good, sealed: good.sealed.replace(/^..../, "AAAA") });
  const cache = cacheOver(kv);
  expect(await cache.load("acme", 0, request)).toMatchObject({ kind: "unreadable", reason: "damaged" });
  kv.records.set("acme", good);
  expect(await cache.load("acme", 30_000, request)).toMatchObject({ kind: "live", version: 3 });
});

test("[C4] the shared read is asked to outlive the request that began it", async () => {
  const kv = new FakeKv();
  const kept: Promise<unknown>[] = [];
  const cache = cacheOver(kv);
  await cache.load("acme", 0, { waitUntil: (work) => kept.push(work) });
  expect(kept).toHaveLength(1);
});
