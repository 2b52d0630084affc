import { type Arrival, param, type VerifySource } from "../arrival.ts";
import { base64FromBytes, hexFromBytes, utf8 } from "../bytes.ts";
import { digest, hmac } from "../crypto.ts";
import { hmacKey } from "../families/hmac.ts";
import { isSecret } from "../families/token.ts";
import { emptyAnswer, type HandshakeAnswer, isEchoable, jsonAnswer, textAnswer } from "./answer.ts";
import type { AllowOrigin, DigestQuery, EchoHeader, EchoQuery, HmacQuery, Probe, VerifyToken } from "./handshake.ts";

/** The handshakes that come without a body: by GET, HEAD or OPTIONS, some by POST. */

/** Echoes a challenge from the URL, if it is of the letters the provider uses; null: it is no such question. */
export function echoQuery(handshake: EchoQuery, arrival: Arrival): HandshakeAnswer | null {
  if (arrival.method !== handshake.method || arrival.body.length > 0) return null;
  const challenge = arrival.url.searchParams.get(handshake.param);
  return isEchoable(challenge, handshake.alphabet) ? textAnswer(challenge) : null;
}

/** Echoes the challenge to whoever knows the source's `verifyToken`; null: it is no such question. */
export async function verifyToken(
  handshake: VerifyToken,
  source: VerifySource,
  arrival: Arrival,
): Promise<HandshakeAnswer | null> {
  if (arrival.method !== "GET" || source.verifyToken === null) return null;
  const query = arrival.url.searchParams;
  if (handshake.mode !== undefined && query.get(handshake.mode.param) !== handshake.mode.is) return null;
  const challenge = query.get(handshake.challenge);
  const token = query.get(handshake.token);
  if (token === null || !isEchoable(challenge, handshake.alphabet)) return null;
  if (!(await isSecret(token, [source.verifyToken]))) return null;
  return handshake.json === undefined ? textAnswer(challenge) : jsonAnswer({ [handshake.json]: challenge });
}

/** Sends a header back as it came; null: it is not there, or not to be echoed. */
export function echoHeader(handshake: EchoHeader, arrival: Arrival): HandshakeAnswer | null {
  if (arrival.method !== handshake.method) return null;
  const challenge = arrival.headers.get(handshake.header);
  if (!isEchoable(challenge, handshake.alphabet)) return null;
  const { answer } = handshake;
  return "json" in answer ? jsonAnswer({ [answer.json]: challenge }) : emptyAnswer(200, { [answer.header]: challenge });
}

/**
 * Answers with the HMAC of a text that anyone may send. The alphabet has neither braces nor other signs that an event
 * needs, so that an answer is never the signature of an event [P3].
 */
export async function hmacQuery(
  handshake: HmacQuery,
  source: VerifySource,
  arrival: Arrival,
): Promise<HandshakeAnswer | null> {
  if (arrival.method !== "GET") return null;
  const challenge = arrival.url.searchParams.get(handshake.param);
  if (!isEchoable(challenge, handshake.alphabet, handshake.lengthMax)) return null;
  if (challenge.length < handshake.lengthMin) return null;
  const [secret] = source.secrets;
  const key = secret === undefined ? "no secret" : await hmacKey(handshake.hash, handshake.key, secret);
  if (typeof key === "string") return null;
  const bytes = await hmac(key, utf8(challenge));
  const proof = handshake.encoding === "hex" ? hexFromBytes(bytes) : base64FromBytes(bytes);
  const { answer } = handshake;
  if ("json" in answer) {
    const plain = answer.plain === undefined ? {} : { [answer.plain]: challenge };
    return jsonAnswer({ ...plain, [answer.json]: answer.prefix + proof });
  }
  const name = param(source, answer.nameParam);
  return name === null ? null : textAnswer(`${name}|${proof}`);
}

/** Answers with the hash of challenge, `verifyToken` and the registered URL; null: it is no such question. */
export async function digestQuery(
  handshake: DigestQuery,
  source: VerifySource,
  arrival: Arrival,
): Promise<HandshakeAnswer | null> {
  if (arrival.method !== "GET" || source.verifyToken === null) return null;
  const challenge = arrival.url.searchParams.get(handshake.param);
  if (!isEchoable(challenge, handshake.alphabet)) return null;
  const url = source.publicUrl ?? `${arrival.url.origin}${arrival.url.pathname}`;
  const proof = await digest("SHA-256", utf8(challenge + source.verifyToken + url));
  return jsonAnswer({ [handshake.json]: hexFromBytes(proof) });
}

/** Answers a request that only asks whether the address is there. */
export function probe(handshake: Probe, arrival: Arrival): HandshakeAnswer | null {
  const { method } = arrival;
  return method === "HEAD" || method === "GET" ? (handshake.methods.includes(method) ? emptyAnswer() : null) : null;
}

/** Allows the origin that asks, at any rate (CloudEvents HTTP webhook § 4). */
export function allowOrigin(_handshake: AllowOrigin, arrival: Arrival): HandshakeAnswer | null {
  if (arrival.method !== "OPTIONS") return null;
  const origin = arrival.headers.get("webhook-request-origin");
  if (!isEchoable(origin, "A-Za-z0-9.:/_*-", 255)) return null;
  return emptyAnswer(200, { "webhook-allowed-origin": origin, "webhook-allowed-rate": "*" });
}
