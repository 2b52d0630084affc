/**
 * The Durable Object that stands before one shared host [V27]; its name is the host's. It lives in memory only and writes
 * no row: after a restart it lends slowly, as permits may still be out.
 */
import { DurableObject, RpcTarget } from "cloudflare:workers";
import { Gate } from "../core/gate.ts";
import type { HostOutcome } from "../core/host-health.ts";
import { type Bindings, readSettings } from "../env.ts";
import type { GateAnswer, GateAsk, LentPermit, OriginGateCalls } from "./contract.ts";

const PER_TENANT_MAX = 5;
const WAIT_MAX_MS = 20_000;
/** What a permit lasts beyond the request's own limit: the way there, and the answer's way back. */
const GRACE_MS = 5_000;
const TIMEOUT_MAX_MS = 60_000;

export class OriginGate extends DurableObject<Bindings> implements OriginGateCalls {
  readonly #gate: Gate;
  readonly #waiting = new Map<number, (answer: GateAnswer) => void>();
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(ctx: DurableObjectState, env: Bindings) {
    super(ctx, env);
    const inFlightMax = readSettings(env).sharedOrigins.maxInFlight;
    this.#gate = new Gate({ inFlightMax, perTenantMax: PER_TENANT_MAX, waitMaxMs: WAIT_MAX_MS }, Date.now());
  }

  ask({ tenant, timeoutMs }: GateAsk): Promise<GateAnswer> {
    const nowMs = Date.now();
    const holdMs = Math.min(TIMEOUT_MAX_MS, Math.max(0, timeoutMs)) + GRACE_MS;
    return new Promise((resolve) => {
      this.#waiting.set(this.#gate.ask(tenant, holdMs, nowMs), resolve);
      this.#decide(nowMs);
    });
  }

  #decide(nowMs: number): void {
    for (const decision of this.#gate.decide(nowMs)) {
      const resolve = this.#waiting.get(decision.waiterId);
      this.#waiting.delete(decision.waiterId);
      resolve?.(
        decision.kind === "later"
          ? { kind: "later", afterMs: decision.afterMs }
          : { kind: "lent", permit: new Lent((outcome) => this.#end(decision.permitId, outcome)) },
      );
    }
    if (this.#timer !== null) clearTimeout(this.#timer);
    const nextMs = this.#gate.nextMs(nowMs);
    // Only while somebody waits: a timer keeps the object in memory, and billed.
    this.#timer = nextMs === null ? null : setTimeout(() => this.#decide(Date.now()), Math.max(1, nextMs - nowMs));
  }

  #end(permitId: number, outcome: HostOutcome): void {
    const nowMs = Date.now();
    this.#gate.end(permitId, outcome, nowMs);
    this.#decide(nowMs);
  }
}

/** A permit in the hands of a tenant. Only the first word on it counts. */
class Lent extends RpcTarget implements LentPermit {
  readonly #end: (outcome: HostOutcome) => void;

  constructor(end: (outcome: HostOutcome) => void) {
    super();
    this.#end = end;
  }

  end(outcome: HostOutcome): void {
    this.#end(outcome);
  }

  /** Its holder let go of it, or is gone. */
  [Symbol.dispose](): void {
    this.#end("unknown");
  }
}
