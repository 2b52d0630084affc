import type { KvList } from "../tenants/kv-keys.ts";

/** The part of a KV namespace that the sweep needs; tenants' configurations live in the same one. */
export interface SweepKv extends KvList {
  get(key: string, options: { type: "json"; cacheTtl: number }): Promise<unknown>;
  put(key: string, value: string, options?: { metadata: unknown }): Promise<void>;
  delete(key: string): Promise<void>;
}
