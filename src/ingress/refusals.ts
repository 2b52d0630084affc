/**
 * The answers to requests that are not taken in. Each is the same bytes every time, so that a sender learns nothing
 * from it but what the status says [I5] [I6]; the reason goes to the log.
 */
import { PROBLEM_CONTENT_TYPE, problemText } from "../core/problem.ts";

/** Header lists are built once: building them for each answer costs more than the answer itself. */
function headersWith(extra: Record<string, string> = {}): Headers {
  return new Headers({ "content-type": PROBLEM_CONTENT_TYPE, "cache-control": "no-store", ...extra });
}

function refusal(status: number, code: string, detail: string, extra?: Record<string, string>): () => Response {
  const text = problemText(status, code, detail);
  const init = { status, headers: headersWith(extra) };
  return () => new Response(text, init);
}

export const notFound = refusal(404, "not-found", "There is no webhook at this address.");

export const unauthorized = refusal(401, "unauthorized", "The request could not be verified.");

export const loop = refusal(
  508,
  "loop",
  "The request has passed through Spillway too often: a destination leads back here.",
);

export const bodyTooLarge = refusal(413, "body-too-large", "The body is larger than this address takes.");

export const bodyStalled = refusal(408, "body-stalled", "The body stopped arriving before it was complete.");

export const bodyBroken = refusal(400, "body-incomplete", "The body ended before it was complete.");

export const tooManyBodies = refusal(503, "busy", "Too many large bodies are being read at the moment.", {
  "retry-after": "2",
});

export const sourceUnusable = refusal(
  503,
  "source-unusable",
  "The receiver's configuration can't be used at the moment.",
  {
    "retry-after": "60",
  },
);

/** A method that no handshake of the source uses [I1]. */
export function methodNotAllowed(allow: readonly string[]): Response {
  const text = problemText(405, "method-not-allowed", "Webhooks are sent with POST.");
  return new Response(text, { status: 405, headers: headersWith({ allow: allow.join(", ") }) });
}
