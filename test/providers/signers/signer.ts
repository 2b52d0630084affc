import { createHmac } from "node:crypto";

/** A request as a provider would send it, signed with nothing but `node:crypto`. */
export interface SignedRequest {
  readonly headers: Readonly<Record<string, string>>;
  /** Where the signature changes the address or the body. */
  readonly url?: string;
  readonly body?: Uint8Array;
}

export interface Plain {
  readonly body: Uint8Array;
  readonly url: string;
  readonly seconds: number;
}

/**
 * How one provider signs, written from its documentation and not from the table: it and the table must agree.
 */
export interface Signer {
  readonly secret: string;
  /** Another secret of the same form. */
  readonly otherSecret: string;
  /** What the operator configures for a secret; the secret itself where it is shared. */
  readonly configured?: (secret: string) => string;
  readonly params?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** `any`: every byte string can be signed. `form`, `json`: the signature needs a body of that kind. */
  readonly bodies: "any" | "form" | "json";
  /** The header, in lower case, without which nothing is proven; `null`: the proof is elsewhere. */
  readonly header: string | null;
  sign(secret: string, request: Plain): SignedRequest;
}

export type Hash = "sha1" | "sha256" | "sha512";

export const SECRET = "fixture secret of the provider tests";
export const OTHER_SECRET = "another secret of the provider tests";
export const SAMPLE_BODY = '{"id":"evt_sample_1","type":"thing.happened","data":{"n":1}}';

export function mac(hash: Hash, key: string | Uint8Array, ...parts: readonly (string | Uint8Array)[]): Buffer {
  const hmac = createHmac(hash, key);
  for (const part of parts) hmac.update(part);
  return hmac.digest();
}

/** The body alone, signed in one header. */
export function bodySigner(
  header: string,
  encoding: "hex" | "base64",
  other: { readonly prefix?: string; readonly hash?: Hash; readonly key?: "hex" | "base64" } = {},
): Signer {
  const { prefix = "", hash = "sha256", key } = other;
  const secrets =
    key === undefined ? [SECRET, OTHER_SECRET] : [SECRET, OTHER_SECRET].map((text) => Buffer.from(text).toString(key));
  return {
    secret: secrets[0] ?? "",
    otherSecret: secrets[1] ?? "",
    bodies: "any",
    header,
    sign(secret, { body }) {
      const material = key === undefined ? secret : Buffer.from(secret, key);
      return { headers: { [header]: prefix + mac(hash, material, body).toString(encoding) } };
    },
  };
}

/** Time and body, signed in one header of the form `t=…,v1=…`. */
export function listSigner(
  header: string,
  other: {
    readonly write?: (time: string, signature: Buffer) => string;
    readonly join?: string;
    readonly unit?: "s" | "ms";
  } = {},
): Signer {
  const { write = (time, signature) => `t=${time},v1=${signature.toString("hex")}`, join = ".", unit = "s" } = other;
  return {
    secret: SECRET,
    otherSecret: OTHER_SECRET,
    bodies: "any",
    header,
    sign(secret, { body, seconds }) {
      const time = String(unit === "s" ? seconds : seconds * 1000);
      return { headers: { [header]: write(time, mac("sha256", secret, `${time}${join}`, body)) } };
    },
  };
}

/** Time and body, signed in one header with the time in another one. */
export function twoHeaderSigner(
  header: string,
  timeHeader: string,
  write: (time: string, sign: (...parts: readonly (string | Uint8Array)[]) => Buffer, body: Uint8Array) => string,
  timeText: (seconds: number) => string = String,
): Signer {
  return {
    secret: SECRET,
    otherSecret: OTHER_SECRET,
    bodies: "any",
    header,
    sign(secret, { body, seconds }) {
      const time = timeText(seconds);
      const signature = write(time, (...parts) => mac("sha256", secret, ...parts), body);
      return { headers: { [header]: signature, [timeHeader]: time } };
    },
  };
}

export const milliseconds = (seconds: number): string => String(seconds * 1000);
export const iso = (seconds: number): string => new Date(seconds * 1000).toISOString();

/** The three headers of Standard Webhooks. */
export function standardSigner(
  prefix: "webhook" | "svix" = "webhook",
  key: "whsec" | "utf8" | "base64" = "whsec",
): Signer {
  const write = (text: string): string =>
    key === "utf8" ? text : (key === "whsec" ? "whsec_" : "") + Buffer.from(text).toString("base64");
  return {
    secret: write(SECRET),
    otherSecret: write(OTHER_SECRET),
    bodies: "any",
    header: `${prefix}-signature`,
    sign(secret, { body, seconds }) {
      const material = key === "utf8" ? secret : Buffer.from(secret.replace(/^whsec_/, ""), "base64");
      const signature = mac("sha256", material, `msg_sample_1.${seconds}.`, body).toString("base64");
      return {
        headers: {
          [`${prefix}-id`]: "msg_sample_1",
          [`${prefix}-timestamp`]: String(seconds),
          [`${prefix}-signature`]: `v1,${signature}`,
        },
      };
    },
  };
}

/** The secret itself, in a header. */
export function tokenSigner(header: string, write: (secret: string) => string = (secret) => secret): Signer {
  return {
    secret: SECRET,
    otherSecret: OTHER_SECRET,
    bodies: "any",
    header,
    sign: (secret) => ({ headers: { [header]: write(secret) } }),
  };
}

export const basic = (secret: string): string => `Basic ${Buffer.from(secret).toString("base64")}`;
