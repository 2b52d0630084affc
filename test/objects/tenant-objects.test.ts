/** The local runtime has no jurisdictions: what is handed to the namespace is looked at instead. */
import { expect, test } from "vitest";
import { hasJurisdiction } from "../../src/buffer/namespace.ts";
import { PlacedObjects } from "../../src/objects/tenant-objects.ts";
import type { ConfigRecord } from "../../src/tenants/config.ts";
import { listObjects, writeRecord } from "../../src/tenants/kv.ts";
import { bindings } from "../flow/tenant.ts";

interface Asked {
  readonly jurisdiction: string | null;
  readonly name: string;
  readonly options: Readonly<Record<string, unknown>>;
}

/** A namespace as on Cloudflare's own network; `records` says what the object `<jurisdiction or ->/<name>` has. */
class FakeNamespace {
  readonly asked: Asked[] = [];
  readonly records = new Map<string, ConfigRecord>();
  readonly #jurisdictions: readonly string[];

  constructor(jurisdictions: readonly string[] = ["eu", "us", "fedramp", "fedramp-high"]) {
    this.#jurisdictions = jurisdictions;
  }

  get binding(): DurableObjectNamespace {
    return this.#at(null) as unknown as DurableObjectNamespace;
  }

  #at(jurisdiction: string | null) {
    return {
      jurisdiction: (name: string) => {
        if (!this.#jurisdictions.includes(name)) throw new Error("Jurisdiction restrictions are not implemented.");
        return this.#at(name);
      },
      getByName: (name: string, options: Asked["options"] = {}) => {
        this.asked.push({ jurisdiction, name, options });
        return { readConfig: async () => this.records.get(`${jurisdiction ?? "-"}/${name}`) ?? null };
      },
    };
  }
}

function record(changes: Partial<ConfigRecord> = {}): ConfigRecord {
  return { v: 1, version: 1, state: "live", keyId: "k", sealed: "", ...changes };
}

const EU = { jurisdiction: "eu", locationHint: "weur" } as const;

test("[O13] (by construction) every object of a tenant is found within its jurisdiction, with its hint", async () => {
  const namespace = new FakeNamespace();
  const objects = new PlacedObjects(namespace.binding, async () => record({ place: EU }));
  await objects.of("acme", 1_000).readConfig();
  await objects.of("acme", 2_000, 3).readConfig();
  expect(namespace.asked).toEqual([
    {
      jurisdiction: "eu",
      name: "acme",
      options: { locationHint: "weur", retry: { maxRetries: 2, timeoutMs: 1_000 } },
    },
    {
      jurisdiction: "eu",
      name: "acme.3",
      options: { locationHint: "weur", retry: { maxRetries: 2, timeoutMs: 2_000 } },
    },
  ]);
});

test("[O13] [C4] (by construction) a place that is known is not looked up: neither KV nor an object is asked", async () => {
  const namespace = new FakeNamespace();
  let reads = 0;
  const objects = new PlacedObjects(namespace.binding, async () => {
    reads += 1;
    return null;
  });
  objects.note("acme", { jurisdiction: null, locationHint: null });
  objects.of("acme", 1_000);
  expect(namespace.asked).toEqual([
    { jurisdiction: null, name: "acme", options: { retry: { maxRetries: 2, timeoutMs: 1_000 } } },
  ]);
  expect(reads).toBe(0);
});

test("[O13] (by construction) where KV does not know a tenant yet, each place it could live in is asked", async () => {
  const namespace = new FakeNamespace();
  namespace.records.set("us/acme", record({ place: { jurisdiction: "us", locationHint: null } }));
  const objects = new PlacedObjects(namespace.binding, async () => null);
  expect(await objects.find("acme")).toEqual({ jurisdiction: "us", locationHint: null });
  expect(new Set(namespace.asked.map(({ jurisdiction }) => jurisdiction))).toEqual(
    new Set([null, "eu", "us", "fedramp", "fedramp-high"]),
  );
  expect(await objects.find("nobody")).toBeNull();
  const down = new PlacedObjects(namespace.binding, async () => {
    throw new Error("KV is down");
  });
  expect(await down.find("acme")).toEqual({ jurisdiction: "us", locationHint: null });
});

test("[O13] (by construction) a tenant that is being created is created where its configuration says", () => {
  const namespace = new FakeNamespace();
  const objects = new PlacedObjects(namespace.binding, async () => null);
  objects.of("acme", 1_000, 0, EU);
  expect(namespace.asked).toMatchObject([{ jurisdiction: "eu", name: "acme", options: { locationHint: "weur" } }]);
});

test("[O13] the runtime here has no jurisdictions, and says so", async () => {
  expect(hasJurisdiction(bindings.TENANT_BUFFER, "eu")).toBe(false);
  expect(hasJurisdiction(new FakeNamespace().binding, "eu")).toBe(true);
  expect(hasJurisdiction(new FakeNamespace(["us"]).binding, "eu")).toBe(false);
});

test("[O13] [V20] (by construction) the sweep learns from KV's list where each tenant lives", async () => {
  const name = `t-${crypto.randomUUID()}`;
  await writeRecord(bindings.TENANT_CONFIG, name, record({ place: EU, objectCount: 2 }));
  await writeRecord(bindings.TENANT_CONFIG, `${name}-b`, record());
  const places = new Map<string, unknown>();
  const listed = await listObjects(bindings.TENANT_CONFIG, (tenant, place) => places.set(tenant, place));
  expect(listed).toEqual(expect.arrayContaining([name, `${name}.1`, `${name}-b`]));
  expect(places.get(name)).toEqual(EU);
  expect(places.get(`${name}-b`)).toEqual({ jurisdiction: null, locationHint: null });
});
