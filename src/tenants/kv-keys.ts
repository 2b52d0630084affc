/** The keys of a KV namespace: configurations, the registry of objects and the sweep's summaries live in the same one. */
interface KvKey {
  readonly name: string;
  readonly metadata?: unknown;
}

interface KvPage {
  readonly keys: readonly KvKey[];
  readonly list_complete: boolean;
  readonly cursor?: string;
}

export interface KvList {
  list(options: { prefix: string; cursor?: string; limit: number }): Promise<KvPage>;
}

/** Shortest time the platform lets a location remember a value or a miss. */
export const CACHE_TTL_SECONDS = 30;

/** The most that the platform lists in one call. */
const PAGE_KEYS_MAX = 1_000;

/** Every key that begins with `prefix`, the prefix cut off, in order. Throws when KV fails. */
export async function listKeys(kv: KvList, prefix: string): Promise<KvKey[]> {
  const keys: KvKey[] = [];
  let cursor: string | null = null;
  do {
    const at = { prefix, limit: PAGE_KEYS_MAX };
    const page: KvPage = await kv.list(cursor === null ? at : { ...at, cursor });
    for (const key of page.keys) keys.push({ ...key, name: key.name.slice(prefix.length) });
    cursor = page.list_complete ? null : (page.cursor ?? null);
  } while (cursor !== null);
  return keys;
}
