/**
 * A token bucket per tenant [R1]–[R3]: `events` tokens, refilled over `windowSeconds`. It lives in memory and is rebuilt
 * from the receipts of the newest events, so that an eviction is no way around it.
 */
interface RateLimit {
  readonly events: number;
  readonly windowSeconds: number;
}

export interface Bucket {
  /** Events that may be accepted now; a fraction is on its way. */
  readonly tokens: number;
  /** Events over the limit that may still be stored for senders that would give up [R3]. */
  readonly absorbable: number;
  readonly atMs: number;
  /** When an event was last refused, or null: others are waiting to come back [R2]. */
  readonly refusedAtMs: number | null;
}

type Admission =
  | { readonly kind: "admitted" | "absorbed"; readonly bucket: Bucket }
  | { readonly kind: "refused"; readonly bucket: Bucket; readonly retryAfterSeconds: number };

/** How many times `events` may be absorbed per window beyond the limit [R3]. */
export const ABSORB_FACTOR = 10;

export function fullBucket(limit: RateLimit, nowMs: number): Bucket {
  return { tokens: limit.events, absorbable: limit.events * ABSORB_FACTOR, atMs: nowMs, refusedAtMs: null };
}

/**
 * The bucket as it must be after the accepted events of the last window; `receiptsMs` in any order. Receipts more than a
 * window ahead are those of a wrong clock, and say nothing of when they were [L7].
 */
export function rebuildBucket(limit: RateLimit, receiptsMs: readonly number[], nowMs: number): Bucket {
  const windowStartMs = nowMs - limit.windowSeconds * 1000;
  const windowEndMs = nowMs + limit.windowSeconds * 1000;
  const receipts = receiptsMs.filter((atMs) => atMs > windowStartMs && atMs <= windowEndMs).sort((a, b) => a - b);
  let bucket = fullBucket(limit, windowStartMs);
  for (const atMs of receipts) {
    const refilled = refill(bucket, limit, Math.min(atMs, nowMs));
    bucket = { ...refilled, tokens: Math.max(0, refilled.tokens - 1) };
  }
  return refill(bucket, limit, nowMs);
}

/** The bucket `nowMs`; a clock that went back refills nothing, and the bucket fills on from there [L7]. */
export function refill(bucket: Bucket, limit: RateLimit, nowMs: number): Bucket {
  const elapsedMs = nowMs - bucket.atMs;
  if (elapsedMs <= 0) return { ...bucket, atMs: nowMs };
  const gained = (limit.events * elapsedMs) / (limit.windowSeconds * 1000);
  return {
    ...bucket,
    tokens: Math.min(limit.events, bucket.tokens + gained),
    absorbable: Math.min(limit.events * ABSORB_FACTOR, bucket.absorbable + gained * ABSORB_FACTOR),
    atMs: nowMs,
  };
}

/**
 * Decides on one event and takes its token. A refused sender learns the whole seconds until a token is free, plus a
 * random share of the window when others were refused within it: a lone sender that waits so long is admitted [R2].
 */
export function admit(
  before: Bucket,
  limit: RateLimit,
  overLimit: "reject" | "absorb",
  nowMs: number,
  random: number,
): Admission {
  const bucket = refill(before, limit, nowMs);
  if (bucket.tokens >= 1) return { kind: "admitted", bucket: { ...bucket, tokens: bucket.tokens - 1 } };
  if (overLimit === "absorb" && bucket.absorbable >= 1) {
    return { kind: "absorbed", bucket: { ...bucket, tokens: 0, absorbable: bucket.absorbable - 1 } };
  }
  const waitSeconds = ((1 - bucket.tokens) * limit.windowSeconds) / limit.events;
  const crowded = bucket.refusedAtMs !== null && nowMs - bucket.refusedAtMs < limit.windowSeconds * 1000;
  const shareSeconds = crowded ? random * limit.windowSeconds : 0;
  return {
    kind: "refused",
    bucket: { ...bucket, refusedAtMs: nowMs },
    retryAfterSeconds: Math.max(1, Math.ceil(waitSeconds + shareSeconds)),
  };
}
