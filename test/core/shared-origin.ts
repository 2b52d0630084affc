/** Tenants that all want to send to one host through its gate, on a clock of their own. */
import { Gate, type GateLimits } from "../../src/core/gate.ts";
import type { HostOutcome } from "../../src/core/host-health.ts";

export interface Arrival {
  readonly atMs: number;
  readonly tenant: string;
  readonly outcome: HostOutcome;
  /** Requests of all tenants that are at the host, this one included. */
  readonly inFlight: number;
  readonly ofTenant: number;
}

export interface Host {
  /** What a request that arrives now comes to, and how long that takes. */
  answer(tenant: string, atMs: number): { readonly outcome: HostOutcome; readonly afterMs: number };
}

interface Moment {
  readonly atMs: number;
  readonly act: () => void;
}

/** What a permit lasts; longer than any answer of the hosts of these tests, unless a test says otherwise. */
const HOLD_MS = 15_000;

export class SharedOrigin {
  readonly gate: Gate;
  readonly arrivals: Arrival[] = [];
  readonly #host: Host;
  readonly #moments: Moment[] = [];
  readonly #waiting = new Map<number, { tenant: string; wants: () => boolean }>();
  readonly #atHost = new Map<string, number>();
  #nowMs = 0;
  #decidingAtMs: number | null = null;

  constructor(limits: GateLimits, host: Host) {
    this.gate = new Gate(limits, 0);
    this.#host = host;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  /** From `atMs` on `tenant` keeps `lanes` requests wanted, as long as `wants` says so. */
  join(tenant: string, lanes: number, atMs: number, wants: () => boolean = () => true): void {
    for (let lane = 0; lane < lanes; lane += 1) this.#at(atMs, () => this.#ask(tenant, wants));
  }

  runUntil(atMs: number): void {
    for (;;) {
      const [next] = this.#moments;
      if (next === undefined || next.atMs > atMs) break;
      this.#moments.shift();
      this.#nowMs = next.atMs;
      next.act();
    }
    this.#nowMs = atMs;
  }

  #at(atMs: number, act: () => void): void {
    const index = this.#moments.findLastIndex((moment) => moment.atMs <= atMs);
    this.#moments.splice(index + 1, 0, { atMs, act });
  }

  #ask(tenant: string, wants: () => boolean): void {
    if (!wants()) return;
    this.#waiting.set(this.gate.ask(tenant, HOLD_MS, this.#nowMs), { tenant, wants });
    this.#decide();
  }

  #decide(): void {
    for (const decision of this.gate.decide(this.#nowMs)) {
      const waiter = this.#waiting.get(decision.waiterId);
      if (waiter === undefined) throw new Error("decided on twice");
      this.#waiting.delete(decision.waiterId);
      if (decision.kind === "later") {
        this.#at(this.#nowMs + decision.afterMs, () => this.#ask(waiter.tenant, waiter.wants));
      } else {
        this.#send(decision.permitId, waiter.tenant, waiter.wants);
      }
    }
    const nextMs = this.gate.nextMs(this.#nowMs);
    if (nextMs === null || (this.#decidingAtMs !== null && this.#decidingAtMs <= nextMs)) return;
    const atMs = Math.max(this.#nowMs + 1, nextMs);
    this.#decidingAtMs = atMs;
    this.#at(atMs, () => {
      if (this.#decidingAtMs === atMs) this.#decidingAtMs = null;
      this.#decide();
    });
  }

  #send(permitId: number, tenant: string, wants: () => boolean): void {
    const ofTenant = (this.#atHost.get(tenant) ?? 0) + 1;
    this.#atHost.set(tenant, ofTenant);
    const { outcome, afterMs } = this.#host.answer(tenant, this.#nowMs);
    const inFlight = [...this.#atHost.values()].reduce((sum, count) => sum + count, 0);
    this.arrivals.push({ atMs: this.#nowMs, tenant, outcome, inFlight, ofTenant });
    this.#at(this.#nowMs + afterMs, () => {
      this.#atHost.set(tenant, (this.#atHost.get(tenant) ?? 1) - 1);
      this.gate.end(permitId, outcome, this.#nowMs);
      this.#decide();
      this.#ask(tenant, wants);
    });
  }
}

export const LIMITS: GateLimits = { inFlightMax: 32, perTenantMax: 5, waitMaxMs: 20_000 };
