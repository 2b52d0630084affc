import type { LargeBody } from "./large-body.ts";

/**
 * How far an event's id can be trusted to tell two events apart [D1] [D7].
 *
 * - `signed`: the signature covers the id. A repeat with another body is still a duplicate, and is counted.
 * - `signed-changing-body`: as `signed`, and the provider's own retries change the body (Stripe): not counted.
 * - `unsigned`: anybody who holds one genuine request can send it under another id. Id and body digest are the key.
 * - `content`: there is no id; the key is the SHA-256 of the body and holds for `contentDedupeSeconds` only.
 */
export type IdTrust = "signed" | "signed-changing-body" | "unsigned" | "content";

/** Who an event is, as the provider's row reads it from a verified request. */
export interface Identity {
  /** `<source>:<provider's id>`, 1 … 200 visible ASCII characters after the colon [D8]. */
  readonly eventId: string;
  readonly trust: IdTrust;
  /** The provider's own name of what happened (`invoice.paid`), where it has one. */
  readonly type: string | null;
}

/** Kept request headers, names in lower case [I14]. */
export type KeptHeaders = Readonly<Record<string, string>>;

/** What the log knows of an event without touching its bytes. */
export interface EventMeta {
  readonly seq: number;
  readonly eventId: string;
  readonly source: string;
  readonly provider: string;
  readonly type: string | null;
  readonly receivedAtMs: number;
  readonly contentType: string | null;
  readonly headers: KeptHeaders;
  readonly bodySizeBytes: number;
  /** How often the request passed through a Spillway before it came here [V17]. */
  readonly hops: number;
}

/** An event with its exact bytes; those of a large event are read piece by piece [V25]. */
export interface StoredEvent extends EventMeta {
  readonly body: Uint8Array | LargeBody;
}
