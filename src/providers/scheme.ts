import type { Ref } from "./refs.ts";

/** How a request of a provider is proven: one of the families [P2]. */
export type Scheme = HmacScheme | DigestScheme | PublicKeyScheme | TokenScheme | TokenListScheme | JwtScheme;

export type Hash = "SHA-1" | "SHA-256" | "SHA-384" | "SHA-512";

/**
 * How the secret, as the provider shows it, becomes the bytes of the key.
 * `whsec`: base64 after an optional `whsec_`; `whsec-or-utf8`: base64 only after `whsec_`, else the text itself;
 * `sha1`: the SHA-1 of the text.
 */
export type KeyForm = "utf8" | "base64" | "hex" | "whsec" | "whsec-or-utf8" | "sha1";

export type Encoding = "hex" | "base64" | "base64url" | "base64-of-hex";

export interface SignatureForm {
  /** One place, several (each is tried), or `headers:x-signature-*` for numbered headers. */
  readonly from: Ref | `headers:${string}*` | readonly Ref[];
  /** `base64-of-hex`: the hex digits, as text, in base64 (Solidgate). */
  readonly encoding: Encoding;
  /** Stands before each signature (`sha256=`). */
  readonly prefix?: string;
  /**
   * The text is a list of entries, each a key and a value; those with this key are signatures, the others are
   * skipped or read as `field:`. With `key: "*"` every entry is one, whatever its key. Each character of `separator`
   * separates.
   */
  readonly list?: { readonly separator: string; readonly equals: string; readonly key: string };
  /** With `key: "*"`: entries whose key is another than this parameter's value are skipped. */
  readonly keyIs?: `param:${string}`;
}

export interface TimeForm {
  readonly from: Ref;
  /** `rfc3339` also takes times without a zone, as UTC. The unit is never guessed from the size. */
  readonly unit: "seconds" | "milliseconds" | "rfc3339";
  /** How far the time may be from the receipt, in either direction [I10]; `null`: the provider sets no limit. */
  readonly toleranceSeconds: number | null;
}

/**
 * What is signed: text with parts in braces.
 *
 * `{body}` the exact bytes · `{time}` the timestamp as it was sent · `{method}` · `{url}` the registered URL ·
 * `{url-decoded}` the same with the escapes that HubSpot undoes · `{path}` path and query of the URL ·
 * `{form-sorted}` names and values of the form, sorted by name · `{body-sha256}` hex · `{body-crc32}` decimal ·
 * `{secret}` · `{signed-headers:h}` the lines of the headers that header `h` names · `{field-headers:h}` the values of
 * the headers that field `h` names, joined by dots · `{line:/Key}` the key and its value on a line each, nothing
 * where it is missing · any reference, which must be there unless it ends in `?`.
 */
export type Signed = string;

interface Templated {
  readonly signed: Signed;
  /** Used instead of `signed` where the URL has this parameter, which must then be the body's hex SHA-256. */
  readonly signedWithBodyHash?: { readonly query: string; readonly signed: Signed };
  readonly signature: SignatureForm;
  readonly time?: TimeForm;
  /** Must be there and not empty, though a template may not name them. */
  readonly requires?: readonly Ref[];
  /** Values of the request that must equal a parameter of the source where it is given. */
  readonly paramIs?: Readonly<Record<string, string>>;
  /** The forms of the URL that are tried: with and without its port, and with `'` escaped or not. */
  readonly urlForms?: "with-ports";
  /** What is signed is the body before it was compressed; it is decompressed, bounded, to be verified [I3]. */
  readonly signsUncompressed?: true;
  /** The sender may have signed the body with everything beyond ASCII written as `\uXXXX`. */
  readonly orEscapedBody?: true;
}

/** An HMAC over a template. */
export interface HmacScheme extends Templated {
  readonly kind: "hmac";
  readonly hash: Hash;
  readonly key: KeyForm;
  /** Every element of this array is signed on its own; `object` leads from the element to what `item:` reads. */
  readonly items?: { readonly list: `/${string}`; readonly object: string };
}

/** A plain hash over a template that contains `{secret}`. */
export interface DigestScheme extends Templated {
  readonly kind: "digest";
  readonly hash: Hash;
}

export type PublicKeyAlgorithm =
  | "ed25519"
  | "ecdsa-p256-sha256"
  | "ecdsa-p256-sha1"
  | "rsa-sha1"
  | "rsa-sha256"
  | "rsa-sha512";

/** A signature with the provider's private key over a template. */
export interface PublicKeyScheme extends Templated {
  readonly kind: "public-key";
  readonly algorithm:
    | PublicKeyAlgorithm
    | { readonly by: Ref; readonly is: Readonly<Record<string, PublicKeyAlgorithm>> };
  /** How the configured key is written: raw bytes of an Ed25519 key, or PEM, base64 DER or JWK of any. */
  readonly key: "raw-hex" | "raw-base64" | "public-key";
  /** The address of the certificate, which the request names; used where no key is configured, checked always. */
  readonly certificateFrom?: { readonly ref: Ref; readonly allowed: string };
}

/** A shared secret that the request shows as it is. */
export interface TokenScheme {
  readonly kind: "token";
  readonly places: readonly TokenPlace[];
}

export type TokenPlace =
  /** `nameParam`: the operator may name another header or parameter in `params`. */
  | { readonly in: "header"; readonly name: string; readonly nameParam?: string; readonly prefix?: string }
  | { readonly in: "query"; readonly name: string; readonly nameParam?: string }
  | { readonly in: "bearer" }
  /** The secret is `user:password`. */
  | { readonly in: "basic" }
  /** A value inside the body. */
  | { readonly in: "body"; readonly ref: Ref };

/** Every element of an array in the body shows the secret. */
export interface TokenListScheme {
  readonly kind: "token-list";
  readonly list: `/${string}`;
  readonly token: `/${string}`;
}

/** A signed JWT, which may bind the body by a hash. */
export interface JwtScheme {
  readonly kind: "jwt";
  readonly from: Ref;
  /** Stands before the token (`Bearer `). */
  readonly prefix?: string;
  readonly algorithm: "HS256" | "HS512" | "RS256" | "ES256";
  readonly issuers?: readonly string[];
  /** Claims that must equal a value of the source's `params` where that is given. */
  readonly claimsFromParams?: Readonly<Record<string, string>>;
  readonly claims?: Readonly<Record<string, string | boolean>>;
  readonly bodyHash?: {
    readonly claim: string;
    readonly hash: "SHA-256" | "SHA-512";
    readonly encoding: Encoding;
  };
  /** `exp` must be there. Where it is there, it is always checked. */
  readonly expires?: boolean;
  /** `iat` must be there and not be further away than this. */
  readonly issuedWithinSeconds?: number;
  /** Where public keys come from when none is configured. */
  readonly keysFrom?: RemoteKeys;
}

export type RemoteKeys =
  | { readonly kind: "jwks"; readonly url: string }
  /** Plaid's authenticated call; needs `params.clientId` and `params.secret`. */
  | { readonly kind: "plaid" };
