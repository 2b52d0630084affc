/** The part of a KV namespace that the sweep needs; tenants' configurations live in the same one. */
export interface SweepKv {
  get(key: string, options: { type: "json"; cacheTtl: number }): Promise<unknown>;
  put(key: string, value: string, options?: { metadata: unknown }): Promise<void>;
  delete(key: string): Promise<void>;
  list(options: { prefix: string; cursor?: string; limit: number }): Promise<KvPage>;
}

export interface KvPage {
  readonly keys: readonly KvKey[];
  readonly list_complete: boolean;
  readonly cursor?: string;
}

export interface KvKey {
  readonly name: string;
  readonly metadata?: unknown;
}

const PAGE_KEYS_MAX = 1_000;

/** Every key that begins with `prefix`, the prefix cut off. Throws when KV fails. */
export async function listAll(kv: SweepKv, prefix: string): Promise<KvKey[]> {
  const keys: KvKey[] = [];
  let cursor: string | null = null;
  do {
    const at = cursor === null ? { prefix, limit: PAGE_KEYS_MAX } : { prefix, cursor, limit: PAGE_KEYS_MAX };
    const page: KvPage = await kv.list(at);
    keys.push(...page.keys.map((key) => ({ ...key, name: key.name.slice(prefix.length) })));
    cursor = page.list_complete ? null : (page.cursor ?? null);
  } while (cursor !== null);
  return keys;
}
