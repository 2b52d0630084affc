import type { Arrival, VerifySource } from "../arrival.ts";
import { cachedPublicKey, importPublicKey, verifyPublic } from "../crypto.ts";
import { rawP256Signature } from "../der.ts";
import { publicKeyLayout } from "../public-keys.ts";
import { remoteCertificate } from "../remote-keys.ts";
import type { RequestParts } from "../request-parts.ts";
import type { PublicKeyAlgorithm, PublicKeyScheme } from "../scheme.ts";
import { type Rejected, rejected, type Unusable, unusable, type Verdict } from "../verdict.ts";
import { conclude, messagesOf, needsReadyBody, prepare, readyBody } from "./templated.ts";

const ED25519_SIGNATURE_BYTES = 64;

/** Verifies a signature made with the provider's private key over a template. */
export async function verifyPublicKeyScheme(
  scheme: PublicKeyScheme,
  source: VerifySource,
  arrival: Arrival,
): Promise<Verdict> {
  const size = scheme.algorithm === "ed25519" ? ED25519_SIGNATURE_BYTES : null;
  const ready = needsReadyBody(scheme) ? await readyBody(scheme, arrival) : { arrival, bodySha256: null };
  if ("kind" in ready) return ready;
  const prepared = prepare(scheme, source, ready, size);
  if (prepared.kind === "rejected") return prepared;
  const algorithm = algorithmOf(scheme, prepared.parts);
  if (typeof algorithm !== "string") return algorithm;
  const keys = await configuredKeys(scheme, source, prepared.parts);
  if ("kind" in keys) return keys;
  const messages = messagesOf(prepared, source, "");
  if ("kind" in messages) return messages;

  let fault: string | null = null;
  for (const text of keys) {
    const key = await publicKey(algorithm, scheme.key, text);
    if (typeof key === "string") {
      fault = key;
      continue;
    }
    for (const candidate of prepared.candidates) {
      const signature = algorithm.startsWith("ecdsa") ? rawP256Signature(candidate) : candidate;
      if (signature === null) return rejected("malformed-signature", "not the DER of an ECDSA signature");
      for (const message of messages) {
        if (await verifyPublic(algorithm, key, signature, message)) return conclude(prepared, source);
      }
    }
  }
  return fault === null ? rejected("signature-mismatch") : unusable(`a public key ${fault}`);
}

/** The algorithm is the row's; where a request names it, only one of those that the row lists. */
function algorithmOf(scheme: PublicKeyScheme, parts: RequestParts): PublicKeyAlgorithm | Rejected {
  if (typeof scheme.algorithm === "string") return scheme.algorithm;
  const { by, is } = scheme.algorithm;
  const named = parts.text(by);
  const algorithm = named !== null && Object.hasOwn(is, named) ? is[named] : undefined;
  return algorithm ?? rejected("unsupported-algorithm", `${by} is not one of ${Object.keys(is).join(", ")}`);
}

/**
 * The configured keys, else the certificate at the address that the request names. The address must be the
 * provider's in any case: a request that names another one is forged.
 */
async function configuredKeys(
  scheme: PublicKeyScheme,
  source: VerifySource,
  parts: RequestParts,
): Promise<readonly string[] | Rejected | Unusable> {
  const { certificateFrom } = scheme;
  if (certificateFrom === undefined) return source.secrets;
  const url = parts.text(certificateFrom.ref);
  if (url === null || !new RegExp(`^(?:${certificateFrom.allowed})$`).test(url)) {
    return source.secrets.length > 0 && url === null
      ? source.secrets
      : rejected("untrusted-key-address", certificateFrom.ref);
  }
  if (source.secrets.length > 0) return source.secrets;
  const certificate = await remoteCertificate(url, parts.arrival.receivedAtMs);
  return certificate === null ? unusable("the provider's certificate cannot be fetched just now") : [certificate];
}

/** The key, or what is wrong with it. */
export async function publicKey(
  algorithm: PublicKeyAlgorithm,
  form: PublicKeyScheme["key"],
  text: string,
): Promise<CryptoKey | string> {
  const name = `${algorithm} ${form} ${text}`;
  const known = cachedPublicKey(name);
  if (known !== undefined) return known;
  const layout = publicKeyLayout(form, text);
  if (!layout.ok) return layout.detail ?? layout.reason;
  try {
    return await importPublicKey(name, algorithm, layout.value);
  } catch {
    return `is no key for ${algorithm}`;
  }
}
