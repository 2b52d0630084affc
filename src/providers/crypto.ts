/**
 * The one place of this folder that calls WebCrypto. Keys are imported once and kept, bounded, by what they are made
 * of; nothing here is ever logged. The only comparisons are `subtle.verify` and `equalDigests` [I8].
 */
import type { Hash, KeyForm, PublicKeyAlgorithm } from "./scheme.ts";

type Bytes = Uint8Array<ArrayBuffer>;

const { subtle } = crypto;

const CACHED_KEYS_MAX = 2_000;
const publicKeys = new Map<string, CryptoKey>();
/** By hash and key form, then by the secret: a look-up costs no joining of texts. */
const hmacKeysBy = new Map<Hash, Map<KeyForm, Map<string, CryptoKey>>>();

export function digestSizeBytes(hash: Hash): number {
  switch (hash) {
    case "SHA-1":
      return 20;
    case "SHA-256":
      return 32;
    case "SHA-384":
      return 48;
    case "SHA-512":
      return 64;
  }
}

/** The keys for HMAC that were imported before, by secret. */
export function hmacKeys(hash: Hash, form: KeyForm): ReadonlyMap<string, CryptoKey> {
  return hmacKeysBy.get(hash)?.get(form) ?? keyMap(hash, form);
}

function keyMap(hash: Hash, form: KeyForm): Map<string, CryptoKey> {
  const byForm = hmacKeysBy.get(hash) ?? new Map<KeyForm, Map<string, CryptoKey>>();
  hmacKeysBy.set(hash, byForm);
  const bySecret = byForm.get(form) ?? new Map<string, CryptoKey>();
  byForm.set(form, bySecret);
  return bySecret;
}

/** Imports a key for HMAC and keeps it. The bytes must not be empty: WebCrypto refuses an empty key. */
export async function importHmacKey(hash: Hash, form: KeyForm, secret: string, bytes: Bytes): Promise<CryptoKey> {
  const key = await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash }, false, ["sign", "verify"]);
  return keep(keyMap(hash, form), secret, key);
}

/** A public key imported before under this name. */
export function cachedPublicKey(cacheName: string): CryptoKey | undefined {
  return publicKeys.get(cacheName);
}

/** Whether the signature is the HMAC of the message; a wrong length is simply wrong. */
export function verifyHmac(key: CryptoKey, signature: Bytes, message: Bytes): Promise<boolean> {
  return subtle.verify("HMAC", key, signature, message);
}

export async function hmac(key: CryptoKey, message: Bytes): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, message));
}

export function digest(hash: Hash, message: Bytes): Promise<Bytes> {
  return crypto.subtle.digest(hash, message).then((bytes) => new Uint8Array(bytes));
}

/** Compares two digests without telling by its duration where they differ. Different lengths are different. */
export function equalDigests(left: Uint8Array, right: Uint8Array): boolean {
  if (left.length !== right.length) return false;
  let difference = 0;
  for (let i = 0; i < left.length; i++) difference |= (left[i] ?? 0) ^ (right[i] ?? 0);
  return difference === 0;
}

/** How the bytes of a public key are laid out. */
export type PublicKeyLayout =
  | { kind: "raw"; bytes: Bytes }
  | { kind: "spki"; bytes: Bytes }
  | { kind: "jwk"; jwk: JsonWebKey };

/** Imports a public key and keeps it; throws where the bytes are no key of this algorithm. */
export async function importPublicKey(
  cacheName: string,
  algorithm: PublicKeyAlgorithm,
  layout: PublicKeyLayout,
): Promise<CryptoKey> {
  const parameters = importParameters(algorithm);
  const key =
    layout.kind === "jwk"
      ? await crypto.subtle.importKey("jwk", publicPart(layout.jwk), parameters, false, ["verify"])
      : await crypto.subtle.importKey(layout.kind, layout.bytes, parameters, false, ["verify"]);
  return keep(publicKeys, cacheName, key);
}

/** Whether the signature is genuine. ECDSA signatures are r ‖ s, 64 bytes. */
export function verifyPublic(
  algorithm: PublicKeyAlgorithm,
  key: CryptoKey,
  signature: Bytes,
  message: Bytes,
): Promise<boolean> {
  return crypto.subtle.verify(verifyParameters(algorithm), key, signature, message);
}

function importParameters(algorithm: PublicKeyAlgorithm) {
  switch (algorithm) {
    case "ed25519":
      return { name: "Ed25519" };
    case "ecdsa-p256-sha256":
    case "ecdsa-p256-sha1":
      return { name: "ECDSA", namedCurve: "P-256" };
    case "rsa-sha1":
    case "rsa-sha256":
    case "rsa-sha512":
      return { name: "RSASSA-PKCS1-v1_5", hash: rsaHash(algorithm) };
  }
}

function verifyParameters(algorithm: PublicKeyAlgorithm) {
  switch (algorithm) {
    case "ed25519":
      return { name: "Ed25519" };
    case "ecdsa-p256-sha256":
      return { name: "ECDSA", hash: "SHA-256" };
    case "ecdsa-p256-sha1":
      return { name: "ECDSA", hash: "SHA-1" };
    case "rsa-sha1":
    case "rsa-sha256":
    case "rsa-sha512":
      return { name: "RSASSA-PKCS1-v1_5" };
  }
}

function rsaHash(algorithm: "rsa-sha1" | "rsa-sha256" | "rsa-sha512"): Hash {
  return algorithm === "rsa-sha1" ? "SHA-1" : algorithm === "rsa-sha256" ? "SHA-256" : "SHA-512";
}

/** A JWK that says what else it is for is refused by WebCrypto; only the numbers matter here. */
function publicPart(jwk: JsonWebKey): JsonWebKey {
  const { kty, crv, x, y, n, e } = jwk;
  return JSON.parse(JSON.stringify({ kty, crv, x, y, n, e })) as JsonWebKey;
}

function keep(keys: Map<string, CryptoKey>, name: string, key: CryptoKey): CryptoKey {
  if (keys.size >= CACHED_KEYS_MAX) {
    const oldest = keys.keys().next();
    if (!oldest.done) keys.delete(oldest.value);
  }
  keys.set(name, key);
  return key;
}
