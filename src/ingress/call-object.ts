import type { IngestAnswer, IngestCall, TenantObjects } from "../buffer/contract.ts";
import { type CallFailure, classifyCallFailure, isWorthRetrying } from "../core/call-failure.ts";
import { type Deadline, EXPIRED } from "./deadline.ts";
import { handOver } from "./hand-over.ts";

type CallResult = IngestAnswer | { readonly kind: "failed"; readonly failure: CallFailure; readonly detail: string };

/** A second try with less time than this left would only be cut off. */
const SECOND_TRY_MIN_MS = 250;

/**
 * Hands one verified event to the tenant's object within the deadline [I13]. What the runtime calls a lost or reset
 * call is made once more with a fresh stub; anything else that is thrown is a failure. Never throws.
 */
export async function callObject(objects: TenantObjects, call: IngestCall, deadline: Deadline): Promise<CallResult> {
  for (let tries = 1; ; tries++) {
    try {
      const object = objects.of(call.tenant, deadline.leftMs(), call.shard ?? 0);
      const reply = await deadline.within(handOver(object, call));
      if (reply === EXPIRED) return { kind: "failed", failure: "timed-out", detail: `${tries}. try` };
      return reply === true ? { kind: "buffered", eventId: call.eventId } : reply;
    } catch (error) {
      const failure = classifyCallFailure(error);
      if (tries === 2 || !isWorthRetrying(failure) || deadline.leftMs() < SECOND_TRY_MIN_MS) {
        return { kind: "failed", failure, detail: error instanceof Error ? error.message : "no error object" };
      }
    }
  }
}
