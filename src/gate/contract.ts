/** The calls between a tenant's object and the gate of a host that tenants share [V27]. Fields are only ever added [O12]. */
import type { HostOutcome } from "../core/host-health.ts";

export interface GateAsk {
  readonly tenant: string;
  /** How long the request may last [V8]; the permit ends by itself 5 s after that. */
  readonly timeoutMs: number;
}

export type GateAnswer =
  | { readonly kind: "lent"; readonly permit: LentPermit }
  /** Nothing may be sent now: ask again after so long. */
  | { readonly kind: "later"; readonly afterMs: number };

/** Comes by RPC, so that giving it back belongs to the call that lent it, and a holder that dies gives it back. */
export interface LentPermit {
  end(outcome: HostOutcome): Promise<void> | void;
}

export interface OriginGateCalls {
  /** Answers when a permit is free, or when the tenant had better come again: after 20 s at the latest. */
  ask(call: GateAsk): Promise<GateAnswer>;
}
