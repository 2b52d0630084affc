import type { Arrival, VerifySource } from "../arrival.ts";
import { cachedKey, digest, digestSizeBytes, equalDigests, hmac, importHmacKey, verifyHmac } from "../crypto.ts";
import { keyBytes } from "../key-bytes.ts";
import { pointerTokens } from "../refs.ts";
import { RequestParts } from "../request-parts.ts";
import type { Hash, HmacScheme, KeyForm } from "../scheme.ts";
import { rejected, unusable, type Verdict } from "../verdict.ts";
import { prepare } from "./templated.ts";

const ITEMS_MAX = 1_000;

/** Verifies an HMAC over a template, or over every item of the body. */
export function verifyHmacScheme(scheme: HmacScheme, source: VerifySource, arrival: Arrival): Promise<Verdict> {
  return scheme.items === undefined
    ? verifyOne(scheme, source, arrival)
    : verifyItems(scheme, source, arrival, scheme.items);
}

async function verifyOne(
  scheme: HmacScheme,
  source: VerifySource,
  arrival: Arrival,
  shared?: { readonly parts: RequestParts; readonly item: readonly string[] },
): Promise<Verdict> {
  const prepared = await prepare(scheme, source, arrival, digestSizeBytes(scheme.hash), shared);
  if (prepared.kind === "rejected") return prepared;
  const messages = prepared.messages("");
  if ("kind" in messages) return messages;
  let fault: string | null = null;
  for (const secret of source.secrets) {
    const key = cachedKey(keyName(scheme.hash, scheme.key, secret)) ?? (await hmacKey(scheme.hash, scheme.key, secret));
    if (typeof key === "string") {
      fault = key;
      continue;
    }
    for (const message of messages) {
      if (await isAmong(key, prepared.candidates, message)) return prepared.conclude();
    }
  }
  // A genuine request may be among those refused here: the fault is ours, and the sender must try again [I7].
  return fault === null ? rejected("signature-mismatch") : unusable(`a secret ${fault}`);
}

/** An empty list proves nothing, and one bad item spoils the request: items are not delivered one by one. */
async function verifyItems(
  scheme: HmacScheme,
  source: VerifySource,
  arrival: Arrival,
  items: NonNullable<HmacScheme["items"]>,
): Promise<Verdict> {
  const parts = new RequestParts(arrival, source);
  const listTokens = pointerTokens(items.list) ?? [];
  const list = parts.json?.at(listTokens) ?? null;
  if (list === null || list.kind !== "array") return rejected("malformed-body", `no array at ${items.list}`);
  if (list.length === 0) return rejected("missing-signature", `no items in ${items.list}`);
  if (list.length > ITEMS_MAX) return rejected("malformed-body", `more than ${ITEMS_MAX} items`);
  const objectTokens = pointerTokens(items.object) ?? [];
  let verdict: Verdict = rejected("missing-signature");
  for (let index = 0; index < list.length; index++) {
    const item = [...listTokens, String(index), ...objectTokens];
    verdict = await verifyOne(scheme, source, arrival, { parts, item });
    if (verdict.kind !== "genuine") {
      return verdict.kind === "rejected" ? rejected(verdict.reason, `item ${index} of ${list.length}`) : verdict;
    }
  }
  return verdict;
}

/** One signature is left to WebCrypto; of several the HMAC is computed once and compared with each [I9]. */
async function isAmong(
  key: CryptoKey,
  candidates: readonly Uint8Array<ArrayBuffer>[],
  message: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  const [first] = candidates;
  if (first !== undefined && candidates.length === 1) return verifyHmac(key, first, message);
  const expected = await hmac(key, message);
  let found = false;
  for (const candidate of candidates) found = equalDigests(expected, candidate) || found;
  return found;
}

function keyName(hash: Hash, form: KeyForm, secret: string): string {
  return `${hash} ${form} ${secret}`;
}

/** The key for a secret, or what is wrong with the secret. */
export async function hmacKey(hash: Hash, form: KeyForm, secret: string): Promise<CryptoKey | string> {
  const name = keyName(hash, form, secret);
  const known = cachedKey(name);
  if (known !== undefined) return known;
  const bytes = keyBytes(form, secret);
  if (!bytes.ok) return bytes.detail ?? bytes.reason;
  const material = form === "sha1" ? await digest("SHA-1", bytes.value) : bytes.value;
  return importHmacKey(name, hash, material);
}
