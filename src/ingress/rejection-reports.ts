/**
 * What an isolate turned away, gathered by tenant and kind and told to the tenant's first object at most once in 30 s, after
 * the answer [O7]. A kind is explained once for each report, so that a flood of forgeries costs no more than that.
 */
import type { TenantObjects } from "../buffer/contract.ts";
import { kindOf, REJECTION_KINDS_MAX, type Rejection, type RejectionExample } from "../core/rejections.ts";
import type { OutlivesAnswer } from "../tenants/cache.ts";

const REPORT_EVERY_MS = 30_000;
const TENANT_COUNT_MAX = 1_000;
const RETRY_LIMIT_MS = 2_000;

/** One request that was turned away. */
export interface TurnedAway {
  readonly source: string | null;
  readonly reason: string;
  /** What it is called until it is explained. */
  readonly detail: string;
  readonly explain: (() => Promise<string>) | null;
  readonly example: RejectionExample;
}

interface Gathered {
  readonly kinds: Map<string, Rejection>;
  /** Explanations on their way. */
  explaining: Promise<void>[];
  reportedAtMs: number;
}

export class RejectionReports {
  readonly #objects: TenantObjects;
  readonly #tenants = new Map<string, Gathered>();

  constructor(objects: TenantObjects) {
    this.#objects = objects;
  }

  /** Counts a request of an existing tenant; reports when it is time to. */
  note(tenant: string, turnedAway: TurnedAway, request: OutlivesAnswer): void {
    const { source, reason, detail, explain, example } = turnedAway;
    const gathered = this.#gathered(tenant);
    const kind = kindOf(turnedAway);
    const known = gathered.kinds.get(kind);
    if (known !== undefined) {
      gathered.kinds.set(kind, { ...known, count: known.count + 1, lastAtMs: example.atMs });
    } else if (gathered.kinds.size < REJECTION_KINDS_MAX) {
      const { atMs } = example;
      const rejection = { source, reason, count: 1, firstAtMs: atMs, lastAtMs: atMs, explanation: detail, example };
      gathered.kinds.set(kind, rejection);
      if (explain !== null) {
        const explaining = this.#explain(gathered, kind, explain);
        gathered.explaining.push(explaining);
        request.waitUntil(explaining);
      }
    }
    this.flush(tenant, example.atMs, request);
  }

  /** Reports what is gathered of the tenant, if the last report is long enough ago. Any request of it may call this. */
  flush(tenant: string, nowMs: number, request: OutlivesAnswer): void {
    const gathered = this.#tenants.get(tenant);
    if (gathered === undefined || gathered.kinds.size === 0) return;
    if (nowMs - gathered.reportedAtMs < REPORT_EVERY_MS) return;
    gathered.reportedAtMs = nowMs;
    request.waitUntil(this.#report(tenant, gathered));
  }

  /** What the object has not been told yet. */
  pending(tenant: string): readonly Rejection[] {
    return [...(this.#tenants.get(tenant)?.kinds.values() ?? [])];
  }

  #gathered(tenant: string): Gathered {
    const known = this.#tenants.get(tenant) ?? {
      kinds: new Map(),
      explaining: [],
      reportedAtMs: Number.NEGATIVE_INFINITY,
    };
    this.#tenants.delete(tenant);
    this.#tenants.set(tenant, known);
    if (this.#tenants.size > TENANT_COUNT_MAX) {
      const oldest = this.#tenants.keys().next();
      if (!oldest.done) this.#tenants.delete(oldest.value);
    }
    return known;
  }

  async #explain(gathered: Gathered, kind: string, explain: () => Promise<string>): Promise<void> {
    try {
      const explanation = await explain();
      const rejection = gathered.kinds.get(kind);
      if (rejection !== undefined) gathered.kinds.set(kind, { ...rejection, explanation });
    } catch {
      // The reason stands without it.
    }
  }

  async #report(tenant: string, gathered: Gathered): Promise<void> {
    await Promise.all(gathered.explaining);
    const kinds = [...gathered.kinds.values()];
    gathered.kinds.clear();
    gathered.explaining = [];
    if (kinds.length === 0) return;
    try {
      await this.#objects.of(tenant, RETRY_LIMIT_MS).reportRejections({ tenant, kinds });
    } catch {
      // They are counts of what was refused, and approximate: an object that is in trouble is not asked twice.
    }
  }
}
