import type { Outcome } from "../core/delivery/outcome.ts";
import { parseDestinationUrl } from "../core/destination-url.ts";
import { excerptOf, readAnswer } from "./answer.ts";
import { classify, retryAfterOf } from "./classify.ts";
import type { Delivery, DestinationPolicy, HttpDestination } from "./delivery.ts";
import { formats, type Payload } from "./formats/format.ts";
import { webhookId } from "./header-text.ts";
import { SigningSecretError, standardSignature, timestampedSignature } from "./signing.ts";
import { VERSION } from "./version.ts";

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
  let request: { readonly headers: Headers; readonly body: Uint8Array };
  try {
    request = await prepare(destination, delivery);
  } catch (error) {
    const cause = error instanceof SigningSecretError ? "signing-secret" : "internal";
    return { ...NO_ANSWER, cause, durationMs: 0 };
  }
  return exchange(destination, delivery, url.value.href, request, fetcher);
}

async function prepare(destination: HttpDestination, delivery: Delivery) {
  const payload = formats[destination.format].encode(delivery);
  const headers = new Headers();
  for (const [name, value] of Object.entries(payload.headers)) setHeader(headers, name, value);
  headers.set("user-agent", `Spillway/${VERSION}`);
  headers.set("spillway-hops", String(delivery.hops + 1));
  if (destination.bearerToken !== null) headers.set("authorization", `Bearer ${destination.bearerToken}`);
  await sign(headers, destination, payload, Math.floor(delivery.nowMs / 1_000));
  return { headers, body: payload.body };
}

/** A header of the sender's that no request can carry is left out: one odd header must not keep its event for ever. */
function setHeader(headers: Headers, name: string, value: string): void {
  try {
    headers.set(name, value);
  } catch {
    // Left out, as promised.
  }
}

async function sign(headers: Headers, destination: HttpDestination, payload: Payload, timestamp: number) {
  const id = webhookId(payload.messageId);
  headers.set("webhook-id", id);
  headers.set("webhook-timestamp", String(timestamp));
  const secrets = destination.signingSecrets;
  if (secrets.length > 0) {
    headers.set("webhook-signature", await standardSignature(secrets, id, timestamp, payload.body));
  }
  if (destination.signature === "timestamped") {
    headers.set("x-webhook-event-id", payload.messageId);
    if (secrets.length > 0) {
      headers.set("x-signature", await timestampedSignature(secrets, timestamp, payload.body));
    }
  }
}

/** Sends and reads within `timeoutMs` [V8]; the deadline holds also against a fetch that does not heed its signal. */
async function exchange(
  destination: HttpDestination,
  delivery: Delivery,
  url: string,
  request: { readonly headers: Headers; readonly body: Uint8Array },
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
    response = await fetcher(url, { method: "POST", redirect: "manual", signal: controller.signal, ...request });
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
