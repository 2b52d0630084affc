import { type Arrival, param, type VerifySource } from "../arrival.ts";
import { bytesFromHex, textFromUtf8, utf8 } from "../bytes.ts";
import { uncompressed } from "../content-coding.ts";
import { digest, equalDigests } from "../crypto.ts";
import { PARSED_BODY_BYTES_MAX } from "../json-body.ts";
import { type Fields, RequestParts } from "../request-parts.ts";
import { readSignatures } from "../signatures.ts";
import { signedUrls } from "../signed-url.ts";
import { fillTemplate, type Template } from "../template.ts";
import { checkAge, parseTime } from "../timestamps.ts";
import { type Rejected, rejected, type Verdict } from "../verdict.ts";
import { type Plan, planOf, type TemplatedScheme } from "./plan.ts";

/** What the families that sign a template share: a request taken apart, up to the comparison itself. */
interface Prepared {
  readonly kind: "prepared";
  readonly scheme: TemplatedScheme;
  readonly plan: Plan;
  readonly candidates: readonly Uint8Array<ArrayBuffer>[];
  readonly parts: RequestParts;
  readonly fields: Fields;
  readonly timeText: string;
  readonly timeMs: number | null;
  readonly bodySha256: Uint8Array | null;
  readonly item: readonly string[] | undefined;
}

/** One of several items of a body that are signed one by one. */
export interface Item {
  readonly parts: RequestParts;
  readonly tokens: readonly string[];
}

/** The body as a scheme needs it, where that takes more than the bytes as they came. */
export interface ReadyBody {
  readonly arrival: Arrival;
  readonly bodySha256: Uint8Array | null;
}

/** Hashes or decompresses the body for the few schemes that need it; `null`: not needed. */
export async function readyBody(scheme: TemplatedScheme, arrival: Arrival): Promise<ReadyBody | Rejected> {
  const plain = scheme.signsUncompressed === true ? await uncompressed(arrival) : arrival;
  if (plain === null) return rejected("malformed-body", "cannot be decompressed to at most 4 MiB");
  return { arrival: plain, bodySha256: await digest("SHA-256", plain.body) };
}

export function needsReadyBody(scheme: TemplatedScheme): boolean {
  return planOf(scheme).needsBody;
}

/** Takes a request apart for a templated scheme: signatures, time, what must be there. */
export function prepare(
  scheme: TemplatedScheme,
  source: VerifySource,
  body: ReadyBody,
  signatureSizeBytes: number | null,
  item?: Item,
): Prepared | Rejected {
  const plan = planOf(scheme);
  const parts = item?.parts ?? new RequestParts(body.arrival, source);
  const tokens = item?.tokens;
  const signatures = readSignatures(scheme.signature, parts, signatureSizeBytes, tokens);
  if (signatures.kind === "rejected") {
    return signatures.reason === "missing-signature" ? missingSignature(scheme, parts) : signatures;
  }
  const { candidates, fields } = signatures;
  let timeText = "";
  let timeMs: number | null = null;
  if (plan.time !== null && scheme.time !== undefined) {
    const text = parts.textOf(plan.time, fields, tokens);
    if (text === null) return rejected("missing-timestamp");
    timeMs = parseTime(text, scheme.time.unit);
    if (timeMs === null) return rejected("malformed-timestamp", `expected ${scheme.time.unit}`);
    timeText = text;
  }
  for (const ref of plan.requires) {
    const text = parts.textOf(ref, fields, tokens);
    if (text === null || text === "") return rejected("missing-signed-part", `${ref.kind}:${ref.name}`);
  }
  for (const { ref, param: name } of plan.paramIs) {
    const wanted = param(source, name);
    if (wanted !== null && parts.textOf(ref, fields, tokens) !== wanted) {
      return rejected("wrong-claim", `${ref.kind}:${ref.name}`);
    }
  }
  return {
    kind: "prepared",
    scheme,
    plan,
    candidates,
    parts,
    fields,
    timeText,
    timeMs,
    bodySha256: body.bodySha256,
    item: tokens,
  };
}

/** The texts that may have been signed; more than one only where URL or escaping is in doubt. */
export function messagesOf(
  prepared: Prepared,
  source: VerifySource,
  secret: string,
): readonly Uint8Array<ArrayBuffer>[] | Rejected {
  const { plan, scheme, parts } = prepared;
  if (!plan.usesUrl && scheme.orEscapedBody === undefined) {
    const message = fillTemplate(plan.template, fillingOf(prepared, parts.arrival.body, "", secret));
    return message instanceof Uint8Array ? [message] : message;
  }
  const messages: Uint8Array<ArrayBuffer>[] = [];
  let fault: Rejected | null = null;
  for (const url of plan.usesUrl ? signedUrls(source, parts.arrival, scheme.urlForms) : [""]) {
    const template = templateFor(prepared, url);
    if ("kind" in template) {
      fault = template;
      continue;
    }
    for (const body of bodyForms(scheme, parts.arrival.body)) {
      const message = fillTemplate(template, fillingOf(prepared, body, url, secret));
      if (message instanceof Uint8Array) messages.push(message);
      else fault = message;
    }
  }
  return messages.length === 0 && fault !== null ? fault : messages;
}

function fillingOf(prepared: Prepared, body: Uint8Array<ArrayBuffer>, url: string, secret: string) {
  const { parts, fields, timeText, item, bodySha256 } = prepared;
  return { parts, body, fields, timeText, url, secret, bodySha256, item };
}

/**
 * The verdict on a request whose signature is good: genuine, unless it is too old or too new [I10]. The age is judged
 * only now, so that its evidence can be believed.
 */
export function conclude(prepared: Prepared, source: VerifySource): Verdict {
  const { timeMs, scheme, plan, parts } = prepared;
  if (timeMs === null) return plan.genuine;
  const toleranceSeconds = source.toleranceSeconds ?? scheme.time?.toleranceSeconds ?? null;
  return checkAge(timeMs, parts.arrival.receivedAtMs, toleranceSeconds) ?? plan.genuine;
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

/** The template for this URL; where the URL promises a body hash, the body must keep the promise [I3]. */
function templateFor(prepared: Prepared, url: string): Template | Rejected {
  const { plan, scheme, bodySha256 } = prepared;
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
