import { expect, test } from "vitest";
import { buildConfig } from "../../src/tenants/build.ts";
import type { TenantConfig } from "../../src/tenants/config.ts";
import { configSchema } from "../../src/tenants/schema.ts";
import { fingerprinter, openConfig, sealConfig } from "../../src/tenants/sealing.ts";
import { minimal } from "./sample.ts";

const current = new Uint8Array(32).fill(1);
const previous = new Uint8Array(32).fill(2);
const config: TenantConfig = buildConfig(configSchema().parse(minimal), minimal);

test("[O3] what was sealed opens again, and shows none of its secrets", async () => {
  const record = await sealConfig({ current, previous: null }, "acme", config, 7, "live");
  expect(record).toMatchObject({ v: 1, version: 7, state: "live" });
  expect(JSON.stringify(record)).not.toContain("0123456789abcdef");
  expect(atob(record.sealed)).not.toContain("0123456789abcdef");
  expect(await openConfig({ current, previous: null }, "acme", record)).toEqual({ ok: true, value: config });
});

test("[O3] the same configuration is never sealed to the same bytes twice", async () => {
  const keys = { current, previous: null };
  const [first, second] = await Promise.all([1, 2].map(() => sealConfig(keys, "acme", config, 1, "live")));
  expect(first?.sealed).not.toBe(second?.sealed);
});

test("[O3] a record copied to another tenant does not open", async () => {
  const keys = { current, previous: null };
  const record = await sealConfig(keys, "acme", config, 1, "live");
  expect(await openConfig(keys, "other", record)).toMatchObject({ ok: false, reason: "damaged" });
});

test("[O3] every altered byte is noticed", async () => {
  const keys = { current, previous: null };
  const record = await sealConfig(keys, "acme", config, 1, "live");
  const bytes = Uint8Array.fromBase64(record.sealed);
  for (const at of [0, 11, 12, bytes.length - 1]) {
    const altered = bytes.slice();
    altered[at] = (altered[at] ?? 0) ^ 1;
    const opened = await openConfig(keys, "acme", { ...record, sealed: altered.toBase64() });
    expect(opened).toMatchObject({ ok: false, reason: "damaged" });
  }
  expect(await openConfig(keys, "acme", { ...record, sealed: "?" })).toMatchObject({ ok: false, reason: "damaged" });
  expect(await openConfig(keys, "acme", { ...record, sealed: "" })).toMatchObject({ ok: false, reason: "damaged" });
});

test("[O3] CONFIG_KEY_PREVIOUS still opens old records; a key that is gone is named by its fingerprint", async () => {
  const record = await sealConfig({ current: previous, previous: null }, "acme", config, 1, "live");
  expect(await openConfig({ current, previous }, "acme", record)).toMatchObject({ ok: true });
  expect(await openConfig({ current: null, previous }, "acme", record)).toMatchObject({ ok: true });
  const unknown = await openConfig({ current, previous: null }, "acme", record);
  expect(unknown).toMatchObject({ ok: false, reason: "unknown-key" });
  expect(JSON.stringify(unknown)).toContain(record.keyId);
  const none = await openConfig({ current: null, previous: null }, "acme", record);
  expect(none).toMatchObject({ ok: false, reason: "no-config-key" });
});

test("[O4] the object numbers a record without opening it", async () => {
  const keys = { current, previous: null };
  const record = await sealConfig(keys, "acme", config, 0, "live");
  expect(await openConfig(keys, "acme", { ...record, version: 1_764_417_600_000 })).toMatchObject({ ok: true });
});

test("[O3] nothing is sealed without a current key", async () => {
  await expect(sealConfig({ current: null, previous }, "acme", config, 1, "live")).rejects.toThrow("current key");
});

test("[O3] [O16] a fingerprint tells secrets of a tenant apart, and depends on the key and the tenant", async () => {
  const acme = fingerprinter({ current, previous: null }, "acme");
  const first = await acme("secret-1");
  expect(first.fingerprint).toMatch(/^[0-9a-f]{12}$/);
  expect(await acme("secret-1")).toEqual(first);
  expect(await acme("secret-2")).not.toEqual(first);
  expect(await fingerprinter({ current, previous: null }, "other")("secret-1")).not.toEqual(first);
  expect(await fingerprinter({ current: previous, previous: null }, "acme")("secret-1")).not.toEqual(first);
});
