/**
 * Where the objects of tenants are found [O13]. A tenant's place is part of its objects' ids, so it has to be known before
 * they can be called: from a record of its configuration, and only where none is at hand by asking.
 */
import type { TenantBufferCalls, TenantObjects } from "../buffer/contract.ts";
import { hasJurisdiction, hintOf, namespaceAt } from "../buffer/namespace.ts";
import { ANYWHERE, JURISDICTIONS, type Place } from "../core/place.ts";
import { objectName } from "../core/shard.ts";
import type { ConfigRecord } from "../tenants/config.ts";

/** Tenants whose place an isolate remembers. */
const REMEMBERED_MAX = 2_000;

export class PlacedObjects implements TenantObjects {
  readonly #namespace: DurableObjectNamespace;
  readonly #readRecord: (tenant: string) => Promise<ConfigRecord | null>;
  readonly #places = new Map<string, Place>();

  /** `readRecord`: the configuration as KV has it. */
  constructor(namespace: DurableObjectNamespace, readRecord: (tenant: string) => Promise<ConfigRecord | null>) {
    this.#namespace = namespace;
    this.#readRecord = readRecord;
  }

  of(tenant: string, retryLimitMs: number, shard = 0, place?: Place): TenantBufferCalls {
    const known = place ?? this.#places.get(tenant);
    if (known !== undefined) return this.#stub(tenant, retryLimitMs, shard, known);
    return foundLater(async () => this.#stub(tenant, retryLimitMs, shard, (await this.find(tenant)) ?? ANYWHERE));
  }

  /** Remembers where a tenant lives. */
  note(tenant: string, place: Place): void {
    this.#places.delete(tenant);
    this.#places.set(tenant, place);
    if (this.#places.size <= REMEMBERED_MAX) return;
    const oldest = this.#places.keys().next();
    if (!oldest.done) this.#places.delete(oldest.value);
  }

  /**
   * Where a tenant lives, or null where there is none. KV may not know yet of a tenant that was just created: then each
   * place where its first object could be is asked.
   */
  async find(tenant: string): Promise<Place | null> {
    const known = this.#places.get(tenant);
    if (known !== undefined) return known;
    const record = (await this.#recordInKv(tenant)) ?? (await this.#askAround(tenant));
    if (record === null) return null;
    const place = record.place ?? ANYWHERE;
    this.note(tenant, place);
    return place;
  }

  /** null also where KV does not answer. */
  async #recordInKv(tenant: string): Promise<ConfigRecord | null> {
    try {
      return await this.#readRecord(tenant);
    } catch {
      return null;
    }
  }

  async #askAround(tenant: string): Promise<ConfigRecord | null> {
    const jurisdictions = [null, ...JURISDICTIONS.filter((each) => hasJurisdiction(this.#namespace, each))];
    const records = await Promise.all(
      jurisdictions.map((jurisdiction) =>
        this.#stub(tenant, ASK_LIMIT_MS, 0, { jurisdiction, locationHint: null }).readConfig(),
      ),
    );
    return records.find((record) => record?.state === "live") ?? records.find((record) => record !== null) ?? null;
  }

  #stub(tenant: string, retryLimitMs: number, shard: number, place: Place): TenantBufferCalls {
    const retry = { maxRetries: 2, timeoutMs: retryLimitMs };
    const options = { ...hintOf(place), retry };
    // The namespace is bound by name, not by class: its methods are those of the contract.
    const stub = namespaceAt(this.#namespace, place).getByName(objectName(tenant, shard), options);
    return stub as unknown as TenantBufferCalls;
  }
}

const ASK_LIMIT_MS = 5_000;

/** An object that is looked for when it is first called. */
function foundLater(find: () => Promise<TenantBufferCalls>): TenantBufferCalls {
  type AnyCalls = Record<string | symbol, (...args: readonly unknown[]) => Promise<unknown>>;
  return new Proxy({} as TenantBufferCalls, {
    get: (_, method) => {
      // A promise that resolves with this asks it for `then`, which is no call.
      if (method === "then") return undefined;
      return async (...args: readonly unknown[]) => ((await find()) as unknown as AnyCalls)[method]?.(...args);
    },
  });
}
