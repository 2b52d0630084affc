import type { Outcome } from "../core/delivery/outcome.ts";
import { parseDestinationUrl } from "../core/destination-url.ts";
import { excerptOf, readAnswer } from "./answer.ts";
import { classify, retryAfterOf } from "./classify.ts";
import type { Delivery, DestinationPolicy, HttpDestination } from "./delivery.ts";
import type { Outgoing } from "./outgoing.ts";
import { prepare } from "./request.ts";
import { SigningSecretError } from "./signing.ts";

export type { DeliveredEvent, Delivery, DestinationPolicy, HttpDestination } from "./delivery.ts";

/** The part of `fetch` that sending needs. */
export type Fetcher = (url: string, init: RequestInit) => Promise<Response>;

/** A failure on this side of the network, before or instead of an answer. */
const NO_ANSWER = { kind: "failed", retryAfterMs: null, status: null, excerpt: "" } as const;

/**
 * Makes one attempt: one signed POST, its answer read and judged [V2]–[V4], [V6]–[V8], [V17], [V23]. Never throws:
 * whatever goes wrong is an outcome, with `cause` one of `timeout`, `network`, `tls`, `redirect`, `item-failures`,
 * `unsafe-url`, `signing-secret`, `internal`. Redirects are not followed.
 *
 * `durationMs` is the time on the network. The deadline is a timer that is cleared, not `AbortSignal.timeout`, which
 * would keep the object in memory, and billed, until it fires.
 */
export async function sendHttp(
  destination: HttpDestination,
  delivery: Delivery,
  policy: DestinationPolicy,
  fetcher: Fetcher = fetch,
): Promise<Outcome> {
  const url = parseDestinationUrl(destination.url, policy);
  if (!url.ok) return { ...NO_ANSWER, cause: "unsafe-url", durationMs: 0 };
  let request: Outgoing;
  try {
    request = await prepare(destination, delivery);
  } catch (error) {
    const cause = error instanceof SigningSecretError ? "signing-secret" : "internal";
    return { ...NO_ANSWER, cause, durationMs: 0 };
  }
  try {
    return await exchange(destination, delivery, url.value.href, request, fetcher);
  } finally {
    request.end();
  }
}

/** Sends and reads within `timeoutMs` [V8]; the deadline holds also against a fetch that does not heed its signal. */
async function exchange(
  destination: HttpDestination,
  delivery: Delivery,
  url: string,
  request: Outgoing,
  fetcher: Fetcher,
): Promise<Outcome> {
  const controller = new AbortController();
  const startedMs = performance.now();
  const elapsedMs = () => Math.round(performance.now() - startedMs);
  let response: Response | null = null;

  const incomplete = (cause: string): Outcome => {
    const durationMs = elapsedMs();
    if (response === null) return { ...NO_ANSWER, cause, durationMs };
    const { status, headers } = response;
    const retryAfterMs = retryAfterOf(status, headers, delivery.nowMs + durationMs, destination.retryAfterMaxSeconds);
    const excerpt = excerptOf(headers, new Uint8Array());
    return { kind: "failed", retryAfterMs, status, cause, excerpt, durationMs };
  };

  const answered = async (): Promise<Outcome> => {
    const { headers: sent, body } = request;
    response = await fetcher(url, {
      method: "POST",
      redirect: "manual",
      signal: controller.signal,
      headers: sent,
      body: body(),
    });
    const answer = await readAnswer(response);
    const { status, headers } = response;
    const durationMs = elapsedMs();
    const ids = delivery.events.map((event) => event.eventId);
    const answeredAtMs = delivery.nowMs + durationMs;
    const verdict = classify(status, headers, answer, ids, answeredAtMs, destination.retryAfterMaxSeconds);
    return { ...verdict, status, excerpt: excerptOf(headers, answer.bytes), durationMs };
  };

  let timer: ReturnType<typeof setTimeout> | undefined;
  const deadline = new Promise<Outcome>((resolve) => {
    timer = setTimeout(() => {
      resolve(incomplete("timeout"));
      controller.abort();
    }, destination.timeoutMs);
  });
  try {
    return await Promise.race([answered().catch((error: unknown) => incomplete(networkCause(error))), deadline]);
  } finally {
    if (timer !== undefined) clearTimeout(timer);
  }
}

/** The runtime tells its failures apart by text only. */
function networkCause(error: unknown): "tls" | "network" {
  return /\b(tls|ssl|certificate)\b/i.test(String(error)) ? "tls" : "network";
}
