/**
 * Tells tenants' objects what was turned away unverified [O7]: counted per isolate, told at most once in 30 s per tenant,
 * so that a flood of forgeries costs an object next to nothing. What is not told yet is lost with the isolate.
 */
import type { RejectionKind, TenantObjects } from "../buffer/contract.ts";
import type { OutlivesAnswer } from "../tenants/cache.ts";

interface Pending {
  toldAtMs: number;
  readonly kinds: Map<string, RejectionKind>;
}

const QUIET_MS = 30_000;
const KINDS_MAX = 20;
const TENANTS_MAX = 200;
const CALL_LIMIT_MS = 5_000;

export class RejectionReports {
  readonly #objects: TenantObjects;
  readonly #pending = new Map<string, Pending>();

  constructor(objects: TenantObjects) {
    this.#objects = objects;
  }

  /** A request of an existing tenant was turned away; `lifetime` carries the call that tells of it, where one is due. */
  note(
    tenant: string,
    { source, reason, example }: Pick<RejectionKind, "source" | "reason" | "example">,
    nowMs: number,
    lifetime: OutlivesAnswer,
  ): void {
    const pending = this.#pendingOf(tenant);
    const name = `${source} ${reason}`;
    const before = pending.kinds.get(name);
    if (before === undefined && pending.kinds.size >= KINDS_MAX) return;
    const firstAtMs = before?.firstAtMs ?? nowMs;
    pending.kinds.set(name, { source, reason, example, count: (before?.count ?? 0) + 1, firstAtMs, lastAtMs: nowMs });
    if (nowMs - pending.toldAtMs < QUIET_MS) return;
    pending.toldAtMs = nowMs;
    const kinds = [...pending.kinds.values()];
    pending.kinds.clear();
    lifetime.waitUntil(this.#tell(tenant, kinds));
  }

  async #tell(tenant: string, kinds: readonly RejectionKind[]): Promise<void> {
    try {
      await this.#objects.of(tenant, CALL_LIMIT_MS).reportRejections({ tenant, kinds });
    } catch {
      // Told or not: nobody waits for it, and the log has the first of each kind.
    }
  }

  #pendingOf(tenant: string): Pending {
    const known = this.#pending.get(tenant);
    if (known !== undefined) return known;
    const pending: Pending = { toldAtMs: Number.NEGATIVE_INFINITY, kinds: new Map() };
    this.#pending.set(tenant, pending);
    if (this.#pending.size > TENANTS_MAX) {
      const oldest = this.#pending.keys().next();
      if (!oldest.done) this.#pending.delete(oldest.value);
    }
    return pending;
  }
}
