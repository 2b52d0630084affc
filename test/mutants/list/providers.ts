import { inFile, type Mutant } from "../mutant.ts";

const answers = inFile("src/providers/answers.ts");
const crypto = inFile("src/providers/crypto.ts");
const headers = inFile("src/providers/headers.ts");
const identify = inFile("src/providers/identify.ts");
const keyBytes = inFile("src/providers/key-bytes.ts");
const signatures = inFile("src/providers/signatures.ts");
const timestamps = inFile("src/providers/timestamps.ts");
const verify = inFile("src/providers/verify.ts");

/** Who sent a request, and what it is called. */
export const PROVIDER_MUTANTS: readonly Mutant[] = [
  timestamps(
    "I10",
    "if (Math.abs(ageMs) <= toleranceSeconds * 1000) return null;",
    "if (ageMs <= toleranceSeconds * 1000) return null;",
  ),
  signatures("I9", "const SIGNATURES_MAX = 16;", "const SIGNATURES_MAX = 1;"),
  crypto("P5", "difference |= (left[i] ?? 0) ^ (right[i] ?? 0)", "difference &= (left[i] ?? 0) ^ (right[i] ?? 0)"),
  keyBytes("P5", 'return nonEmpty(bytesFromHex(secret), "is not', 'return nonEmpty(utf8(secret), "is not'),
  verify("I7", ': unusable("the source has no live secret")', ': rejected("signature-mismatch")'),
  headers("I14", "for (const name of forwardHeaders) take", "for (const name of headers.keys()) take"),
  headers("I1", 'if (place.in === "header") return headers.has(placeName(place, source));', ""),
  identify("D8", "const ID_LENGTH_MAX = 200;", "const ID_LENGTH_MAX = 400;"),
  identify(
    "D1",
    "const named = ownId(row, source, parts) ?? providerId(row, parts);",
    "const named = providerId(row, parts) ?? ownId(row, source, parts);",
  ),
  identify("D7", "if (!namesOneSignedEvent || row.identity.severalItems)", "if (!namesOneSignedEvent)"),
  answers(
    "R3",
    "forSeconds >= AN_HOUR_SECONDS && afterOverLimit && !overLimitDisables",
    "forSeconds >= AN_HOUR_SECONDS && afterOverLimit",
  ),
];
