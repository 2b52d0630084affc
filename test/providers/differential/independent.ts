import { createHash, createHmac, createPublicKey, timingSafeEqual, verify } from "node:crypto";

/**
 * Verifiers that share nothing with the product: `node:crypto`, regular expressions, and the rules as the contract
 * writes them down. Each says whether a request is genuine.
 */
export interface Raw {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  readonly url: string;
}

export type Check = (request: Raw) => boolean;

/** The clock of all differential tests. */
export const NOW = 1_795_910_400;

const HEX = /^[0-9a-fA-F]+$/;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

export function same(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && timingSafeEqual(left, right);
}

export function hexBytes(text: string): Buffer | null {
  return HEX.test(text) && text.length % 2 === 0 ? Buffer.from(text, "hex") : null;
}

export function base64Bytes(text: string): Buffer | null {
  if (!BASE64.test(text)) return null;
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64") === text ? bytes : null;
}

export function base64UrlBytes(text: string): Buffer | null {
  if (!/^[A-Za-z0-9_-]+$/.test(text.replace(/={1,2}$/, ""))) return null;
  const bare = text.replace(/={1,2}$/, "");
  const bytes = Buffer.from(bare, "base64url");
  const padded = bare.padEnd(Math.ceil(bare.length / 4) * 4, "=");
  return bytes.toString("base64url") === bare && (text === bare || text === padded) ? bytes : null;
}

function mac(hash: string, key: string | Uint8Array, ...parts: (string | Uint8Array)[]): Buffer {
  const hmac = createHmac(hash, key);
  for (const part of parts) hmac.update(part);
  return hmac.digest();
}

function inTime(text: string | undefined, pattern: RegExp, scale: number, tolerance: number | null): boolean {
  if (text === undefined || !pattern.test(text)) return false;
  return tolerance === null || Math.abs(Number(text) / scale - NOW) <= tolerance;
}

const SECONDS = /^[0-9]{1,12}$/;

/** GitHub: hex of the body after `sha256=`. */
export const github =
  (secret: string): Check =>
  ({ headers, body }) => {
    const text = (headers["x-hub-signature-256"] ?? "").trim();
    const bytes = text.startsWith("sha256=") && text.length <= 8_192 ? hexBytes(text.slice(7)) : null;
    return bytes !== null && same(bytes, mac("sha256", secret, body));
  };

/** Shopify: base64 of the body. */
export const shopify =
  (secret: string): Check =>
  ({ headers, body }) => {
    const bytes = base64Bytes((headers["x-shopify-hmac-sha256"] ?? "").trim());
    return bytes !== null && same(bytes, mac("sha256", secret, body));
  };

/** Stripe: `t=…` once (or always the same), any of the first 16 usable `v1=…`. */
export const stripe =
  (secret: string): Check =>
  ({ headers, body }) => {
    const text = headers["stripe-signature"] ?? "";
    if (text.length > 8_192) return false;
    const times = new Set<string>();
    const signatures: Buffer[] = [];
    for (const entry of text.split(",")) {
      const [name = "", ...rest] = entry.split("=");
      if (rest.length === 0) continue;
      const value = rest.join("=").trim();
      if (name.trim() === "t") times.add(value);
      if (name.trim() !== "v1") continue;
      const bytes = hexBytes(value);
      if (bytes?.length === 32 && signatures.length < 16) signatures.push(bytes);
    }
    const [time] = times;
    if (times.size !== 1 || time === undefined || !inTime(time, SECONDS, 1, 300)) return false;
    return signatures.some((bytes) => same(bytes, mac("sha256", secret, `${time}.`, body)));
  };

/** Standard Webhooks: id, time, any of the first 16 usable `v1,…`. */
export const standard =
  (secret: string): Check =>
  ({ headers, body }) => {
    const id = headers["webhook-id"] ?? "";
    const time = headers["webhook-timestamp"];
    const text = headers["webhook-signature"] ?? "";
    if (id === "" || text.length > 8_192 || !inTime(time, SECONDS, 1, 300)) return false;
    const signatures = text
      .split(" ")
      .filter((entry) => entry.includes(","))
      .map((entry) => [entry.slice(0, entry.indexOf(",")).trim(), entry.slice(entry.indexOf(",") + 1).trim()] as const)
      .flatMap(([version, value]) => (version === "v1" ? [base64Bytes(value)] : []))
      .filter((bytes) => bytes?.length === 32)
      .slice(0, 16);
    const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
    return signatures.some((bytes) => bytes !== null && same(bytes, mac("sha256", key, `${id}.${time}.`, body)));
  };

/** HubSpot v1: a plain hash of secret and body. */
export const hubspotV1 =
  (secret: string): Check =>
  ({ headers, body }) => {
    const bytes = hexBytes((headers["x-hubspot-signature"] ?? "").trim());
    return bytes !== null && same(bytes, createHash("sha256").update(secret).update(body).digest());
  };

/** Twilio: URL and sorted form. */
export const twilio =
  (secret: string): Check =>
  ({ headers, body, url }) => {
    const bytes = base64Bytes((headers["x-twilio-signature"] ?? "").trim());
    if (bytes === null) return false;
    let text: string;
    try {
      text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(body);
    } catch {
      return false;
    }
    const pairs = new Map<string, Set<string>>();
    for (const [name, value] of new URLSearchParams(text)) pairs.set(name, (pairs.get(name) ?? new Set()).add(value));
    let fields = "";
    for (const name of [...pairs.keys()].sort())
      for (const value of [...(pairs.get(name) ?? [])].sort()) fields += name + value;
    const withPort = url.replace("hooks.example.com", "hooks.example.com:443");
    return [url, withPort].some((one) => same(bytes, mac("sha1", secret, one + fields)));
  };

/** Discord: Ed25519 over time and body, without a limit of age. */
export const discord = (publicKeyHex: string): Check => {
  const prefix = Buffer.from("302a300506032b6570032100", "hex");
  const key = createPublicKey({
    key: Buffer.concat([prefix, Buffer.from(publicKeyHex, "hex")]),
    type: "spki",
    format: "der",
  });
  return ({ headers, body }) => {
    const bytes = hexBytes((headers["x-signature-ed25519"] ?? "").trim());
    const time = headers["x-signature-timestamp"];
    if (bytes?.length !== 64 || !inTime(time, SECONDS, 1, null)) return false;
    return verify(null, Buffer.concat([Buffer.from(String(time)), body]), key, bytes);
  };
};

/** SendGrid: ECDSA over time and body, DER. */
export const sendgrid = (publicKeyBase64: string): Check => {
  const key = createPublicKey({ key: Buffer.from(publicKeyBase64, "base64"), type: "spki", format: "der" });
  return ({ headers, body }) => {
    const bytes = base64Bytes((headers["x-twilio-email-event-webhook-signature"] ?? "").trim());
    const time = headers["x-twilio-email-event-webhook-timestamp"];
    if (bytes === null || !inTime(time, SECONDS, 1, null)) return false;
    return verify("sha256", Buffer.concat([Buffer.from(String(time)), body]), key, bytes);
  };
};

/** Wise: RSA over the body. */
export const wise = (pem: string): Check => {
  const key = createPublicKey(pem);
  return ({ headers, body }) => {
    const bytes = base64Bytes((headers["x-signature-sha256"] ?? "").trim());
    return bytes !== null && verify("sha256", body, key, bytes);
  };
};

function parts(
  text: string,
): { head: Record<string, unknown>; claims: Record<string, unknown>; signed: string; signature: Buffer } | null {
  const pieces = text.length <= 16_384 ? text.split(".") : [];
  const [head = "", claims = "", signature = ""] = pieces;
  const bytes = base64UrlBytes(signature);
  try {
    const read = (piece: string) =>
      JSON.parse(
        new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(base64UrlBytes(piece) ?? undefined),
      ) as unknown;
    const both = [read(head), read(claims)];
    if (
      pieces.length !== 3 ||
      bytes === null ||
      both.some((value) => typeof value !== "object" || value === null || Array.isArray(value))
    )
      return null;
    return {
      head: both[0] as Record<string, unknown>,
      claims: both[1] as Record<string, unknown>,
      signed: `${head}.${claims}`,
      signature: bytes,
    };
  } catch {
    return null;
  }
}

/** Netlify: a JWT that holds the body's hash. */
export const netlify =
  (secret: string): Check =>
  ({ headers, body }) => {
    const token = parts(headers["x-webhook-signature"] ?? "");
    if (token === null || token.head.alg !== "HS256" || token.head.crit !== undefined) return false;
    if (!same(token.signature, mac("sha256", secret, token.signed)) || token.claims.iss !== "netlify") return false;
    const promised = token.claims.sha256;
    const bytes = typeof promised === "string" ? hexBytes(promised) : null;
    return bytes !== null && same(bytes, createHash("sha256").update(body).digest());
  };

/** Plaid: a JWT signed with ES256, five minutes old at most, that holds the body's hash. */
export const plaid =
  (pem: string): Check =>
  ({ headers, body }) => {
    const token = parts(headers["plaid-verification"] ?? "");
    if (token === null || token.head.alg !== "ES256" || token.head.crit !== undefined) return false;
    const { iat, request_body_sha256: promised } = token.claims;
    if (token.signature.length !== 64) return false;
    if (!verify("sha256", Buffer.from(token.signed), { key: pem, dsaEncoding: "ieee-p1363" }, token.signature))
      return false;
    const bytes = typeof promised === "string" ? hexBytes(promised) : null;
    if (typeof iat !== "number" || Math.abs(NOW - iat) > 300 || bytes === null) return false;
    return same(bytes, createHash("sha256").update(body).digest());
  };

/** A secret in a header as it stands. */
export const token =
  (header: string, secret: string): Check =>
  ({ headers }) =>
    headers[header] === secret;

/** Microsoft Graph: every item of a list shows the secret. */
export const graph =
  (secret: string): Check =>
  ({ body }) => {
    const value = json(body);
    const items =
      typeof value === "object" && value !== null && Object.hasOwn(value, "value")
        ? (value as { value: unknown }).value
        : null;
    if (!Array.isArray(items) || items.length === 0) return false;
    return items.every((item: unknown) => {
      if (typeof item !== "object" || item === null || !Object.hasOwn(item, "clientState")) return false;
      return (item as { clientState: unknown }).clientState === secret;
    });
  };

/** Adyen: eight fields of every item. */
export const adyen =
  (secret: string): Check =>
  ({ body }) => {
    const value = json(body) as { notificationItems?: unknown } | null;
    const items = value?.notificationItems;
    if (!Array.isArray(items) || items.length === 0) return false;
    return items.every((entry: unknown) => {
      const item = own(entry, "NotificationRequestItem");
      const amount = own(item, "amount");
      const fields = [
        ...["pspReference", "originalReference", "merchantAccountCode", "merchantReference"].map((name) =>
          own(item, name),
        ),
        own(amount, "value"),
        own(amount, "currency"),
        own(item, "eventCode"),
        own(item, "success"),
      ];
      const text = fields
        .map((field) => (["string", "number", "boolean"].includes(typeof field) ? String(field) : ""))
        .join(":");
      const signature = own(own(item, "additionalData"), "hmacSignature");
      const bytes = typeof signature === "string" ? base64Bytes(signature.trim()) : null;
      return bytes !== null && same(bytes, mac("sha256", Buffer.from(secret, "hex"), text));
    });
  };

function own(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}

function json(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(body));
  } catch {
    return null;
  }
}
