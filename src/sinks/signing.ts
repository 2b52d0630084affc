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
  return standardText(macs);
}

function standardText(macs: readonly Uint8Array[]): string {
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
  return timestampedText(timestamp, macs);
}

function timestampedText(timestamp: number, macs: readonly Uint8Array[]): string {
  return [`t=${timestamp}`, ...macs.map((mac) => `v1=${mac.toHex()}`)].join(",");
}

/** A signature over a body that comes piece by piece [V25]; a piece may be overwritten once `update` has resolved. */
interface RunningSignature {
  update(piece: Uint8Array): Promise<void>;
  finish(): Promise<string>;
}

/** As `standardSignature`. */
export function runningStandardSignature(
  secrets: readonly string[],
  id: string,
  timestamp: number,
): Promise<RunningSignature> {
  return running(secrets, "base64", `${id}.${timestamp}.`, standardText);
}

/** As `timestampedSignature`. */
export function runningTimestampedSignature(secrets: readonly string[], timestamp: number): Promise<RunningSignature> {
  return running(secrets, "utf8", `${timestamp}.`, (macs) => timestampedText(timestamp, macs));
}

async function running(
  secrets: readonly string[],
  form: KeyForm,
  prefix: string,
  textOf: (macs: readonly Uint8Array[]) => string,
): Promise<RunningSignature> {
  const macs = await Promise.all(secrets.map((secret) => RunningHmac.begin(keyBytes(secret, form))));
  const update = async (piece: Uint8Array): Promise<void> => {
    await Promise.all(macs.map((mac) => mac.update(piece)));
  };
  await update(encoder.encode(prefix));
  return { update, finish: async () => textOf(await Promise.all(macs.map((mac) => mac.finish()))) };
}

/**
 * HMAC-SHA256 by its definition (RFC 2104, section 2) over the runtime's digest of a stream: WebCrypto's own takes a
 * message in one piece only.
 */
class RunningHmac {
  readonly #outerBlock: Uint8Array;
  readonly #inner: RunningDigest;

  private constructor(outerBlock: Uint8Array, inner: RunningDigest) {
    this.#outerBlock = outerBlock;
    this.#inner = inner;
  }

  static async begin(key: Uint8Array): Promise<RunningHmac> {
    const block = new Uint8Array(HMAC_BLOCK_BYTES);
    block.set(key.length > HMAC_BLOCK_BYTES ? new Uint8Array(await crypto.subtle.digest("SHA-256", key)) : key);
    const inner = new RunningDigest();
    await inner.update(block.map((byte) => byte ^ 0x36));
    return new RunningHmac(
      block.map((byte) => byte ^ 0x5c),
      inner,
    );
  }

  update(piece: Uint8Array): Promise<void> {
    return this.#inner.update(piece);
  }

  async finish(): Promise<Uint8Array> {
    const outer = new RunningDigest();
    await outer.update(this.#outerBlock);
    await outer.update(await this.#inner.finish());
    return outer.finish();
  }
}

const HMAC_BLOCK_BYTES = 64;

/** SHA-256 of bytes that come piece by piece. */
export class RunningDigest {
  readonly #stream = new crypto.DigestStream("SHA-256");
  readonly #writer = this.#stream.getWriter();

  update(piece: Uint8Array): Promise<void> {
    return this.#writer.write(piece);
  }

  async finish(): Promise<Uint8Array> {
    await this.#writer.close();
    return new Uint8Array(await this.#stream.digest);
  }
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
  const bytes = keyBytes(secret, form);
  const key = crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  keys.set(name, key);
  return key;
}

function keyBytes(secret: string, form: KeyForm): Uint8Array {
  return form === "utf8" ? encoder.encode(secret) : decodeSecret(secret);
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
