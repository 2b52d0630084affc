import type { Ref } from "../refs.ts";
import type { AnswerFacts, IdChoice, IdentityFacts, RetryFacts } from "../row.ts";
import type { HmacScheme } from "../scheme.ts";

/** Forms that many rows share, so that a row says only what is its own. */

export const HOUR_SECONDS = 3_600;
export const DAY_SECONDS = 24 * HOUR_SECONDS;

/** The product's own answers [I11]: 202 when stored, with a small JSON body. For senders that take any 2xx. */
export const ANY_2XX: AnswerFacts = { success: { status: 202, body: "status" }, overLimitStatus: 429 };
/** For senders that know only 200. */
export const ONLY_200: AnswerFacts = { success: { status: 200, body: "status" }, overLimitStatus: 429 };
/** For senders that know only 200 and read the body, or are known to dislike one. */
export const EMPTY_200: AnswerFacts = { success: { status: 200, body: "none" }, overLimitStatus: 429 };

/** The same answers to a sender that takes a 4xx for final or holds it against the hook: over the limit is 503. */
export function never4xx(answer: AnswerFacts): AnswerFacts {
  return { ...answer, overLimitStatus: 503 };
}

/** A sender that tries again after any failure, and disables nothing. */
export function retriesFor(forSeconds: number, tries: number | null = null): RetryFacts {
  return { forSeconds, tries, afterOverLimit: true, disables: null, overLimitDisables: false, is: "published" };
}

/** A sender that tries again after any failure, and switches the hook off when they do not end. */
export function retriesThenDisables(forSeconds: number, disables: string, tries: number | null = null): RetryFacts {
  return { forSeconds, tries, afterOverLimit: true, disables, overLimitDisables: true, is: "published" };
}

/** A sender that gives each event one try. */
export const NEVER_RETRIES: RetryFacts = {
  forSeconds: 0,
  tries: 0,
  afterOverLimit: false,
  disables: null,
  overLimitDisables: false,
  is: "published",
};

/** Nothing is published: taken as if it never came back, which loses nothing. */
export const RETRIES_UNKNOWN: RetryFacts = { ...NEVER_RETRIES, tries: null, is: "assumed" };

/** HMAC over the raw body in one header. */
export function bodyHmac(
  header: string,
  encoding: HmacScheme["signature"]["encoding"],
  other: { readonly prefix?: string; readonly hash?: HmacScheme["hash"]; readonly key?: HmacScheme["key"] } = {},
): HmacScheme {
  const { prefix, hash = "SHA-256", key = "utf8" } = other;
  const signature = { from: `header:${header}`, encoding } as const;
  return {
    kind: "hmac",
    hash,
    key,
    signature: prefix === undefined ? signature : { ...signature, prefix },
    signed: "{body}",
  };
}

/** The Stripe construction: `t=…,v1=…` in one header, hex HMAC over `{time}.{body}`. */
export function timedHmac(
  header: string,
  other: {
    readonly time?: string;
    readonly key?: string;
    readonly separator?: string;
    readonly unit?: "seconds" | "milliseconds";
    readonly toleranceSeconds?: number | null;
    readonly encoding?: HmacScheme["signature"]["encoding"];
    readonly signed?: string;
  } = {},
): HmacScheme {
  const { toleranceSeconds = 300, unit = "seconds", encoding = "hex" } = other;
  return {
    kind: "hmac",
    hash: "SHA-256",
    key: "utf8",
    signature: {
      from: `header:${header}`,
      encoding,
      list: { separator: other.separator ?? ",", equals: "=", key: other.key ?? "v1" },
    },
    time: { from: `field:${other.time ?? "t"}`, unit, toleranceSeconds },
    signed: other.signed ?? "{time}.{body}",
  };
}

/** Standard Webhooks, with the names of its three headers: `webhook-`, `svix-`, … */
export function standardWebhooks(prefix = "webhook", key: HmacScheme["key"] = "whsec"): HmacScheme {
  return {
    kind: "hmac",
    hash: "SHA-256",
    key,
    signature: {
      from: `header:${prefix}-signature`,
      encoding: "base64",
      list: { separator: " ", equals: ",", key: "v1" },
    },
    time: { from: `header:${prefix}-timestamp`, unit: "seconds", toleranceSeconds: 300 },
    requires: [`header:${prefix}-id`],
    signed: `{header:${prefix}-id}.{time}.{body}`,
  };
}

type Types = IdentityFacts["types"];

/** The event's name is inside what is signed, and names one event. */
export function signedId(from: IdChoice["from"], types: Types = []): IdentityFacts {
  return { ids: [{ from, key: "event" }], types, severalItems: false, retriesChangeBody: false };
}

/** The event's name is not signed, or several events share it: it counts together with the body's digest [D7]. */
export function idWithBody(from: IdChoice["from"], types: Types = []): IdentityFacts {
  return { ids: [{ from, key: "with-body" }], types, severalItems: false, retriesChangeBody: false };
}

/** The provider does not name its events. */
export function noId(types: Types = []): IdentityFacts {
  return { ids: [], types, severalItems: false, retriesChangeBody: false };
}

/** One request carries several events; the first one's name and the body's digest together are the key. */
export function severalItems(firstId: Ref | null, types: Types = []): IdentityFacts {
  const ids: IdChoice[] = firstId === null ? [] : [{ from: firstId, key: "with-body" }];
  return { ids, types, severalItems: true, retriesChangeBody: false };
}
