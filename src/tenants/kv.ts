/**
 * The copy of a tenant's configuration that Workers read [O4]. The tenant's object owns the configuration and writes
 * it here; a Worker only reads. Values are `ConfigRecord`s: nothing in KV is readable without the key [O3].
 */
import { ANYWHERE, type Place } from "../core/place.ts";
import { objectName } from "../core/shard.ts";
import type { ConfigRecord } from "./config.ts";
import { memberAt } from "./json.ts";
import { CACHE_TTL_SECONDS, type KvList, listKeys } from "./kv-keys.ts";

const PREFIX = "tenant:";

/** How long a tombstone stays, so that a Worker with an old copy learns of the deletion [O4]. */
const TOMBSTONE_TTL_SECONDS = 86_400;

/** The part of a KV namespace this needs. */
export interface ConfigKv extends KvList {
  get(key: string, options: { type: "json"; cacheTtl: number }): Promise<unknown>;
  put(key: string, value: string, options: { metadata: unknown; expirationTtl?: number }): Promise<void>;
}

/** The tenant's record, or null where KV has none (or something that is not a record). Throws when KV fails. */
export async function readRecord(kv: ConfigKv, tenant: string): Promise<ConfigRecord | null> {
  const value = await kv.get(PREFIX + tenant, { type: "json", cacheTtl: CACHE_TTL_SECONDS });
  return isRecord(value) ? value : null;
}

/** Writes the record; a deleted tenant's goes away by itself after a day. Throws when KV fails. */
export async function writeRecord(kv: ConfigKv, tenant: string, record: ConfigRecord): Promise<void> {
  const { version, state, objectCount = 1, place } = record;
  const metadata = { version, state, objects: objectCount, ...(place === undefined ? {} : { place }) };
  const options = record.state === "deleted" ? { metadata, expirationTtl: TOMBSTONE_TTL_SECONDS } : { metadata };
  await kv.put(PREFIX + tenant, JSON.stringify(record), options);
}

/** One page of the names of tenants that are not deleted, in order. `cursor` null: there is no further page. */
export async function listTenants(
  kv: ConfigKv,
  limit: number,
  cursor: string | null,
): Promise<{ readonly tenants: readonly string[]; readonly cursor: string | null }> {
  const page = await kv.list(cursor === null ? { prefix: PREFIX, limit } : { prefix: PREFIX, limit, cursor });
  const tenants = page.keys.filter((key) => !isDeleted(key.metadata)).map((key) => key.name.slice(PREFIX.length));
  return { tenants, cursor: page.list_complete ? null : (page.cursor ?? null) };
}

/** The names of all objects of all tenants that are not deleted; `note` hears where each tenant's objects live. */
export async function listObjects(
  kv: KvList,
  note: (tenant: string, place: Place) => void = () => {},
): Promise<string[]> {
  const live = (await listKeys(kv, PREFIX)).filter((key) => !isDeleted(key.metadata));
  return live.flatMap(({ name, metadata }) => {
    note(name, placeIn(metadata));
    const count = memberAt(metadata, "objects");
    return Array.from({ length: typeof count === "number" ? count : 1 }, (_, shard) => objectName(name, shard));
  });
}

/** What `writeRecord` wrote of the place; a record of the release before says nothing, and lives anywhere. */
function placeIn(metadata: unknown): Place {
  const place = memberAt(metadata, "place");
  return typeof place === "object" && place !== null ? { ...ANYWHERE, ...place } : ANYWHERE;
}

function isDeleted(metadata: unknown): boolean {
  return memberAt(metadata, "state") === "deleted";
}

function isRecord(value: unknown): value is ConfigRecord {
  if (typeof value !== "object" || value === null) return false;
  const record = value as Partial<Record<keyof ConfigRecord, unknown>>;
  return (
    record.v === 1 &&
    typeof record.version === "number" &&
    (record.state === "live" || record.state === "deleted") &&
    typeof record.keyId === "string" &&
    typeof record.sealed === "string"
  );
}
