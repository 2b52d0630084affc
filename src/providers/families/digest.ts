import type { Arrival, VerifySource } from "../arrival.ts";
import { digest, digestSizeBytes, equalDigests } from "../crypto.ts";
import type { DigestScheme } from "../scheme.ts";
import { rejected, type Verdict } from "../verdict.ts";
import { conclude, messagesOf, needsReadyBody, prepare, readyBody } from "./templated.ts";

/** Verifies a plain hash over a template that contains the secret. */
export async function verifyDigestScheme(
  scheme: DigestScheme,
  source: VerifySource,
  arrival: Arrival,
): Promise<Verdict> {
  const ready = needsReadyBody(scheme) ? await readyBody(scheme, arrival) : { arrival, bodySha256: null };
  if ("kind" in ready) return ready;
  const prepared = prepare(scheme, source, ready, digestSizeBytes(scheme.hash));
  if (prepared.kind === "rejected") return prepared;
  for (const secret of source.secrets) {
    const messages = messagesOf(prepared, source, secret);
    if ("kind" in messages) return messages;
    for (const message of messages) {
      const expected = await digest(scheme.hash, message);
      for (const candidate of prepared.candidates) {
        if (equalDigests(expected, candidate)) return conclude(prepared, source);
      }
    }
  }
  return rejected("signature-mismatch");
}
