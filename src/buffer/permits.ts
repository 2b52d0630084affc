/**
 * A tenant's side of the gates before hosts that tenants share [V27]: asks for a permit before a batch is made, and goes
 * on with one request at a time where a gate cannot be reached.
 */
import { unreachable } from "../core/assert.ts";
import type { Outcome } from "../core/delivery/outcome.ts";
import type { HostOutcome } from "../core/host-health.ts";
import { withinLimit } from "../core/in-time.ts";
import type { GateAnswer, OriginGateCalls } from "../gate/contract.ts";

export interface Permit {
  /** To be called once, when the request is over or is not made. Never throws. */
  end(outcome: HostOutcome): void;
}

export type PermitAnswer =
  | { readonly kind: "lent"; readonly permit: Permit }
  | { readonly kind: "later"; readonly afterMs: number };

/** Where the gate of a host is found; each call makes a fresh stub, as one is broken after an exception. */
export type Gates = (host: string) => OriginGateCalls;

/** A gate answers within 20 s; one that has not by then cannot be reached. */
export const ASK_LIMIT_MS = 25_000;
/** After a failure the gate is left alone for so long. */
const UNREACHABLE_MS = 5_000;
/** While it is, whoever finds the one request on its way looks again after this. */
const ALONE_AGAIN_MS = 200;

export class Permits {
  readonly #gates: Gates | null;
  readonly #tenant: string;
  readonly #clock: () => number;
  readonly #unreachableUntilMs = new Map<string, number>();
  /** Hosts to which the one request is on its way that needs no permit. */
  readonly #alone = new Set<string>();

  constructor(gates: Gates | null, tenant: string, clock: () => number) {
    this.#gates = gates;
    this.#tenant = tenant;
    this.#clock = clock;
  }

  /** Asks for one request to `host`. Never throws. */
  async ask(host: string, timeoutMs: number): Promise<PermitAnswer> {
    if (this.#gates === null || this.#clock() < (this.#unreachableUntilMs.get(host) ?? 0)) return this.#askAlone(host);
    try {
      const answer = await soonEnough(this.#gates(host).ask({ tenant: this.#tenant, timeoutMs }));
      if (answer.kind === "lent") return { kind: "lent", permit: lentPermit(answer) };
      return { kind: "later", afterMs: answer.afterMs };
    } catch {
      this.#unreachableUntilMs.set(host, this.#clock() + UNREACHABLE_MS);
      return this.#askAlone(host);
    }
  }

  #askAlone(host: string): PermitAnswer {
    if (this.#alone.has(host)) return { kind: "later", afterMs: ALONE_AGAIN_MS };
    this.#alone.add(host);
    return { kind: "lent", permit: { end: () => this.#alone.delete(host) } };
  }
}

function lentPermit(answer: Extract<GateAnswer, { kind: "lent" }>): Permit {
  return {
    end: (outcome) => {
      // A gate that does not hear of it takes the permit back by itself.
      void Promise.resolve(answer.permit.end(outcome))
        .catch(() => {})
        .finally(() => letGo(answer));
    },
  };
}

async function soonEnough(asked: Promise<GateAnswer>): Promise<GateAnswer> {
  try {
    return await withinLimit(asked, ASK_LIMIT_MS);
  } catch (error) {
    // A permit that comes after all is nobody's.
    asked.then(letGo, () => {});
    throw error;
  }
}

/** What came by RPC holds its call open until it is disposed of. */
function letGo(answer: GateAnswer & Partial<Disposable>): void {
  answer[Symbol.dispose]?.();
}

/** What an outcome says of the host: any answer that names the event at fault shows that the host itself is well. */
export function hostOutcome(outcome: Outcome): HostOutcome {
  switch (outcome.kind) {
    case "accepted":
    case "busy":
    case "failed":
      return outcome.kind;
    case "refused":
    case "gone":
      return "answered";
    default:
      return unreachable(outcome);
  }
}
