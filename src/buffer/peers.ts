/** The other objects of a tenant that is spread over several [S1] [S2]: telling them, and asking them what they know. */
import { ANYWHERE } from "../core/place.ts";
import { earlierShards, objectName } from "../core/shard.ts";
import type { Bindings } from "../env.ts";
import type { ConfigRecord } from "../tenants/config.ts";
import type { IngestCall, RecallAnswer, TenantBufferCalls } from "./contract.ts";
import { hintOf, namespaceAt } from "./namespace.ts";

export class Peers {
  readonly #env: Bindings;
  readonly #tenant: string;

  constructor(env: Bindings, tenant: string) {
    this.#env = env;
    this.#tenant = tenant;
  }

  /**
   * Tells every object but the first of a configuration; those of earlier layouts first, so that none of the new ones
   * stores before the old ones have stopped. True when all have it.
   */
  async tell(record: ConfigRecord): Promise<boolean> {
    const shards = record.shards ?? 1;
    const oldest = Math.max(0, ...(record.layouts ?? []).map((layout) => layout.shards));
    const earlier = range(1, Math.max(oldest, record.objectCount ?? 1)).filter(
      (shard) => shard < oldest || shard >= shards,
    );
    const later = range(1, shards).filter((shard) => !earlier.includes(shard));
    return (await this.#tellAll(earlier, record)) && (await this.#tellAll(later, record));
  }

  /** Events waiting at each destination of all objects but the first. Throws where one cannot be asked. */
  async backlogs(record: ConfigRecord): Promise<ReadonlyMap<string, number>> {
    const sums = new Map<string, number>();
    const shards = range(1, record.objectCount ?? 1);
    const all = await Promise.all(shards.map((shard) => this.#object(shard, record).backlogs()));
    for (const backlogs of all) {
      for (const [name, count] of Object.entries(backlogs)) sums.set(name, (sums.get(name) ?? 0) + count);
    }
    return sums;
  }

  /**
   * What the objects of earlier layouts know of an event; the first answer that is more than "unknown" counts. `behind`
   * also where one cannot be asked: nothing is stored on a guess.
   */
  async recall(call: IngestCall, shard: number, record: ConfigRecord, nowMs: number): Promise<RecallAnswer> {
    let isTaken = false;
    for (const other of earlierShards(call.keys, shard, record.layouts ?? [], nowMs)) {
      try {
        const answer = await this.#object(other, record).recall(call);
        if (answer.kind !== "unknown") return answer;
        isTaken ||= answer.taken;
      } catch {
        return { kind: "behind" };
      }
    }
    return { kind: "unknown", taken: isTaken };
  }

  async #tellAll(shards: readonly number[], record: ConfigRecord): Promise<boolean> {
    const told = await Promise.all(
      shards.map(async (shard) => {
        try {
          return await this.#object(shard, record).adopt({ tenant: this.#tenant, shard, record });
        } catch {
          return false;
        }
      }),
    );
    return told.every((isTold) => isTold);
  }

  #object(shard: number, { place = ANYWHERE }: ConfigRecord): TenantBufferCalls {
    const name = objectName(this.#tenant, shard);
    return namespaceAt(this.#env.TENANT_BUFFER, place).getByName(name, hintOf(place)) as unknown as TenantBufferCalls;
  }
}

function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index);
}
