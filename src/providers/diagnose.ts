import type { Arrival, VerifySource } from "./arrival.ts";
import { textFromUtf8, utf8 } from "./bytes.ts";
import { providerNames, providerRow } from "./catalogue.ts";
import { carriesSignature } from "./headers.ts";
import { JsonText } from "./json-body.ts";
import type { ProviderRow } from "./row.ts";
import type { KeyForm } from "./scheme.ts";
import type { Rejected } from "./verdict.ts";
import { verify } from "./verify.ts";

/** Larger bodies are not tried in other forms: a diagnosis costs a dozen verifications at most. */
const TRIED_BODY_BYTES_MAX = 1_048_576;

/**
 * Explains a refusal to the operator [O7], in a sentence to act on: it tries what usually goes wrong and says which
 * of it would have been genuine. It never holds a secret, a query string or a byte of the body [I15], and nothing it
 * finds makes the request acceptable.
 */
export async function diagnose(
  row: ProviderRow,
  source: VerifySource,
  arrival: Arrival,
  verdict: Rejected,
): Promise<string> {
  switch (verdict.reason) {
    case "timestamp-too-old":
      return `${verdict.evidence ?? "too old"}: a clock is wrong, or the request was held up on its way`;
    case "timestamp-in-future":
      return `${verdict.evidence ?? "from the future"}: one of the clocks is wrong`;
    case "missing-signature":
    case "missing-token":
      return missing(row, source, arrival) ?? "the request carries no signature: it may not come from the provider";
    case "malformed-signature":
      return missing(row, source, arrival) ?? `the signature cannot be read: ${verdict.evidence ?? "wrong form"}`;
    case "signature-mismatch":
    case "body-hash-mismatch":
    case "wrong-token":
      return (await firstThatFits(row, source, arrival)) ?? hint(row, source, arrival);
    case "awaiting-secret":
      return "the provider has not handed over its secret yet: open the window with expect-handshake, then register";
    case "wrong-claim":
      return `${verdict.evidence ?? "a claim"} is not what the source expects: see the source's params`;
    case "untrusted-key-address":
      return "the request names a key at an address that is not the provider's: it is forged";
    default:
      return verdict.evidence === undefined ? verdict.reason : `${verdict.reason}: ${verdict.evidence}`;
  }
}

/** Whose signature the request shows instead. */
function missing(row: ProviderRow, source: VerifySource, arrival: Arrival): string | null {
  const others = providerNames()
    .filter((name) => !name.startsWith("generic") && name !== row.name)
    .map((name) => providerRow(name))
    .filter((other) => other !== undefined && other.scheme.kind !== "token")
    .filter((other) => other !== undefined && carriesSignature(other, source, arrival.headers))
    .slice(0, 3)
    .map((other) => other?.name);
  return others.length === 0 ? null : `the request is signed as ${others.join(" or ")} sign: is the provider right?`;
}

interface Attempt {
  readonly explanation: string;
  readonly row?: ProviderRow;
  readonly source?: VerifySource;
  readonly arrival?: Arrival;
}

async function firstThatFits(row: ProviderRow, source: VerifySource, arrival: Arrival): Promise<string | null> {
  const ageless = { ...source, toleranceSeconds: 1_000_000_000 };
  const attempts = [
    ...otherSecrets(ageless),
    ...otherKeyForms(row),
    ...(arrival.body.length <= TRIED_BODY_BYTES_MAX ? otherBodies(arrival) : []),
    ...otherAddresses(row, ageless, arrival),
  ];
  for (const attempt of attempts) {
    const verdict = await verify(attempt.row ?? row, attempt.source ?? ageless, attempt.arrival ?? arrival);
    if (verdict.kind === "genuine") return attempt.explanation;
  }
  return null;
}

function otherSecrets(source: VerifySource): Attempt[] {
  const changed = (change: (secret: string) => string): VerifySource => ({
    ...source,
    secrets: source.secrets.map(change).filter((secret) => secret !== ""),
  });
  return [
    {
      explanation: "the provider's secret has a line end that the configured one lacks",
      source: changed((secret) => `${secret}\n`),
    },
    {
      explanation: "the configured secret has white space at its beginning or end",
      source: changed((secret) => secret.trim()),
    },
    { explanation: "the secret lacks its whsec_", source: changed((secret) => `whsec_${secret}`) },
    {
      explanation: "the secret must be given without its whsec_",
      source: changed((secret) => secret.replace(/^whsec_/, "")),
    },
    {
      explanation: "the secret was given with a Bearer before it",
      source: changed((secret) => secret.replace(/^bearer /i, "")),
    },
    { explanation: "the header shows the secret after a Bearer", source: changed((secret) => `Bearer ${secret}`) },
  ];
}

const KEY_FORMS: Readonly<Record<Exclude<KeyForm, "whsec-or-utf8" | "sha1">, string>> = {
  utf8: "as text, not decoded",
  base64: "decoded from base64",
  hex: "decoded from hexadecimal",
  whsec: "decoded from base64, after whsec_",
};

/** The same secret, read in another form: the source's provider is probably another one. */
function otherKeyForms(row: ProviderRow): Attempt[] {
  const { scheme } = row;
  if (scheme.kind !== "hmac") return [];
  return Object.entries(KEY_FORMS)
    .filter(([key]) => key !== scheme.key)
    .map(([key, words]) => ({
      explanation: `the sender uses the secret ${words}: is the provider right?`,
      row: { ...row, scheme: { ...scheme, key: key as KeyForm } },
    }));
}

function otherBodies(arrival: Arrival): Attempt[] {
  const { body } = arrival;
  const text = textFromUtf8(body);
  const bodies: { explanation: string; body: Uint8Array<ArrayBuffer> }[] = [];
  if (text !== null) {
    const add = (explanation: string, changed: string): void => {
      if (changed !== text) bodies.push({ explanation, body: utf8(changed) });
    };
    add("the body lost its final line end on its way", `${text}\r\n`);
    add("the body lost its final line end on its way", `${text}\n`);
    add("the body got white space at its end on its way", text.trimEnd());
    if (JsonText.parse(text) !== null) {
      const value: unknown = JSON.parse(text);
      add("the body was parsed and written again on its way", JSON.stringify(value));
      add("the body was parsed and written again on its way", JSON.stringify(value, null, 2));
    }
  }
  return bodies.map((one) => ({ explanation: one.explanation, arrival: { ...arrival, body: one.body } }));
}

/** Schemes that sign the address: the sender may have another one on record. */
function otherAddresses(row: ProviderRow, source: VerifySource, arrival: Arrival): Attempt[] {
  const { scheme } = row;
  if (!("signed" in scheme) || !/\{(url|url-decoded|path)\}/.test(scheme.signed)) return [];
  const known = source.publicUrl ?? arrival.url.href;
  if (!URL.canParse(known)) return [];
  const urls: [string, string][] = [["the address of the request itself", arrival.url.href]];
  const { protocol, pathname } = new URL(known);
  const otherProtocol = protocol === "https:" ? "http:" : "https:";
  urls.push([`${otherProtocol}// in place of ${protocol}//`, known.replace(protocol, otherProtocol)]);
  const other = pathname.endsWith("/") ? pathname.slice(0, -1) : `${pathname}/`;
  urls.push(["a slash more or less at the end of the path", known.replace(pathname, other)]);
  urls.push(["no query at all", known.split("?")[0] ?? known]);
  return urls.map(([words, publicUrl]) => ({
    explanation: `the sender signed another address (${words}): set publicUrl to the one registered with it`,
    source: { ...source, publicUrl },
    arrival: publicUrl.includes("?") ? arrival : { ...arrival, url: new URL(publicUrl) },
  }));
}

function hint(row: ProviderRow, source: VerifySource, arrival: Arrival): string {
  const json = JsonText.fromBytes(arrival.body);
  const live = json?.textAt(["livemode"]) ?? json?.textAt(["live"]) ?? null;
  const mode = live === "false" ? "test" : live === "true" ? "live" : null;
  if (row.scheme.kind === "token" || row.scheme.kind === "token-list") {
    return "the request shows another secret than the configured one";
  }
  const several =
    source.secrets.length > 1 ? `none of ${source.secrets.length} secrets fits` : "signed with another secret";
  return mode === null
    ? `${several}, or the body was altered on its way`
    : `${several}, or the body was altered: it is an event of the ${mode} mode, which has a secret of its own`;
}
