/**
 * What the sweep last heard of each object, one KV value per 100 of them [O8]: lists and metrics answer from here and call
 * no object.
 */
import type { TenantStats } from "../buffer/contract.ts";
import { CACHE_TTL_SECONDS, listKeys } from "../tenants/kv-keys.ts";
import type { SweepKv } from "./sweep-kv.ts";

export interface Summary {
  /** When it was last called, whatever came of it. */
  readonly calledAtMs: number;
  /** When `stats` were true; null: it never answered. */
  readonly collectedAtMs: number | null;
  /** Alerts: only those that are up. */
  readonly stats: TenantStats | null;
  /** Events accepted per second between the last two times it answered; null: it answered once so far. */
  readonly acceptedPerSecond: number | null;
}

interface Chunk {
  readonly v: 1;
  readonly objects: Readonly<Record<string, Summary>>;
}

const PREFIX = "summaries:";
const OBJECTS_PER_VALUE = 100;

/** All summaries, by the object's name. Throws when KV fails. */
export async function readSummaries(kv: SweepKv): Promise<ReadonlyMap<string, Summary>> {
  return (await Summaries.read(kv)).all();
}

/** The summaries as the sweep changes them: each object stays in its value, so that only what changed is written. */
export class Summaries {
  readonly #kv: SweepKv;
  readonly #chunks: Map<number, Map<string, Summary>>;
  /** Which value an object is in. */
  readonly #home = new Map<string, number>();
  readonly #changed = new Set<number>();

  private constructor(kv: SweepKv, chunks: Map<number, Map<string, Summary>>) {
    this.#kv = kv;
    this.#chunks = chunks;
    for (const [index, chunk] of chunks) for (const object of chunk.keys()) this.#home.set(object, index);
  }

  static async read(kv: SweepKv): Promise<Summaries> {
    const indexes = (await listKeys(kv, PREFIX)).map((key) => Number(key.name)).filter(Number.isSafeInteger);
    const chunks = await Promise.all(
      indexes.sort((a, b) => a - b).map(async (index) => [index, await readChunk(kv, index)] as const),
    );
    return new Summaries(kv, new Map(chunks));
  }

  all(): ReadonlyMap<string, Summary> {
    return new Map([...this.#chunks.values()].flatMap((chunk) => [...chunk]));
  }

  find(object: string): Summary | null {
    return this.#chunks.get(this.#home.get(object) ?? -1)?.get(object) ?? null;
  }

  set(object: string, summary: Summary): void {
    const index = this.#home.get(object) ?? this.#indexWithRoom();
    const chunk = this.#chunks.get(index) ?? new Map<string, Summary>();
    chunk.set(object, summary);
    this.#chunks.set(index, chunk);
    this.#home.set(object, index);
    this.#changed.add(index);
  }

  remove(object: string): void {
    const index = this.#home.get(object);
    if (index === undefined) return;
    this.#chunks.get(index)?.delete(object);
    this.#home.delete(object);
    this.#changed.add(index);
  }

  /** Writes what changed; a value without objects goes. */
  async write(): Promise<void> {
    const writes = [...this.#changed].map(async (index) => {
      const chunk = this.#chunks.get(index) ?? new Map<string, Summary>();
      if (chunk.size === 0) return this.#kv.delete(PREFIX + index);
      const value: Chunk = { v: 1, objects: Object.fromEntries(chunk) };
      return this.#kv.put(PREFIX + index, JSON.stringify(value));
    });
    this.#changed.clear();
    await Promise.all(writes);
  }

  #indexWithRoom(): number {
    for (const [index, chunk] of this.#chunks) if (chunk.size < OBJECTS_PER_VALUE) return index;
    return Math.max(-1, ...this.#chunks.keys()) + 1;
  }
}

async function readChunk(kv: SweepKv, index: number): Promise<Map<string, Summary>> {
  const value = await kv.get(PREFIX + index, { type: "json", cacheTtl: CACHE_TTL_SECONDS });
  return isChunk(value) ? new Map(Object.entries(value.objects)) : new Map();
}

function isChunk(value: unknown): value is Chunk {
  if (typeof value !== "object" || value === null) return false;
  const chunk = value as Partial<Record<keyof Chunk, unknown>>;
  return chunk.v === 1 && typeof chunk.objects === "object" && chunk.objects !== null;
}
