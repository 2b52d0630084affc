import { createHash, createHmac, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { OTHER_SECRET, type Plain, SECRET, type Signer } from "./signer.ts";

/** Two pairs of each kind, made anew for each run: one of the provider, one of a stranger. */
const ed25519 = [generateKeyPairSync("ed25519"), generateKeyPairSync("ed25519")] as const;
const p256 = [
  generateKeyPairSync("ec", { namedCurve: "P-256" }),
  generateKeyPairSync("ec", { namedCurve: "P-256" }),
] as const;
const rsa = [
  generateKeyPairSync("rsa", { modulusLength: 2048 }),
  generateKeyPairSync("rsa", { modulusLength: 2048 }),
] as const;

type Pairs = readonly [
  { publicKey: KeyObject; privateKey: KeyObject },
  { publicKey: KeyObject; privateKey: KeyObject },
];

/** A signer whose "secrets" are the numbers of the pairs; what is configured is the public key. */
function pairSigner(
  pairs: Pairs,
  write: (key: KeyObject) => string,
  header: string | null,
  signRequest: (key: KeyObject, request: Plain) => ReturnType<Signer["sign"]>,
  other: Partial<Signer> = {},
): Signer {
  const pair = (secret: string) => pairs[secret === "0" ? 0 : 1];
  return {
    secret: "0",
    otherSecret: "1",
    configured: (secret) => write(pair(secret).publicKey),
    bodies: "any",
    header,
    sign: (secret, request) => signRequest(pair(secret).privateKey, request),
    ...other,
  };
}

const raw = (encoding: "hex" | "base64") => (key: KeyObject) =>
  key.export({ type: "spki", format: "der" }).subarray(-32).toString(encoding);
const spki = (key: KeyObject): string => key.export({ type: "spki", format: "der" }).toString("base64");
const pem = (key: KeyObject): string => String(key.export({ type: "spki", format: "pem" }));
const pkcs8 = (key: KeyObject): string => String(key.export({ type: "pkcs8", format: "pem" }));
const jwk = (key: KeyObject): string => JSON.stringify(key.export({ format: "jwk" }));
const join = (...parts: readonly (string | Uint8Array)[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part) : Buffer.from(part))));

function crc32(bytes: Uint8Array): number {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return ~crc >>> 0;
}

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

function jwt(alg: string, claims: object, key: KeyObject | string): string {
  const text = `${encode({ alg, typ: "JWT", kid: "k1" })}.${encode(claims)}`;
  const signature =
    typeof key === "string"
      ? createHmac("sha256", key).update(text).digest()
      : sign("sha256", Buffer.from(text), alg === "ES256" ? { key: pkcs8(key), dsaEncoding: "ieee-p1363" } : key);
  return `${text}.${signature.toString("base64url")}`;
}

const sha256Hex = (body: Uint8Array): string => createHash("sha256").update(body).digest("hex");

const snsFields = ["Message", "MessageId", "Timestamp", "TopicArn", "Type"];
const snsMessage = {
  Type: "Notification",
  MessageId: "m1",
  TopicArn: "arn:aws:sns:eu-west-1:1:t",
  Message: "hello",
  Timestamp: "2026-01-01T00:00:00.000Z",
  SignatureVersion: "2",
  SigningCertURL: "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-00000000000000000000000000000000.pem",
};

/** Providers that sign with a private key, or send a JWT. */
export const keySigners: Readonly<Record<string, Signer>> = {
  "standard-webhooks-ed25519": pairSigner(
    ed25519,
    (key) => `whpk_${raw("base64")(key)}`,
    "webhook-signature",
    (key, { body, seconds }) => ({
      headers: {
        "webhook-id": "msg_1",
        "webhook-timestamp": String(seconds),
        "webhook-signature": `v1,AAAA v1a,${sign(null, join(`msg_1.${seconds}.`, body), key).toString("base64")}`,
      },
    }),
  ),
  discord: pairSigner(ed25519, raw("hex"), "x-signature-ed25519", (key, { body, seconds }) => ({
    headers: {
      "x-signature-timestamp": String(seconds),
      "x-signature-ed25519": sign(null, join(String(seconds), body), key).toString("hex"),
    },
  })),
  telnyx: pairSigner(ed25519, raw("base64"), "telnyx-signature-ed25519", (key, { body, seconds }) => ({
    headers: {
      "telnyx-timestamp": String(seconds),
      "telnyx-signature-ed25519": sign(null, join(`${seconds}|`, body), key).toString("base64"),
    },
  })),
  "token-io": pairSigner(
    ed25519,
    (key) => raw("base64")(key).replaceAll("+", "-").replaceAll("/", "_").replace(/=$/, ""),
    "token-signature",
    (key, { body }) => ({ headers: { "token-signature": sign(null, body, key).toString("base64url") } }),
  ),
  sendgrid: pairSigner(p256, spki, "x-twilio-email-event-webhook-signature", (key, { body, seconds }) => ({
    headers: {
      "x-twilio-email-event-webhook-timestamp": String(seconds),
      "x-twilio-email-event-webhook-signature": sign("sha256", join(String(seconds), body), key).toString("base64"),
    },
  })),
  circle: pairSigner(p256, spki, "x-circle-signature", (key, { body }) => ({
    headers: { "x-circle-signature": sign("sha256", body, key).toString("base64") },
  })),
  ebay: pairSigner(
    p256,
    (key) => pem(key).replaceAll("\n", ""),
    "x-ebay-signature",
    (key, { body }) => {
      const signature = sign("sha1", body, key).toString("base64");
      const value = { alg: "ecdsa", kid: "k1", signature, digest: "SHA1" };
      return { headers: { "x-ebay-signature": Buffer.from(JSON.stringify(value)).toString("base64") } };
    },
  ),
  wise: pairSigner(rsa, pem, "x-signature-sha256", (key, { body }) => ({
    headers: { "x-signature-sha256": sign("sha256", body, key).toString("base64") },
  })),
  fireblocks: pairSigner(rsa, pem, "fireblocks-signature", (key, { body }) => ({
    headers: { "fireblocks-signature": sign("sha512", body, key).toString("base64") },
  })),
  "wechat-pay": pairSigner(rsa, pem, "wechatpay-signature", (key, { body, seconds }) => ({
    headers: {
      "wechatpay-timestamp": String(seconds),
      "wechatpay-nonce": "nonce-1",
      "wechatpay-signature": sign("sha256", join(`${seconds}\nnonce-1\n`, body, "\n"), key).toString("base64"),
    },
  })),
  paypal: pairSigner(
    rsa,
    pem,
    "paypal-transmission-sig",
    (key, { body }) => ({
      headers: {
        "paypal-transmission-id": "t-1",
        "paypal-transmission-time": "2026-01-01T00:00:00Z",
        "paypal-cert-url": "https://api.paypal.com/v1/notifications/certs/CERT-1",
        "paypal-transmission-sig": sign("sha256", join(`t-1|2026-01-01T00:00:00Z|WH-1|${crc32(body)}`), key).toString(
          "base64",
        ),
      },
    }),
    { params: { webhookId: "WH-1" } },
  ),
  "aws-sns": pairSigner(
    rsa,
    pem,
    null,
    (key, { body }) => {
      const message = JSON.parse(Buffer.from(body).toString()) as Record<string, string>;
      const text = snsFields.map((name) => `${name}\n${message[name]}\n`).join("");
      return {
        headers: {},
        body: join(JSON.stringify({ ...message, Signature: sign("sha256", join(text), key).toString("base64") })),
      };
    },
    { bodies: "json", body: JSON.stringify(snsMessage) },
  ),
  plaid: pairSigner(p256, jwk, "plaid-verification", (key, { body, seconds }) => ({
    headers: { "plaid-verification": jwt("ES256", { iat: seconds, request_body_sha256: sha256Hex(body) }, key) },
  })),
  "google-pubsub": pairSigner(rsa, pem, "authorization", (key, { seconds }) => ({
    headers: {
      authorization: `Bearer ${jwt(
        "RS256",
        {
          iss: "https://accounts.google.com",
          aud: "a",
          email: "p@x",
          email_verified: true,
          iat: seconds,
          exp: seconds + 3600,
        },
        key,
      )}`,
    },
  })),
  netlify: {
    secret: SECRET,
    otherSecret: OTHER_SECRET,
    bodies: "any",
    header: "x-webhook-signature",
    sign: (secret, { body }) => ({
      headers: { "x-webhook-signature": jwt("HS256", { iss: "netlify", sha256: sha256Hex(body) }, secret) },
    }),
  },
  monday: {
    secret: SECRET,
    otherSecret: OTHER_SECRET,
    bodies: "any",
    header: "authorization",
    sign: (secret, { seconds }) => ({
      headers: { authorization: jwt("HS256", { iat: seconds, exp: seconds + 300 }, secret) },
    }),
  },
};
