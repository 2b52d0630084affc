/**
 * The copy of a tenant's configuration that Workers read [O4]. The tenant's object owns the configuration and writes
 * it here; a Worker only reads. Values are `ConfigRecord`s: nothing in KV is readable without the key [O3].
 */
import { ANYWHERE, type Place } from "../core/place.ts";
import { objectName } from "../core/shard.ts";
import type { ConfigRecord } from "./config.ts";
import { memberAt } from "./json.ts";

const PREFIX = "tenant:";

/** Shortest time the platform lets a location remember a value or a miss. */
const CACHE_TTL_SECONDS = 30;

/** How long a tombstone stays, so that a Worker with an old copy learns of the deletion [O4]. */
const TOMBSTONE_TTL_SECONDS = 86_400;

const PAGE_KEYS_MAX = 1_000;

/** The part of a KV namespace this needs. */
export interface ConfigKv {
  get(key: string, options: { type: "json"; cacheTtl: number }): Promise<unknown>;
  put(key: string, value: string, options: { metadata: unknown; expirationTtl?: number }): Promise<void>;
  list(options: { prefix: string; cursor?: string; limit: number }): Promise<ConfigKvPage>;
}

interface ConfigKvPage {
  readonly keys: readonly { readonly name: string; readonly metadata?: unknown }[];
  readonly list_complete: boolean;
  readonly cursor?: string;
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
  kv: Pick<ConfigKv, "list">,
  note: (tenant: string, place: Place) => void = () => {},
): Promise<string[]> {
  const objects: string[] = [];
  let cursor: string | null = null;
  do {
    const at: { prefix: string; limit: number } = { prefix: PREFIX, limit: PAGE_KEYS_MAX };
    const page: ConfigKvPage = await kv.list(cursor === null ? at : { ...at, cursor });
    for (const { name, metadata } of page.keys) {
      if (isDeleted(metadata)) continue;
      note(name.slice(PREFIX.length), placeIn(metadata));
      const count = memberAt(metadata, "objects");
      for (let shard = 0; shard < (typeof count === "number" ? count : 1); shard += 1) {
        objects.push(objectName(name.slice(PREFIX.length), shard));
      }
    }
    cursor = page.list_complete ? null : (page.cursor ?? null);
  } while (cursor !== null);
  return objects;
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
