import { fail, ok, type Result } from "../core/result.ts";
import { bytesFromBase64, bytesFromBase64Url, bytesFromHex } from "./bytes.ts";
import type { PublicKeyLayout } from "./crypto.ts";
import { derChildren, derElement } from "./der.ts";
import type { PublicKeyScheme } from "./scheme.ts";

const WHPK = "whpk_";
const ED25519_KEY_BYTES = 32;

/**
 * Reads a public key as providers show it: raw Ed25519 bytes in hex or base64, or for any algorithm PEM (a key or a
 * certificate), bare base64 of the DER, or a JWK.
 */
export function publicKeyLayout(form: PublicKeyScheme["key"], text: string): Result<PublicKeyLayout, "wrong-form"> {
  if (form === "raw-hex") return rawKey(bytesFromHex(text), "64 hexadecimal digits");
  if (form === "raw-base64") {
    const digits = text.startsWith(WHPK) ? text.slice(WHPK.length) : text;
    return rawKey(bytesFromBase64(digits) ?? bytesFromBase64Url(digits), "base64 of 32 bytes after an optional whpk_");
  }
  const trimmed = text.trim();
  if (trimmed.startsWith("{")) return jwkLayout(trimmed);
  const pem = /^-----BEGIN ([A-Z ]+)-----([A-Za-z0-9+/=\s]+)-----END \1-----/.exec(trimmed);
  const bytes = bytesFromBase64((pem?.[2] ?? trimmed).replace(/\s+/g, ""));
  if (bytes === null) return fail("wrong-form", "is neither PEM, nor base64 of a public key, nor a JWK");
  if (pem !== null && pem[1] === "CERTIFICATE") return fromCertificate(bytes);
  if (pem !== null && pem[1] !== "PUBLIC KEY")
    return fail("wrong-form", `holds a ${pem[1]} where a PUBLIC KEY belongs`);
  const isSequence = derElement(bytes, 0)?.tag === 0x30;
  return isSequence ? ok({ kind: "spki", bytes }) : fail("wrong-form", "is not a public key (SubjectPublicKeyInfo)");
}

function rawKey(bytes: Uint8Array<ArrayBuffer> | null, form: string): Result<PublicKeyLayout, "wrong-form"> {
  return bytes?.length === ED25519_KEY_BYTES ? ok({ kind: "raw", bytes }) : fail("wrong-form", `is not ${form}`);
}

function jwkLayout(text: string): Result<PublicKeyLayout, "wrong-form"> {
  try {
    const jwk = JSON.parse(text) as JsonWebKey;
    if (typeof jwk.d === "string") return fail("wrong-form", "is a private key: give its public part only");
    return typeof jwk.kty === "string" ? ok({ kind: "jwk", jwk }) : fail("wrong-form", "is JSON, but not a JWK");
  } catch {
    return fail("wrong-form", "is not readable as a JWK");
  }
}

/** Cuts the SubjectPublicKeyInfo out of an X.509 certificate (RFC 5280 § 4.1). */
function fromCertificate(der: Uint8Array<ArrayBuffer>): Result<PublicKeyLayout, "wrong-form"> {
  const certificate = derElement(der, 0);
  const tbs = certificate === null ? undefined : derChildren(der, certificate)[0];
  const fields = tbs === undefined ? [] : derChildren(der, tbs);
  // An explicit version, [0], comes first in version 3; the key is the sixth field after it.
  const key = fields[(fields[0]?.tag === 0xa0 ? 1 : 0) + 5];
  if (key === undefined || key.tag !== 0x30) return fail("wrong-form", "is not a readable certificate");
  return ok({ kind: "spki", bytes: der.slice(key.start, key.end) });
}
