/** The answers to a verified webhook, in the form its provider counts [I11] [P4]. */
import type { IngestAnswer } from "../buffer/contract.ts";
import { unreachable } from "../core/assert.ts";
import type { HandshakeAnswer } from "../providers/handshake.ts";
import type { AnswerFacts } from "../providers/row.ts";

/** Built once, and no more than needed: headers cost more than all else in an answer, and nobody caches a POST. */
const JSON_HEADERS = new Headers({ "content-type": "application/json" });
const BUFFERED = { status: 202, headers: JSON_HEADERS };
const DEDUPLICATED = { status: 200, headers: JSON_HEADERS };

/** Everything an object may say but that the configuration is old: what to do then is not an answer. */
type FinalAnswer = Exclude<IngestAnswer, { kind: "stale" }>;

export function answerIngest(answer: FinalAnswer, facts: AnswerFacts): Response {
  switch (answer.kind) {
    case "buffered":
    case "reopened":
      return success(answer.kind, answer.eventId, facts, BUFFERED);
    case "deduplicated":
      return success(answer.kind, answer.eventId, facts, DEDUPLICATED);
    case "rate-limited":
      return notNow(facts.overLimitStatus, "rate_limited", answer.retryAfterSeconds);
    case "unavailable":
      return notNow(503, "unavailable", answer.retryAfterSeconds);
    case "unconfigured":
      return unavailable();
    default:
      return unreachable(answer);
  }
}

/** Nobody knows whether the event was stored: the sender tries again, and the repeat is recognised [I13] [D3]. */
export function unavailable(): Response {
  return notNow(503, "unavailable", UNAVAILABLE_RETRY_SECONDS);
}

export function answerQuestion(answer: HandshakeAnswer): Response {
  return new Response(answer.body, { status: answer.status, headers: answer.headers });
}

const UNAVAILABLE_RETRY_SECONDS = 30;

function success(
  status: "buffered" | "deduplicated" | "reopened",
  eventId: string,
  facts: AnswerFacts,
  usual: { readonly status: number; readonly headers: Headers },
): Response {
  const { success: wanted } = facts;
  if (wanted.body === "status") {
    const text = `{"status":"${status}","eventId":${JSON.stringify(eventId)}}`;
    return new Response(text, wanted.status === 202 ? usual : { status: wanted.status, headers: JSON_HEADERS });
  }
  if (wanted.body === "none") return new Response(null, { status: wanted.status });
  return new Response(wanted.body.text, {
    status: wanted.status,
    headers: { "content-type": wanted.body.contentType },
  });
}

function notNow(status: number, name: "rate_limited" | "unavailable", retryAfterSeconds: number): Response {
  return new Response(`{"status":"${name}"}`, {
    status,
    headers: {
      "content-type": "application/json",
      "retry-after": String(Math.max(1, Math.ceil(retryAfterSeconds))),
    },
  });
}
