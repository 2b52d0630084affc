import type { Outcome } from "../../../src/core/delivery/outcome.ts";
import { DELIVERY_DEFAULTS, type DeliverySettings } from "../../../src/core/delivery/settings.ts";

/** What an origin is asked. */
export interface Post {
  readonly seqs: readonly number[];
  readonly ids: readonly string[];
  readonly atMs: number;
  /** 1 for the first request of the simulation. */
  readonly number: number;
}

/** What an origin does. `crash`: the object that sends it is killed before there is an answer. */
export type Reply =
  | {
      readonly status: number;
      readonly retryAfterSeconds?: number;
      /** `batchItemFailures` of a 2xx. */
      readonly refusedIds?: readonly string[];
      readonly latencyMs?: number;
    }
  | "hang"
  | "drop"
  | "crash";

export type Origin = (post: Post, random: () => number) => Reply;

const REFUSED = new Set([400, 409, 413, 414, 415, 422]);

/** The outcome a sink makes of a reply [V6], and when. */
export function outcomeOf(reply: Exclude<Reply, "crash">, settings: DeliverySettings): Outcome {
  const base = { excerpt: "", durationMs: durationMs(reply, settings) };
  if (reply === "hang") return { ...base, kind: "failed", status: null, cause: "timeout", retryAfterMs: null };
  if (reply === "drop") return { ...base, kind: "failed", status: null, cause: "network", retryAfterMs: null };
  const { status, retryAfterSeconds } = reply;
  const retryAfterMs = retryAfterSeconds === undefined ? null : retryAfterSeconds * 1_000;
  if (status >= 200 && status < 300) {
    return { ...base, kind: "accepted", status, refusedIds: reply.refusedIds ?? [] };
  }
  if (REFUSED.has(status)) return { ...base, kind: "refused", status };
  if (status === 410) return { ...base, kind: "gone", status };
  if (status === 429 || (status === 503 && retryAfterMs !== null))
    return { ...base, kind: "busy", status, retryAfterMs };
  return { ...base, kind: "failed", status, retryAfterMs };
}

export function durationMs(reply: Exclude<Reply, "crash">, settings: DeliverySettings): number {
  if (reply === "hang") return settings.timeoutMs;
  if (reply === "drop") return 5;
  return reply.latencyMs ?? 20;
}

export const healthy: Origin = () => ({ status: 200 });

export function always(reply: Reply): Origin {
  return () => reply;
}

/** Whatever request holds one of these events is answered so; all others are accepted. */
export function poisoned(seqs: readonly number[], reply: Reply): Origin {
  return (post) => (post.seqs.some((seq) => seqs.includes(seq)) ? reply : { status: 200 });
}

/** So until then, accepted from then on. */
export function until(atMs: number, before: Origin, after: Origin = healthy): Origin {
  return (post, random) => (post.atMs < atMs ? before : after)(post, random);
}

export function randomly(share: number, reply: Reply): Origin {
  return (_post, random) => (random() < share ? reply : { status: 200 });
}

/** Replies in this order, the last one for ever. */
export function script(...replies: readonly Reply[]): Origin {
  return (post) => replies[Math.min(post.number, replies.length) - 1] ?? { status: 200 };
}

type Overrides = Partial<Omit<DeliverySettings, "batch" | "retry" | "circuitBreaker">> & {
  readonly batch?: Partial<DeliverySettings["batch"]>;
  readonly retry?: Partial<DeliverySettings["retry"]>;
  readonly circuitBreaker?: Partial<DeliverySettings["circuitBreaker"]>;
};

/** The defaults but for what is named. */
export function settingsWith(overrides: Overrides = {}): DeliverySettings {
  return {
    ...DELIVERY_DEFAULTS,
    ...overrides,
    batch: { ...DELIVERY_DEFAULTS.batch, ...overrides.batch },
    retry: { ...DELIVERY_DEFAULTS.retry, ...overrides.retry },
    circuitBreaker: { ...DELIVERY_DEFAULTS.circuitBreaker, ...overrides.circuitBreaker },
  };
}

/** The settings of the poison cases: short delays, four attempts. */
export const QUICK = settingsWith({
  batch: { flushDelayMs: 200 },
  timeoutMs: 1_000,
  retry: { maxAttempts: 4, baseMs: 1_000, maxMs: 4_000 },
  circuitBreaker: { openMs: 1_000 },
});
