import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import type { ConfigRecord } from "../../src/tenants/config.ts";
import { listTenants, readRecord, writeRecord } from "../../src/tenants/kv.ts";

const kv = (env as unknown as { TENANT_CONFIG: KVNamespace }).TENANT_CONFIG;
const record: ConfigRecord = { v: 1, version: 3, state: "live", keyId: "00", sealed: "AAAA" };

test("[O4] a record is read back as it was written; nothing and nonsense are no record", async () => {
  await writeRecord(kv, "kv-one", record);
  expect(await readRecord(kv, "kv-one")).toEqual(record);
  expect(await readRecord(kv, "kv-nobody")).toBeNull();
  await kv.put("tenant:kv-odd", '{"v":2}');
  expect(await readRecord(kv, "kv-odd")).toBeNull();
});

test("[O4] the list gives the names that KV has, page by page, without those that were deleted", async () => {
  for (const name of ["list-a", "list-b", "list-c"]) await writeRecord(kv, name, record);
  await writeRecord(kv, "list-b", { ...record, state: "deleted" });
  expect(await readRecord(kv, "list-b")).toMatchObject({ state: "deleted" });
  const names: string[] = [];
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<typeof listTenants>> = await listTenants(kv, 2, cursor);
    names.push(...page.tenants);
    cursor = page.cursor;
  } while (cursor !== null);
  expect(names.filter((name) => name.startsWith("list-"))).toEqual(["list-a", "list-c"]);
});
