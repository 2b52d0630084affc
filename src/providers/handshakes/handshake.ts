import type { Ref } from "../refs.ts";
import type { Hash, KeyForm } from "../scheme.ts";

/**
 * How a provider makes sure of an address before or while it uses it [P3]. What comes back to the sender is at most
 * 1 KB of the provider's own alphabet; where the protocol signs the question, only a signed one is answered.
 *
 * `alphabet` is a character class (`A-Za-z0-9_-`); a challenge with any other character is not answered.
 */
export type Handshake =
  | EchoQuery
  | VerifyToken
  | EchoJson
  | EchoHeader
  | HmacJson
  | HmacQuery
  | DigestQuery
  | Ping
  | StoreSecret
  | ConfirmSubscription
  | Probe
  | AllowOrigin
  | UnsignedPing;

/** A parameter of the URL comes back as plain text (Dropbox, Microsoft Graph). */
export interface EchoQuery {
  readonly kind: "echo-query";
  readonly method: "GET" | "POST";
  readonly param: string;
  readonly alphabet: string;
}

/** A parameter of the URL comes back where another one is the source's verify token (Meta). */
export interface VerifyToken {
  readonly kind: "verify-token";
  readonly mode?: { readonly param: string; readonly is: string };
  readonly token: string;
  readonly challenge: string;
  readonly alphabet: string;
  /** The answer as JSON under this name; else as plain text. */
  readonly json?: string;
}

/** A value of the JSON body comes back (Slack, monday, Twitch). */
export interface EchoJson {
  readonly kind: "echo-json";
  /** `none` only where the provider cannot sign the question. */
  readonly proof: "signature" | "none";
  readonly when?: { readonly ref: Ref; readonly is: string };
  readonly challenge: Ref;
  readonly alphabet: string;
  /** The answer as JSON under this name; else as plain text. */
  readonly json?: string;
}

/** A header comes back, in JSON or in a header (Okta by GET, Front and RingCentral by POST). */
export interface EchoHeader {
  readonly kind: "echo-header";
  readonly method: "GET" | "POST";
  readonly header: string;
  readonly alphabet: string;
  readonly answer: { readonly json: string } | { readonly header: string };
}

/** A signed question holds a text; its HMAC, and with `plain` the text too, come back as JSON (Zoom, Smartcar). */
export interface HmacJson {
  readonly kind: "hmac-json";
  readonly when: { readonly ref: Ref; readonly is: string };
  readonly challenge: Ref;
  readonly alphabet: string;
  readonly lengthMax: number;
  readonly json: { readonly plain?: string; readonly hmac: string };
}

/** A parameter of the URL is answered with its HMAC (X, Braintree, LinkedIn). */
export interface HmacQuery {
  readonly kind: "hmac-query";
  readonly param: string;
  readonly alphabet: string;
  readonly lengthMin: number;
  readonly lengthMax: number;
  readonly hash: Hash;
  readonly key: KeyForm;
  readonly encoding: "hex" | "base64";
  /** `prefix` stands before the HMAC; the answer is JSON under `json`, or text after the value of `nameParam` and `|`. */
  readonly answer:
    | { readonly json: string; readonly prefix: string; readonly plain?: string }
    | { readonly nameParam: string };
}

/** A parameter of the URL is answered with the SHA-256 of it, the verify token and the registered URL (eBay). */
export interface DigestQuery {
  readonly kind: "digest-query";
  readonly param: string;
  readonly alphabet: string;
  readonly json: string;
}

/** A signed question without a challenge (Discord). */
export interface Ping {
  readonly kind: "ping";
  readonly when: { readonly ref: Ref; readonly is: string };
  readonly answer: { readonly status: 200 | 204; readonly json?: Readonly<Record<string, string | number>> };
}

/** The provider hands over the signing secret, once, in an open window (Asana, Notion) [I7]. */
export interface StoreSecret {
  readonly kind: "store-secret";
  readonly from: Ref;
  readonly alphabet: string;
  /** The secret comes back in the header of the same name. */
  readonly echoHeader?: string;
}

/** A signed message names an address that must be fetched (AWS SNS). */
export interface ConfirmSubscription {
  readonly kind: "confirm-subscription";
  readonly when: { readonly ref: Ref; readonly is: string };
  readonly url: Ref;
  /** A regular expression that the whole address must match. */
  readonly allowed: string;
}

/** The address only has to answer (Trello, Mailchimp). */
export interface Probe {
  readonly kind: "probe";
  readonly methods: readonly ("HEAD" | "GET")[];
}

/** CloudEvents' abuse protection: the sender asks which origin may send. */
export interface AllowOrigin {
  readonly kind: "allow-origin";
}

/** An unsigned first request of a fixed form that carries nothing (WooCommerce). */
export interface UnsignedPing {
  readonly kind: "unsigned-ping";
  readonly contentType: string;
  /** A regular expression that the whole body must match. */
  readonly body: string;
}
