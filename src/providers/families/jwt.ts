import { type Arrival, param, type VerifySource } from "../arrival.ts";
import { bytesFrom, bytesFromBase64Url, textFromUtf8, utf8 } from "../bytes.ts";
import { digest, equalDigests, verifyHmac, verifyPublic } from "../crypto.ts";
import { jwtKeys } from "../jwt-keys.ts";
import { RequestParts } from "../request-parts.ts";
import type { JwtScheme, PublicKeyAlgorithm } from "../scheme.ts";
import { type Rejected, rejected, unusable, type Verdict } from "../verdict.ts";
import { hmacKey } from "./hmac.ts";
import { publicKey } from "./public-key.ts";

const TOKEN_LENGTH_MAX = 16_384;
/** How far the clocks may be apart where a token sets its own limits. */
const CLOCK_SKEW_SECONDS = 60;

interface Token {
  readonly kid: string | null;
  readonly claims: Readonly<Record<string, unknown>>;
  readonly signature: Uint8Array<ArrayBuffer>;
  readonly signed: Uint8Array<ArrayBuffer>;
}

/** Verifies a signed JWT: its algorithm is the row's and never the token's own choice; then its claims, then the body. */
export async function verifyJwtScheme(scheme: JwtScheme, source: VerifySource, arrival: Arrival): Promise<Verdict> {
  const text = new RequestParts(arrival, source).text(scheme.from);
  if (text === null || text === "") return rejected("missing-signature", scheme.from);
  const prefix = scheme.prefix ?? "";
  const compact = text.slice(0, prefix.length).toLowerCase() === prefix.toLowerCase() ? text.slice(prefix.length) : "";
  const token = readToken(compact, scheme);
  if ("kind" in token) return token;

  const verdict = scheme.algorithm.startsWith("HS")
    ? await verifyShared(scheme, source, token)
    : await verifyWithPublicKeys(scheme, source, token, arrival.receivedAtMs);
  if (verdict !== null) return verdict;
  return (
    checkTimes(scheme, source, token.claims, arrival.receivedAtMs) ??
    checkClaims(scheme, source, token.claims) ??
    (await checkBody(scheme, token.claims, arrival.body)) ?? {
      kind: "genuine",
      strength: scheme.bodyHash === undefined ? "origin" : "body",
    }
  );
}

function readToken(compact: string, scheme: JwtScheme): Token | Rejected {
  const pieces = compact.length > TOKEN_LENGTH_MAX ? [] : compact.split(".");
  const [head = "", payload = "", signature = ""] = pieces;
  const header = jsonObject(head);
  const claims = jsonObject(payload);
  const signatureBytes = bytesFromBase64Url(signature);
  if (pieces.length !== 3 || header === null || claims === null || signatureBytes === null) {
    return rejected("malformed-signature", "not a compact JWT");
  }
  if (header.alg !== scheme.algorithm) {
    return rejected("unsupported-algorithm", `the token must be signed with ${scheme.algorithm}`);
  }
  // A token with extensions that must be understood is none that this scheme knows (RFC 7515 § 4.1.11).
  if (header.crit !== undefined) return rejected("unsupported-algorithm", "critical extensions");
  return {
    kid: typeof header.kid === "string" ? header.kid : null,
    claims,
    signature: signatureBytes,
    signed: utf8(`${head}.${payload}`),
  };
}

function jsonObject(encoded: string): Record<string, unknown> | null {
  const bytes = bytesFromBase64Url(encoded);
  const text = bytes === null ? null : textFromUtf8(bytes);
  if (text === null) return null;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : null;
  } catch {
    return null;
  }
}

/** `null`: the signature is good. */
async function verifyShared(scheme: JwtScheme, source: VerifySource, token: Token): Promise<Verdict | null> {
  for (const secret of source.secrets) {
    const key = await hmacKey(scheme.algorithm === "HS256" ? "SHA-256" : "SHA-512", "utf8", secret);
    if (typeof key === "string") return unusable(`a secret ${key}`);
    if (await verifyHmac(key, token.signature, token.signed)) return null;
  }
  return rejected("signature-mismatch");
}

/** `null`: the signature is good. */
async function verifyWithPublicKeys(
  scheme: JwtScheme,
  source: VerifySource,
  token: Token,
  nowMs: number,
): Promise<Verdict | null> {
  const algorithm: PublicKeyAlgorithm = scheme.algorithm === "ES256" ? "ecdsa-p256-sha256" : "rsa-sha256";
  const keys = source.secrets.length > 0 ? source.secrets : await jwtKeys(scheme.keysFrom, source, token.kid, nowMs);
  if ("kind" in keys) return keys;
  for (const text of keys) {
    const key = await publicKey(algorithm, "public-key", text);
    if (typeof key === "string") return unusable(`a public key ${key}`);
    if (await verifyPublic(algorithm, key, token.signature, token.signed)) return null;
  }
  return rejected("signature-mismatch");
}

function checkTimes(
  scheme: JwtScheme,
  source: VerifySource,
  claims: Token["claims"],
  receivedAtMs: number,
): Rejected | null {
  const now = receivedAtMs / 1000;
  const { exp, nbf, iat } = claims;
  if (exp !== undefined || scheme.expires === true) {
    if (typeof exp !== "number") return rejected("missing-timestamp", "exp");
    if (now > exp) return rejected("timestamp-too-old", `the token ended ${Math.ceil(now - exp)} s before it came`);
  }
  if (nbf !== undefined) {
    if (typeof nbf !== "number") return rejected("malformed-timestamp", "nbf");
    if (now + CLOCK_SKEW_SECONDS < nbf) return rejected("timestamp-in-future", `begins in ${Math.ceil(nbf - now)} s`);
  }
  if (scheme.issuedWithinSeconds === undefined) return null;
  const tolerance = source.toleranceSeconds ?? scheme.issuedWithinSeconds;
  if (typeof iat !== "number") return rejected("missing-timestamp", "iat");
  if (now - iat > tolerance) return rejected("timestamp-too-old", `issued ${Math.round(now - iat)} s before it came`);
  if (iat - now > tolerance) return rejected("timestamp-in-future", `issued ${Math.round(iat - now)} s after it came`);
  return null;
}

function checkClaims(scheme: JwtScheme, source: VerifySource, claims: Token["claims"]): Rejected | null {
  if (scheme.issuers !== undefined && !scheme.issuers.some((issuer) => issuer === claims.iss)) {
    return rejected("wrong-claim", "iss");
  }
  for (const [name, value] of Object.entries(scheme.claims ?? {})) {
    if (claims[name] !== value) return rejected("wrong-claim", name);
  }
  for (const [name, paramName] of Object.entries(scheme.claimsFromParams ?? {})) {
    const wanted = param(source, paramName);
    if (wanted === null) continue;
    const value = claims[name];
    if (value !== wanted && !(Array.isArray(value) && value.includes(wanted))) return rejected("wrong-claim", name);
  }
  return null;
}

/** The claim is the digest of the body, and binds it to the token. */
async function checkBody(scheme: JwtScheme, claims: Token["claims"], body: Arrival["body"]): Promise<Rejected | null> {
  if (scheme.bodyHash === undefined) return null;
  const { claim, hash, encoding } = scheme.bodyHash;
  const promised = claims[claim];
  if (typeof promised !== "string") return rejected("wrong-claim", `${claim} is missing`);
  const bytes = bytesFrom(encoding, promised);
  return bytes !== null && equalDigests(bytes, await digest(hash, body)) ? null : rejected("body-hash-mismatch");
}
