import { type Arrival, param, type VerifySource } from "../arrival.ts";
import { bytesFromHex, hexFromBytes, textFromUtf8, utf8 } from "../bytes.ts";
import { uncompressed } from "../content-coding.ts";
import { digest, equalDigests } from "../crypto.ts";
import { PARSED_BODY_BYTES_MAX } from "../json-body.ts";
import { RequestParts } from "../request-parts.ts";
import type { DigestScheme, HmacScheme, PublicKeyScheme, Signed } from "../scheme.ts";
import { readSignatures } from "../signatures.ts";
import { signedUrls } from "../signed-url.ts";
import { fillTemplate, parseTemplate, type Template } from "../template.ts";
import { checkAge, parseTime } from "../timestamps.ts";
import { type Rejected, rejected, type Strength, type Verdict } from "../verdict.ts";

type TemplatedScheme = HmacScheme | DigestScheme | PublicKeyScheme;

/** What the families that sign a template share: a request taken apart, up to the comparison itself. */
export interface Prepared {
  readonly kind: "prepared";
  readonly candidates: readonly Uint8Array<ArrayBuffer>[];
  readonly parts: RequestParts;
  /** The texts that may have been signed; more than one only where URL or escaping is in doubt. */
  messages(secret: string): readonly Uint8Array<ArrayBuffer>[] | Rejected;
  /** The verdict on a request whose signature is good: genuine, unless it is too old or too new [I10]. */
  conclude(): Verdict;
}

interface Plan {
  readonly template: Template;
  readonly withBodyHash: Template | null;
  readonly usesUrl: boolean;
  readonly usesBodySha256: boolean;
  readonly genuine: Verdict;
}

const plans = new WeakMap<TemplatedScheme, Plan>();

function planOf(scheme: TemplatedScheme): Plan {
  const known = plans.get(scheme);
  if (known !== undefined) return known;
  const template = compile(scheme.signed);
  const withBodyHash = scheme.signedWithBodyHash === undefined ? null : compile(scheme.signedWithBodyHash.signed);
  const uses = (name: string): boolean => template.uses.has(name) || withBodyHash?.uses.has(name) === true;
  const plan: Plan = {
    template,
    withBodyHash,
    usesUrl: uses("url") || uses("url-decoded") || uses("path"),
    usesBodySha256: uses("body-sha256"),
    genuine: { kind: "genuine", strength: templateStrength(scheme, template) },
  };
  plans.set(scheme, plan);
  return plan;
}

function compile(signed: Signed): Template {
  const template = parseTemplate(signed);
  if ("unknownPart" in template) throw new Error(`unknown part in a template: ${template.unknownPart}`);
  return template;
}

/** What a signature over this template proves of a request. */
function templateStrength(scheme: TemplatedScheme, template: Template): Strength {
  const { uses } = template;
  const bindsBody = ["body", "form-sorted", "body-sha256", "body-crc32"].some((part) => uses.has(part));
  if (bindsBody) return uses.has("time") && scheme.time?.toleranceSeconds != null ? "body-and-time" : "body";
  if (scheme.kind === "hmac" && scheme.items !== undefined) return "fields";
  return [...uses].some((name) => name === "line" || name.startsWith("form:")) ? "fields" : "origin";
}

export function schemeStrength(scheme: TemplatedScheme): Strength {
  const { genuine } = planOf(scheme);
  return genuine.kind === "genuine" ? genuine.strength : "origin";
}

/**
 * Takes a request apart for a templated scheme: signatures, time, what must be there. The age is judged only after
 * the signature, so that its evidence can be believed.
 */
export async function prepare(
  scheme: TemplatedScheme,
  source: VerifySource,
  arrival: Arrival,
  signatureSizeBytes: number | null,
  shared?: { readonly parts: RequestParts; readonly item: readonly string[] },
): Promise<Prepared | Rejected> {
  const plan = planOf(scheme);
  const plain = scheme.signsUncompressed === true ? await uncompressed(arrival) : arrival;
  if (plain === null) return rejected("malformed-body", "cannot be decompressed to at most 4 MiB");
  const parts = shared?.parts ?? new RequestParts(plain, source);
  const item = shared?.item;
  const signatures = readSignatures(scheme.signature, parts, signatureSizeBytes, item);
  if (signatures.kind === "rejected") {
    return signatures.reason === "missing-signature" ? missingSignature(scheme, parts) : signatures;
  }
  const { candidates, fields } = signatures;

  let timeText = "";
  let timeMs: number | null = null;
  if (scheme.time !== undefined) {
    const text = parts.text(scheme.time.from, fields, item);
    if (text === null) return rejected("missing-timestamp");
    timeMs = parseTime(text, scheme.time.unit);
    if (timeMs === null) return rejected("malformed-timestamp", `expected ${scheme.time.unit}`);
    timeText = text;
  }
  for (const ref of scheme.requires ?? []) {
    const text = parts.text(ref, fields, item);
    if (text === null || text === "") return rejected("missing-signed-part", ref);
  }
  for (const [ref, name] of Object.entries(scheme.paramIs ?? {})) {
    const wanted = param(source, name);
    if (wanted !== null && parts.text(ref, fields, item) !== wanted) return rejected("wrong-claim", ref);
  }

  const urls = plan.usesUrl || plan.withBodyHash !== null ? signedUrls(source, arrival, scheme.urlForms) : [""];
  const usesHash = plan.usesBodySha256 || urlsWithBodyHash(scheme, urls).length > 0;
  const bodySha256 = usesHash ? await digest("SHA-256", plain.body) : null;
  const bodySha256Hex = bodySha256 === null ? "" : hexFromBytes(bodySha256);
  const bodies = bodyForms(scheme, plain.body);
  const toleranceSeconds = source.toleranceSeconds ?? scheme.time?.toleranceSeconds ?? null;

  return {
    kind: "prepared",
    candidates,
    parts,
    messages(secret) {
      const messages: Uint8Array<ArrayBuffer>[] = [];
      let fault: Rejected | null = null;
      for (const url of urls) {
        const template = templateFor(scheme, plan, url, bodySha256);
        if ("kind" in template) {
          fault = template;
          continue;
        }
        for (const body of bodies) {
          const filling = { parts, body, fields, timeText, url, secret, bodySha256Hex };
          const message = fillTemplate(template, item === undefined ? filling : { ...filling, item });
          if (message instanceof Uint8Array) messages.push(message);
          else fault = message;
        }
      }
      return messages.length === 0 && fault !== null ? fault : messages;
    },
    conclude() {
      const late = timeMs === null ? null : checkAge(timeMs, arrival.receivedAtMs, toleranceSeconds);
      return late ?? plan.genuine;
    },
  };
}

function missingSignature(scheme: TemplatedScheme, parts: RequestParts): Rejected {
  const { from } = scheme.signature;
  const first = typeof from === "string" ? from : (from[0] ?? "");
  if ((first.startsWith("json:") || first.startsWith("item:")) && parts.json === null) {
    const tooLarge = parts.arrival.body.length > PARSED_BODY_BYTES_MAX;
    return rejected("malformed-body", tooLarge ? "larger than 4 MiB: not parsed" : "not JSON");
  }
  if (first.startsWith("form:") && parts.form === null) return rejected("malformed-body", "not a form");
  return rejected("missing-signature", typeof from === "string" ? from : from.join(", "));
}

function urlsWithBodyHash(scheme: TemplatedScheme, urls: readonly string[]): string[] {
  const { signedWithBodyHash } = scheme;
  return signedWithBodyHash === undefined
    ? []
    : urls.filter((url) => queryValue(url, signedWithBodyHash.query) !== null);
}

/** The template for this URL; where the URL promises a body hash, the body must keep the promise [I3]. */
function templateFor(
  scheme: TemplatedScheme,
  plan: Plan,
  url: string,
  bodySha256: Uint8Array | null,
): Template | Rejected {
  const alternative = scheme.signedWithBodyHash;
  if (alternative === undefined || plan.withBodyHash === null) return plan.template;
  const promised = queryValue(url, alternative.query);
  if (promised === null) return plan.template;
  const bytes = bytesFromHex(promised);
  if (bytes === null || bodySha256 === null || !equalDigests(bytes, bodySha256)) return rejected("body-hash-mismatch");
  return plan.withBodyHash;
}

function queryValue(url: string, name: string): string | null {
  const query = url.indexOf("?");
  return query < 0 ? null : new URLSearchParams(url.slice(query + 1)).get(name);
}

/** The body as it came and, where the scheme allows it, with everything beyond ASCII as `\uXXXX`. */
function bodyForms(scheme: TemplatedScheme, body: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer>[] {
  if (scheme.orEscapedBody !== true || body.length > PARSED_BODY_BYTES_MAX || body.every((byte) => byte < 0x80)) {
    return [body];
  }
  const text = textFromUtf8(body);
  if (text === null) return [body];
  const escaped = text.replace(/[^\0-\x7f]/g, (sign) => {
    let written = "";
    for (let i = 0; i < sign.length; i++) written += `\\u${sign.charCodeAt(i).toString(16).padStart(4, "0")}`;
    return written;
  });
  return [body, utf8(escaped)];
}
