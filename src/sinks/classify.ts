import { parseRetryAfter } from "../core/retry-after.ts";
import type { AnswerBody } from "./answer.ts";
import { readItemFailures } from "./item-failures.ts";

/** The part of an outcome that follows from the answer alone. */
type Verdict =
  | { readonly kind: "accepted"; readonly refusedIds: readonly string[]; readonly unknownIds: readonly string[] }
  | { readonly kind: "refused" }
  | { readonly kind: "failed"; readonly retryAfterMs: number | null; readonly cause?: string }
  | { readonly kind: "busy"; readonly retryAfterMs: number | null }
  | { readonly kind: "gone" };

/** Statuses that speak about what was sent, not about the destination. */
const REFUSED_STATUSES: ReadonlySet<number> = new Set([400, 409, 413, 414, 415, 422]);

/**
 * What a complete answer means [V6] [V7] [V23].
 *
 * @param nowMs when the answer came: the base of a `Retry-After` that is a date
 */
export function classify(
  status: number,
  headers: Headers,
  answer: AnswerBody,
  batchIds: readonly string[],
  nowMs: number,
  retryAfterMaxSeconds: number,
): Verdict {
  if (status >= 200 && status <= 299) {
    const failures = readItemFailures(answer, batchIds);
    if (failures.kind === "unreadable") return { kind: "failed", retryAfterMs: null, cause: "item-failures" };
    return { kind: "accepted", refusedIds: failures.refusedIds, unknownIds: failures.unknownIds };
  }
  if (REFUSED_STATUSES.has(status)) return { kind: "refused" };
  if (status === 410) return { kind: "gone" };

  const retryAfterMs = retryAfterOf(status, headers, nowMs, retryAfterMaxSeconds);
  if (status === 429 || (status === 503 && retryAfterMs !== null)) return { kind: "busy", retryAfterMs };
  if (status >= 300 && status <= 399) return { kind: "failed", retryAfterMs, cause: "redirect" };
  return { kind: "failed", retryAfterMs };
}

/** `Retry-After` where it is read at all: on 429 and every 5xx [V7]. */
export function retryAfterOf(
  status: number,
  headers: Headers,
  nowMs: number,
  retryAfterMaxSeconds: number,
): number | null {
  if (status !== 429 && status < 500) return null;
  return parseRetryAfter(headers.get("retry-after"), nowMs, retryAfterMaxSeconds);
}
