import { unreachable } from "../core/assert.ts";
import type { Arrival, VerifySource } from "./arrival.ts";
import { verifyDigestScheme } from "./families/digest.ts";
import { verifyHmacScheme } from "./families/hmac.ts";
import { verifyJwtScheme } from "./families/jwt.ts";
import { verifyPublicKeyScheme } from "./families/public-key.ts";
import { verifyTokenList, verifyTokenScheme } from "./families/token.ts";
import type { ProviderRow } from "./row.ts";
import { secretIsHandedOver, secretIsNeeded } from "./secret.ts";
import { rejected, unusable, type Verdict } from "./verdict.ts";

export type { Arrival, VerifySource } from "./arrival.ts";
export type { RejectionReason, Strength, Verdict } from "./verdict.ts";

/**
 * Whether a request comes from the source's provider, and unaltered. Every kind of bad input is a rejection; never
 * throws for what a sender wrote. `unusable` is our own fault and must be answered 503 [I7].
 */
export function verify(row: ProviderRow, source: VerifySource, arrival: Arrival): Promise<Verdict> {
  const { scheme } = row;
  if (source.secrets.length === 0 && secretIsNeeded(row)) {
    return Promise.resolve(
      secretIsHandedOver(row) ? rejected("awaiting-secret") : unusable("the source has no live secret"),
    );
  }
  switch (scheme.kind) {
    case "hmac":
      return verifyHmacScheme(scheme, source, arrival);
    case "digest":
      return verifyDigestScheme(scheme, source, arrival);
    case "token":
      return verifyTokenScheme(scheme, source, arrival);
    case "token-list":
      return verifyTokenList(scheme, source, arrival);
    case "public-key":
      return verifyPublicKeyScheme(scheme, source, arrival);
    case "jwt":
      return verifyJwtScheme(scheme, source, arrival);
    default:
      return unreachable(scheme);
  }
}
