/**
 * Asking a tenant's object for its newest configuration before a request is turned away [O4]: a secret added a moment
 * ago must work at once. At most once per tenant and isolate in 5 s, however many forgeries come; requests that wait
 * share the answer.
 */
import type { TenantObjects } from "../buffer/contract.ts";
import { inTime } from "../core/in-time.ts";
import type { OutlivesAnswer, TenantCache, TenantEntry } from "../tenants/cache.ts";

const ASK_EVERY_MS = 5_000;
const TENANT_COUNT_MAX = 1_000;
const RETRY_LIMIT_MS = 1_000;
/** No refused sender waits for longer; an object that hangs must not fill the isolate with bodies. */
const ANSWER_LIMIT_MS = 2_000;

interface Asked {
  readonly atMs: number;
  readonly answer: Promise<TenantEntry | null>;
  isPending: boolean;
}

export class NewestConfig {
  readonly #objects: TenantObjects;
  readonly #cache: TenantCache;
  readonly #asked = new Map<string, Asked>();

  constructor(objects: TenantObjects, cache: TenantCache) {
    this.#objects = objects;
    this.#cache = cache;
  }

  /**
   * What the object says, if it is newer than `version`; null where it is not, where it was asked too short a time
   * ago, or where it does not answer. The tenant must exist: made-up names never reach an object.
   */
  async newerThan(
    tenant: string,
    version: number,
    nowMs: number,
    request: OutlivesAnswer,
  ): Promise<TenantEntry | null> {
    const asked = this.#asked.get(tenant);
    let current = asked;
    if (asked === undefined || (!asked.isPending && nowMs - asked.atMs >= ASK_EVERY_MS)) {
      current = this.#ask(tenant, nowMs);
      request.waitUntil(current.answer);
    } else if (!asked.isPending) {
      return null;
    }
    const entry = (await current?.answer) ?? null;
    return entry !== null && entry.kind !== "unknown" && entry.version > version ? entry : null;
  }

  #ask(tenant: string, nowMs: number): Asked {
    const asked: Asked = {
      atMs: nowMs,
      isPending: true,
      answer: this.#read(tenant, nowMs).finally(() => {
        asked.isPending = false;
      }),
    };
    this.#asked.delete(tenant);
    this.#asked.set(tenant, asked);
    if (this.#asked.size > TENANT_COUNT_MAX) {
      const oldest = this.#asked.keys().next();
      if (!oldest.done) this.#asked.delete(oldest.value);
    }
    return asked;
  }

  async #read(tenant: string, nowMs: number): Promise<TenantEntry | null> {
    try {
      const record = await inTime(this.#objects.of(tenant, RETRY_LIMIT_MS).readConfig(), ANSWER_LIMIT_MS);
      return record === null ? null : await this.#cache.keep(tenant, record, nowMs);
    } catch {
      // The sender hears what it would have heard without asking; the next one asks again in 5 s.
      return null;
    }
  }
}
