import type { Arrival, VerifySource } from "../arrival.ts";
import { digest, digestSizeBytes, equalDigests, hmac, hmacKeys, importHmacKey, verifyHmac } from "../crypto.ts";
import { keyBytes } from "../key-bytes.ts";
import { pointerTokens } from "../refs.ts";
import { RequestParts } from "../request-parts.ts";
import type { Hash, HmacScheme, KeyForm } from "../scheme.ts";
import { rejected, unusable, type Verdict } from "../verdict.ts";
import { verifyQuickly } from "./hmac-quick.ts";
import { conclude, type Item, messagesOf, needsReadyBody, prepare, type ReadyBody, readyBody } from "./templated.ts";

const ITEMS_MAX = 1_000;

/** Verifies an HMAC over a template, or over every item of the body. */
export function verifyHmacScheme(scheme: HmacScheme, source: VerifySource, arrival: Arrival): Promise<Verdict> {
  return verifyQuickly(scheme, source, arrival) ?? verifySlowly(scheme, source, arrival);
}

function verifySlowly(scheme: HmacScheme, source: VerifySource, arrival: Arrival): Promise<Verdict> {
  if (scheme.items !== undefined) return verifyItems(scheme, source, arrival, scheme.items);
  if (needsReadyBody(scheme)) return verifyReady(scheme, source, arrival);
  return verifyOne(scheme, source, { arrival, bodySha256: null });
}

async function verifyReady(scheme: HmacScheme, source: VerifySource, arrival: Arrival): Promise<Verdict> {
  const ready = await readyBody(scheme, arrival);
  return "kind" in ready ? ready : verifyOne(scheme, source, ready);
}

async function verifyOne(scheme: HmacScheme, source: VerifySource, body: ReadyBody, item?: Item): Promise<Verdict> {
  const prepared = prepare(scheme, source, body, digestSizeBytes(scheme.hash), item);
  if (prepared.kind === "rejected") return prepared;
  const messages = messagesOf(prepared, source, "");
  if ("kind" in messages) return messages;
  const { candidates } = prepared;
  const keys = hmacKeys(scheme.hash, scheme.key);
  let fault: string | null = null;
  for (const secret of source.secrets) {
    const key = keys.get(secret) ?? (await hmacKey(scheme.hash, scheme.key, secret));
    if (typeof key === "string") {
      fault = key;
      continue;
    }
    for (const message of messages) {
      // One signature is left to WebCrypto; of several the HMAC is computed once and compared with each [I9].
      const [only] = candidates;
      const found =
        only !== undefined && candidates.length === 1
          ? await verifyHmac(key, only, message)
          : isAmong(await hmac(key, message), candidates);
      if (found) return conclude(prepared, source);
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
    const tokens = [...listTokens, String(index), ...objectTokens];
    verdict = await verifyOne(scheme, source, { arrival, bodySha256: null }, { parts, tokens });
    if (verdict.kind !== "genuine") {
      return verdict.kind === "rejected" ? rejected(verdict.reason, `item ${index} of ${list.length}`) : verdict;
    }
  }
  return verdict;
}

function isAmong(expected: Uint8Array, candidates: readonly Uint8Array[]): boolean {
  let found = false;
  for (const candidate of candidates) found = equalDigests(expected, candidate) || found;
  return found;
}

/** The key for a secret, or what is wrong with the secret. */
export async function hmacKey(hash: Hash, form: KeyForm, secret: string): Promise<CryptoKey | string> {
  const known = hmacKeys(hash, form).get(secret);
  if (known !== undefined) return known;
  const bytes = keyBytes(form, secret);
  if (!bytes.ok) return bytes.detail ?? bytes.reason;
  const material = form === "sha1" ? await digest("SHA-1", bytes.value) : bytes.value;
  return importHmacKey(hash, form, secret, material);
}
