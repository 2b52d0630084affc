/**
 * The gate of one host that tenants share [V27]: lends permits, so many at once and so many to one tenant, waiting tenants
 * in turn. It decides and remembers; who asks, waits and sends is the caller's business.
 */
import { allowance, type HostHealth, type HostOutcome, lent, newHealth, observed, sentAway } from "./host-health.ts";

export interface GateLimits {
  /** Requests to the host at once. */
  readonly inFlightMax: number;
  readonly perTenantMax: number;
  /** Who has waited so long is told to ask again, and keeps its turn. */
  readonly waitMaxMs: number;
}

export type GateDecision =
  | { readonly kind: "lent"; readonly waiterId: number; readonly permitId: number }
  /** Not now: ask again after `afterMs`. */
  | { readonly kind: "later"; readonly waiterId: number; readonly afterMs: number };

interface Permit {
  readonly tenant: string;
  readonly endsAtMs: number;
}

interface Waiter {
  readonly id: number;
  readonly holdMs: number;
  readonly askedAtMs: number;
}

/** A tenant that waits, or did lately. The lowest turn is next; a permit puts its tenant behind all others. */
interface Line {
  readonly tenant: string;
  turn: number;
  waiters: Waiter[];
  /** Since when nobody of this tenant waits, its turn being kept for it. */
  leftAtMs: number | null;
}

/** For how long the turn of a tenant is kept that does not wait now: it was served, or told to ask again. */
const TURN_KEPT_MS = 60_000;
/** Who was told to ask again because it had waited long enough comes back after this. */
const ASK_AGAIN_MS = 100;

export class Gate {
  readonly #limits: GateLimits;
  readonly #permits = new Map<number, Permit>();
  readonly #lines = new Map<string, Line>();
  #health: HostHealth;
  #probeId: number | null = null;
  #nextId = 1;
  #nextTurn = 1;

  constructor(limits: GateLimits, nowMs: number) {
    this.#limits = limits;
    this.#health = newHealth(nowMs);
  }

  get health(): HostHealth {
    return this.#health;
  }

  /** Permits that are out. */
  get inFlight(): number {
    return this.#permits.size;
  }

  /** A tenant wants to send one request that lasts at most `holdMs`; `decide` answers. */
  ask(tenant: string, holdMs: number, nowMs: number): number {
    const id = this.#nextId++;
    let line = this.#lines.get(tenant);
    if (line === undefined) {
      line = { tenant, turn: this.#nextTurn++, waiters: [], leftAtMs: null };
      this.#lines.set(tenant, line);
    }
    line.waiters.push({ id, holdMs, askedAtMs: nowMs });
    line.leftAtMs = null;
    return id;
  }

  /** A request is over. A permit that has ended by itself already is nobody's any more. */
  end(permitId: number, outcome: HostOutcome, nowMs: number): void {
    const permit = this.#permits.get(permitId);
    if (permit === undefined) return;
    this.#permits.delete(permitId);
    const isProbe = this.#probeId === permitId;
    if (isProbe) this.#probeId = null;
    this.#health = observed(this.#health, permit.tenant, outcome, isProbe, nowMs);
  }

  /** Whatever can be decided now; each waiter is decided on once. */
  decide(nowMs: number): GateDecision[] {
    for (const [id, permit] of this.#permits) if (permit.endsAtMs <= nowMs) this.end(id, "unknown", nowMs);
    const decisions: GateDecision[] = [];
    for (let next = this.#lendNext(nowMs); next !== null; next = this.#lendNext(nowMs)) decisions.push(next);
    decisions.push(...(this.#health.outage === null ? this.#sendTired(nowMs) : this.#sendAll(nowMs)));
    for (const [tenant, { leftAtMs }] of this.#lines) {
      if (leftAtMs !== null && nowMs - leftAtMs >= TURN_KEPT_MS) this.#lines.delete(tenant);
    }
    return decisions;
  }

  /** When `decide` has to be called again although nothing happens; null: never. */
  nextMs(nowMs: number): number | null {
    const waiters = [...this.#lines.values()].flatMap((line) => line.waiters);
    if (waiters.length === 0) return null;
    const { untilMs } = allowance(this.#health, this.#limits.inFlightMax, nowMs);
    const dues = [
      ...[...this.#permits.values()].map((permit) => permit.endsAtMs),
      ...waiters.map((waiter) => waiter.askedAtMs + this.#limits.waitMaxMs),
      ...(untilMs === null ? [] : [untilMs]),
    ];
    return dues.reduce((first, dueMs) => Math.min(first, dueMs));
  }

  #lendNext(nowMs: number): GateDecision | null {
    const { inFlightMax } = this.#limits;
    const { outage } = this.#health;
    if (this.#permits.size >= inFlightMax) return null;
    if (outage !== null && (this.#probeId !== null || nowMs < outage.probeAtMs)) return null;
    if (outage === null && allowance(this.#health, inFlightMax, nowMs).count === 0) return null;
    const line = this.#nextLine();
    const waiter = line?.waiters.shift();
    if (line === null || waiter === undefined) return null;
    const permitId = this.#nextId++;
    this.#permits.set(permitId, { tenant: line.tenant, endsAtMs: nowMs + waiter.holdMs });
    if (outage === null) this.#health = lent(this.#health);
    else this.#probeId = permitId;
    line.turn = this.#nextTurn++;
    if (line.waiters.length === 0) line.leftAtMs = nowMs;
    return { kind: "lent", waiterId: waiter.id, permitId };
  }

  /** The waiting tenant whose turn it is, leaving out those that have all they may have. */
  #nextLine(): Line | null {
    const counts = new Map<string, number>();
    for (const { tenant } of this.#permits.values()) counts.set(tenant, (counts.get(tenant) ?? 0) + 1);
    let next: Line | null = null;
    for (const line of this.#lines.values()) {
      if (line.waiters.length === 0 || (counts.get(line.tenant) ?? 0) >= this.#limits.perTenantMax) continue;
      if (next === null || line.turn < next.turn) next = line;
    }
    return next;
  }

  #sendTired(nowMs: number): GateDecision[] {
    const decisions: GateDecision[] = [];
    for (const line of this.#lines.values()) {
      const tired = line.waiters.filter((waiter) => nowMs - waiter.askedAtMs >= this.#limits.waitMaxMs);
      if (tired.length === 0) continue;
      line.waiters = line.waiters.filter((waiter) => !tired.includes(waiter));
      if (line.waiters.length === 0) line.leftAtMs = nowMs;
      decisions.push(...tired.map(({ id }) => ({ kind: "later", waiterId: id, afterMs: ASK_AGAIN_MS }) as const));
    }
    return decisions;
  }

  /** The host is failing: nobody waits here for the end of an outage, whose length nobody knows. */
  #sendAll(nowMs: number): GateDecision[] {
    const decisions: GateDecision[] = [];
    for (const line of this.#lines.values()) {
      for (const { id } of line.waiters) {
        const { outage } = this.#health;
        if (outage === null) continue;
        const told = sentAway(outage, nowMs);
        this.#health = { ...this.#health, outage: told.outage };
        decisions.push({ kind: "later", waiterId: id, afterMs: told.afterMs });
      }
    }
    this.#lines.clear();
    return decisions;
  }
}
