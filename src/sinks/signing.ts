/**
 * All cryptography of the sinks. Keys are imported once and kept: importing costs as much as signing a small batch.
 */
const KEYS_REMEMBERED = 1_000;

const keys = new Map<string, Promise<CryptoKey>>();
const encoder = new TextEncoder();

/** How the text of a secret becomes the bytes of a key. */
type KeyForm = "base64" | "utf8";

/** Thrown when a signing secret is not what Standard Webhooks calls one; the message never holds the secret. */
export class SigningSecretError extends Error {
  override readonly name = "SigningSecretError";
}

/**
 * `v1,<base64>` over `<id>.<timestamp>.<body>`, once per secret and joined by spaces: the value of `webhook-signature`
 * by the Standard Webhooks specification [V4]. Secrets are `whsec_<base64>`, the prefix may be missing.
 *
 * @throws SigningSecretError for a secret that is not base64 of at least one byte
 */
export async function standardSignature(
  secrets: readonly string[],
  id: string,
  timestamp: number,
  body: Uint8Array,
): Promise<string> {
  const content = withPrefix(`${id}.${timestamp}.`, body);
  const macs = await Promise.all(secrets.map((secret) => hmacSha256(secret, "base64", content)));
  return macs.map((mac) => `v1,${mac.toBase64()}`).join(" ");
}

/**
 * `t=<timestamp>,v1=<hex>` over `<timestamp>.<body>`, one `v1` per secret: what a source of provider
 * `generic-timestamped` verifies with the same secret, whose text is the key [V4].
 */
export async function timestampedSignature(
  secrets: readonly string[],
  timestamp: number,
  body: Uint8Array,
): Promise<string> {
  const content = withPrefix(`${timestamp}.`, body);
  const macs = await Promise.all(secrets.map((secret) => hmacSha256(secret, "utf8", content)));
  return [`t=${timestamp}`, ...macs.map((mac) => `v1=${mac.toHex()}`)].join(",");
}

/** SHA-256 of a text's UTF-8 bytes, in hex. */
export async function sha256Hex(text: string): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", encoder.encode(text))).toHex();
}

/** SHA-256 of exact bytes, in hex. */
export async function sha256HexOfBytes(bytes: Uint8Array): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

async function hmacSha256(secret: string, form: KeyForm, content: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.sign("HMAC", await keyOf(secret, form), content));
}

function keyOf(secret: string, form: KeyForm): Promise<CryptoKey> {
  const name = `${form}:${secret}`;
  const known = keys.get(name);
  if (known !== undefined) return known;
  if (keys.size >= KEYS_REMEMBERED) keys.clear();
  const bytes = form === "utf8" ? encoder.encode(secret) : decodeSecret(secret);
  const key = crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  keys.set(name, key);
  return key;
}

function decodeSecret(secret: string): Uint8Array {
  const text = secret.startsWith("whsec_") ? secret.slice("whsec_".length) : secret;
  const alphabet = /[-_]/.test(text) ? "base64url" : "base64";
  let bytes: Uint8Array;
  try {
    bytes = Uint8Array.fromBase64(text, { alphabet });
  } catch {
    throw new SigningSecretError("a signing secret is not base64");
  }
  if (bytes.length === 0) throw new SigningSecretError("a signing secret is empty");
  return bytes;
}

/** One buffer for prefix and body: WebCrypto signs no streams, and the copy is cheaper than a second pass. */
function withPrefix(prefix: string, body: Uint8Array): Uint8Array {
  const head = encoder.encode(prefix);
  const content = new Uint8Array(head.length + body.length);
  content.set(head);
  content.set(body, head.length);
  return content;
}
