import type { Handshake } from "./handshakes/handshake.ts";
import type { Ref } from "./refs.ts";
import type { Scheme } from "./scheme.ts";

/**
 * One provider, as data [P1]. A row says how its requests are proven, how its events are named, what it must hear
 * back, and how it behaves when it does not hear it. `schema.ts` refuses a row that leaves any of this out.
 */
export interface ProviderRow {
  /** What the operator writes in `provider`. */
  readonly name: string;
  readonly title: string;
  /** The page the facts come from. */
  readonly page: string;
  /** What the row relies on where the page does not say it, and anything an operator should know. */
  readonly note?: string;
  /** Where an operator adds the webhook at the provider, and what to copy from there. */
  readonly setup: { readonly addAt: string; readonly secret: string };
  readonly scheme: Scheme;
  /** What the source's `params` may hold. */
  readonly params?: readonly ParamFact[];
  readonly identity: IdentityFacts;
  /** Further headers to keep with the event [I14]; those of `identity` and of the timestamp are kept anyway. */
  readonly keep?: readonly string[];
  readonly handshakes: readonly Handshake[];
  readonly answer: AnswerFacts;
  /** How long the sender waits for an answer, in milliseconds. */
  readonly timeLimitMs: number;
  /** Whether the provider publishes its time limit, or it is assumed. */
  readonly timeLimitIs: "published" | "assumed";
  readonly retry: RetryFacts;
}

interface ParamFact {
  readonly name: string;
  /** `without-secret`: needed where the keys are fetched, since a fetched key signs for every customer. */
  readonly needed: "always" | "without-secret" | "never";
  readonly about: string;
}

/** How an event is named [D1] [D7]. */
export interface IdentityFacts {
  /** In order of preference; none: the body's digest. */
  readonly ids: readonly IdChoice[];
  /** What happened; each choice may be joined from several parts with a dot. The first that is there counts. */
  readonly types: readonly (Ref | readonly Ref[])[];
  /** Requests of this provider carry several items: id and body digest together are always the key. */
  readonly severalItems: boolean;
  /** The provider's own retries are not byte for byte what it sent first. */
  readonly retriesChangeBody: boolean;
}

export interface IdChoice {
  /** One value, or several joined with `:`; every part must be there unless it ends in `?`. */
  readonly from: Ref | readonly (Ref | `${Ref}?`)[];
  /**
   * `event`: the signature covers the id, and the id names one event: it alone is the key.
   * `with-body`: the signature does not cover it, or several events share it: id and body digest together.
   */
  readonly key: "event" | "with-body";
}

/** The form of the answers [P4]. */
export interface AnswerFacts {
  readonly success: {
    readonly status: 200 | 202 | 204;
    /** `status`: the small JSON of [I11]; `none`: no bytes; else this text. */
    readonly body: "status" | "none" | { readonly text: string; readonly contentType: string };
  };
  /** Over the rate limit: 429, or 503 where the sender gives up or switches the hook off at a 4xx. */
  readonly overLimitStatus: 429 | 503;
}

/** What the sender does when it does not hear success. */
export interface RetryFacts {
  /** From the first try to the last one, in seconds; 0: it never tries again. */
  readonly forSeconds: number;
  /** How many times it tries again; `null`: not published. */
  readonly tries: number | null;
  /** Whether an answer of `overLimitStatus` makes it try again. */
  readonly afterOverLimit: boolean;
  /** What makes it switch the hook off, in words; `null`: nothing known. */
  readonly disables: string | null;
  /** Whether answers of `overLimitStatus` count towards that. */
  readonly overLimitDisables: boolean;
  readonly is: "published" | "assumed";
}
