/** Why a request was turned away: for the log and the operator, never for the sender [I6]. */
export type RejectionReason =
  | "missing-signature"
  | "malformed-signature"
  | "signature-mismatch"
  | "missing-timestamp"
  | "malformed-timestamp"
  | "timestamp-too-old"
  | "timestamp-in-future"
  /** A header, field or claim that the signature covers is not there. */
  | "missing-signed-part"
  /** The signature is inside the body, and the body cannot be read. */
  | "malformed-body"
  | "body-hash-mismatch"
  | "missing-token"
  | "wrong-token"
  | "wrong-claim"
  | "unsupported-algorithm"
  | "unknown-key"
  /** The request names a key at an address that is not the provider's. */
  | "untrusted-key-address"
  /** The provider hands over the secret, and has not done so yet [I7]. */
  | "awaiting-secret";

/** What a good signature proves, weakest last. */
export type Strength = "body-and-time" | "body" | "fields" | "origin" | "token";

export type Verdict =
  | { readonly kind: "genuine"; readonly strength: Strength }
  | { readonly kind: "rejected"; readonly reason: RejectionReason; readonly evidence?: string }
  /** Our fault: no secret, or none that can be used. Answered 503, never 401 [I7]. */
  | { readonly kind: "unusable"; readonly detail: string };

export type Rejected = Extract<Verdict, { kind: "rejected" }>;
export type Unusable = Extract<Verdict, { kind: "unusable" }>;

export function rejected(reason: RejectionReason, evidence?: string): Rejected {
  return evidence === undefined ? { kind: "rejected", reason } : { kind: "rejected", reason, evidence };
}

export function unusable(detail: string): Unusable {
  return { kind: "unusable", detail };
}
