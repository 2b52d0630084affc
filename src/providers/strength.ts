import { planOf } from "./families/plan.ts";
import type { Scheme } from "./scheme.ts";
import type { Strength } from "./verdict.ts";

/** What a good signature of this scheme proves; shown to the operator. */
export function strengthOf(scheme: Scheme): Strength {
  switch (scheme.kind) {
    case "hmac":
    case "digest":
    case "public-key":
      return planOf(scheme).genuine.strength;
    case "token":
    case "token-list":
      return "token";
    case "jwt":
      return scheme.bodyHash === undefined ? "origin" : "body";
  }
}

/** Whether every byte of the body is bound by the signature; a checksum does not bind it [D7]. */
export function signatureCoversBody(scheme: Scheme): boolean {
  const strength = strengthOf(scheme);
  if (strength !== "body" && strength !== "body-and-time") return false;
  return scheme.kind === "jwt" || !("signed" in scheme && scheme.signed.includes("{body-crc32}"));
}

export function signatureCoversHeader(scheme: Scheme, name: string): boolean {
  return "signed" in scheme && scheme.signed.includes(`{header:${name}}`);
}
