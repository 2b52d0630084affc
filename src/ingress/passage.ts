import type { OutlivesAnswer } from "../tenants/cache.ts";
import { type BodyBudget, type BodyHold, LARGE_BODY_BYTES } from "./body-budget.ts";
import { Deadline } from "./deadline.ts";
import { readBody } from "./read-body.ts";
import type { WebhookRoute } from "./route.ts";
import { WebhookArrival } from "./webhook-arrival.ts";

/** A body that brings no byte for so long is given up [I4]. */
const STALL_LIMIT_MS = 10_000;
/** And one that has not come by then, however steadily it does: it keeps its room from others [I20]. */
const BODY_LIMIT_MS = 120_000;
/** However long the body took, the tenant's object gets this much time to answer: the event is here now. */
const CALL_LIMIT_MIN_MS = 1_000;
/** As much for a large body, which has to be handed over first [V25]. */
const LARGE_CALL_LIMIT_MIN_MS = 5_000;

type ArrivalRead =
  | { readonly kind: "arrived"; readonly arrival: WebhookArrival }
  | { readonly kind: "too-large" | "stalled" | "broken" | "busy" };

/** One webhook on its way through: what has been read of it, and the time it may take. End it when it is answered. */
export class Passage {
  readonly request: Request;
  readonly lifetime: OutlivesAnswer;
  readonly route: WebhookRoute;
  readonly hops: number;
  readonly startedAtMs: number;
  readonly #now: () => number;
  readonly #declaredBytes: number | null;
  #arrived: { readonly kind: "arrived"; readonly arrival: WebhookArrival } | null = null;
  #deadline: Deadline | null = null;
  #hold: BodyHold | null = null;

  constructor(
    request: Request,
    lifetime: OutlivesAnswer,
    route: WebhookRoute,
    hops: number,
    declaredBytes: number | null,
    now: () => number,
    startedAtMs: number,
  ) {
    this.request = request;
    this.lifetime = lifetime;
    this.route = route;
    this.hops = hops;
    this.startedAtMs = startedAtMs;
    this.#now = now;
    this.#declaredBytes = declaredBytes;
  }

  /** The request with its body, which is read by the first call [I3]. `callLimitMs`: as for `callDeadline`. */
  async arrive(sizeBytesMax: number, callLimitMs: number, budget: BodyBudget, clockMs: number): Promise<ArrivalRead> {
    if (this.#arrived !== null) {
      // Verified once more, with a newer configuration: its limit may be another one.
      return this.#arrived.arrival.body.byteLength > sizeBytesMax ? { kind: "too-large" } : this.#arrived;
    }
    this.#deadline = new Deadline(this.#now, this.startedAtMs, STALL_LIMIT_MS, callLimitMs, BODY_LIMIT_MS);
    const read = await readBody(this.request, this.#declaredBytes, sizeBytesMax, budget, this.#deadline);
    if (read.kind !== "body") return read;
    this.#hold = read.hold;
    this.#arrived = { kind: "arrived", arrival: new WebhookArrival(this.request, read.bytes, clockMs) };
    return this.#arrived;
  }

  /** The time the tenant's object has: `limitMs` from the beginning of the request. The body must have arrived. */
  callDeadline(limitMs: number): Deadline {
    const leastMs = this.#isLarge ? LARGE_CALL_LIMIT_MIN_MS : CALL_LIMIT_MIN_MS;
    const endsAtMs = Math.max(this.startedAtMs + limitMs, this.#now() + leastMs);
    this.#deadline ??= new Deadline(this.#now, this.startedAtMs, limitMs, limitMs);
    this.#deadline.moveTo(endsAtMs);
    return this.#deadline;
  }

  end(): void {
    this.#deadline?.end();
    this.#hold?.release();
    // Given back at once: large bodies one after another would fill the isolate before the garbage collector runs.
    if (this.#isLarge) this.#arrived?.arrival.body.buffer.transfer(0);
  }

  get #isLarge(): boolean {
    return (this.#arrived?.arrival.body.byteLength ?? 0) > LARGE_BODY_BYTES;
  }
}
