import type { Arrival, VerifySource } from "../arrival.ts";
import { hexFromBytes, textFromUtf8, utf8 } from "../bytes.ts";
import { hmac } from "../crypto.ts";
import { hmacKey } from "../families/hmac.ts";
import { isSecret } from "../families/token.ts";
import { confirmSubscription as fetchConfirmation } from "../remote.ts";
import { RequestParts } from "../request-parts.ts";
import type { ProviderRow } from "../row.ts";
import { emptyAnswer, type HandshakeAnswer, isEchoable, jsonAnswer, textAnswer } from "./answer.ts";
import type { ConfirmSubscription, EchoJson, HmacJson, Ping, StoreSecret, UnsignedPing } from "./handshake.ts";

/** Handshakes are small; anything larger is an event and is not looked into. */
const BODY_BYTES_MAX = 8_192;

/** Asks whether the request is genuine; handed in, so that a question that needs no proof costs none. */
type Proof = () => Promise<boolean>;

export async function echoJson(
  handshake: EchoJson,
  source: VerifySource,
  arrival: Arrival,
  isGenuine: Proof,
): Promise<HandshakeAnswer | null> {
  const { when } = handshake;
  const parts = smallBody(arrival, source, when?.ref.startsWith("json:") ? when.is : "challenge");
  if (parts === null || !holds(when, parts)) return null;
  const challenge = parts.text(handshake.challenge);
  if (!isEchoable(challenge, handshake.alphabet)) return null;
  if (handshake.proof === "signature" ? !(await isGenuine()) : !isOnlyChallenge(parts)) return null;
  return handshake.json === undefined ? textAnswer(challenge) : jsonAnswer({ [handshake.json]: challenge });
}

/** An unsigned question may hold nothing but the challenge. */
function isOnlyChallenge(parts: RequestParts): boolean {
  const root = parts.json?.at([]) ?? null;
  return root !== null && root.kind === "object" && root.firstKeys.length === 1;
}

export async function hmacJson(
  handshake: HmacJson,
  row: ProviderRow,
  source: VerifySource,
  arrival: Arrival,
  isGenuine: Proof,
): Promise<HandshakeAnswer | null> {
  if (row.scheme.kind !== "hmac") return null;
  const parts = smallBody(arrival, source, handshake.when.is);
  if (parts === null || !holds(handshake.when, parts)) return null;
  const challenge = parts.text(handshake.challenge);
  if (!isEchoable(challenge, handshake.alphabet, handshake.lengthMax) || !(await isGenuine())) return null;
  const [secret] = source.secrets;
  const key = secret === undefined ? "no secret" : await hmacKey(row.scheme.hash, row.scheme.key, secret);
  if (typeof key === "string") return null;
  const proof = hexFromBytes(await hmac(key, utf8(challenge)));
  const { plain, hmac: hmacName } = handshake.json;
  return jsonAnswer(plain === undefined ? { [hmacName]: proof } : { [plain]: challenge, [hmacName]: proof });
}

export async function ping(
  handshake: Ping,
  source: VerifySource,
  arrival: Arrival,
  isGenuine: Proof,
): Promise<HandshakeAnswer | null> {
  const parts = smallBody(arrival, source, "");
  if (parts === null || !holds(handshake.when, parts) || parts.text("json:/event/type") !== null) return null;
  if (!(await isGenuine())) return null;
  const { status, json } = handshake.answer;
  return json === undefined ? emptyAnswer(status) : jsonAnswer(json, status);
}

/** Takes a secret that the source does not know yet; one that it knows already is only confirmed. */
export async function storeSecret(
  handshake: StoreSecret,
  source: VerifySource,
  arrival: Arrival,
): Promise<HandshakeAnswer | null> {
  if (arrival.method !== "POST") return null;
  const header = handshake.from.startsWith("header:");
  const parts = header ? new RequestParts(arrival, source) : smallBody(arrival, source, "verification_token");
  if (parts === null) return null;
  const secret = parts.text(handshake.from);
  if (!isEchoable(secret, handshake.alphabet, 512)) return null;
  const echo = handshake.echoHeader === undefined ? {} : { [handshake.echoHeader]: secret };
  const answer = emptyAnswer(200, echo);
  if (source.secrets.length === 0) return { ...answer, storeSecret: secret };
  return (await isSecret(secret, source.secrets)) ? answer : null;
}

/** Fetches the address that a genuine message names, if it is the provider's; a failure is answered 503. */
export async function confirmSubscription(
  handshake: ConfirmSubscription,
  source: VerifySource,
  arrival: Arrival,
  isGenuine: Proof,
): Promise<HandshakeAnswer | null> {
  const parts = smallBody(arrival, source, handshake.when.is);
  if (parts === null || !holds(handshake.when, parts)) return null;
  const url = parts.text(handshake.url);
  if (url === null || !new RegExp(`^(?:${handshake.allowed})$`).test(url) || !(await isGenuine())) return null;
  return (await fetchConfirmation(url)) ? emptyAnswer() : emptyAnswer(503, { "retry-after": "30" });
}

/** Exactly this content type and this body, and no signature at all: anything else is an event that must prove itself. */
export function unsignedPing(
  handshake: UnsignedPing,
  arrival: Arrival,
  carriesSignature: boolean,
): HandshakeAnswer | null {
  if (arrival.method !== "POST" || carriesSignature || arrival.body.length > 256) return null;
  const contentType = (arrival.headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase();
  if (contentType !== handshake.contentType) return null;
  const text = textFromUtf8(arrival.body);
  return text !== null && new RegExp(`^(?:${handshake.body})$`).test(text) ? emptyAnswer() : null;
}

/**
 * The parts of a body that may be a handshake, or `null`. The marker spares ordinary events a parse: it is looked for
 * in the bytes, since every question of this kind holds it.
 */
function smallBody(arrival: Arrival, source: VerifySource, marker: string): RequestParts | null {
  const { body, method } = arrival;
  if (method !== "POST" || body.length === 0 || body.length > BODY_BYTES_MAX || !holdsAscii(body, marker)) return null;
  const parts = new RequestParts(arrival, source);
  return parts.json === null ? null : parts;
}

function holdsAscii(body: Uint8Array, marker: string): boolean {
  if (marker === "") return true;
  const first = marker.charCodeAt(0);
  for (let at = body.indexOf(first); at >= 0; at = body.indexOf(first, at + 1)) {
    let i = 1;
    while (i < marker.length && body[at + i] === marker.charCodeAt(i)) i++;
    if (i === marker.length) return true;
  }
  return false;
}

function holds(when: { readonly ref: string; readonly is: string } | undefined, parts: RequestParts): boolean {
  return when === undefined || parts.text(when.ref) === when.is;
}
