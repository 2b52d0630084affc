import type { Arrival, VerifySource } from "../arrival.ts";
import { decodeInto } from "../bytes.ts";
import { digestSizeBytes, hmacKeys, verifyHmac } from "../crypto.ts";
import type { HmacScheme } from "../scheme.ts";
import { checkAge, parseTime } from "../timestamps.ts";
import { rejected, type Verdict } from "../verdict.ts";
import { planOf } from "./plan.ts";

/**
 * The usual request, without a detour: one header with one signature, one live secret whose key is known, and a
 * template of texts, time and headers around the body. Anything else, and anything odd, is left to the general way,
 * which also knows the reasons.
 *
 * Up to the call of WebCrypto nothing waits, so the buffers can be shared by all requests: WebCrypto takes its copy
 * of what it is given before the call returns (Web Cryptography § 14.3.4). A new buffer costs workerd a quarter of
 * what the HMAC itself costs.
 */

interface Quick {
  readonly header: string;
  readonly encoding: "hex" | "base64";
  readonly prefix: string;
  /** `marker` begins the entry that is the signature (`v1=`), `timeMarker` the first one where it is the time. */
  readonly list: QuickList | null;
  readonly timeHeader: string | null;
  readonly before: readonly QuickPart[];
  readonly after: readonly QuickPart[];
  readonly isBody: boolean;
  readonly signature: Uint8Array<ArrayBuffer>;
}

interface QuickList {
  readonly separator: string;
  readonly marker: string;
  readonly nextMarker: string;
  readonly timeMarker: string | null;
  readonly nextTimeMarker: string;
}

/** A text as it stands, or a header by its name; `null`: the time. */
type QuickPart = { readonly text: string } | { readonly header: string } | null;

const HEADER_LENGTH_MAX = 1_024;
const SHARED_MESSAGE_BYTES = 65_536;
const sharedMessage = new Uint8Array(SHARED_MESSAGE_BYTES);

const quicks = new WeakMap<HmacScheme, Quick | { readonly kind: "general" }>();
const GENERAL = { kind: "general" } as const;

/** The verdict, or `null`: take the general way. */
export function verifyQuickly(scheme: HmacScheme, source: VerifySource, arrival: Arrival): Promise<Verdict> | null {
  const [secret, second] = source.secrets;
  if (secret === undefined || second !== undefined) return null;
  const key = hmacKeys(scheme.hash, scheme.key).get(secret);
  const quick = quickOf(scheme);
  if (key === undefined || "kind" in quick) return null;
  const text = arrival.headers.get(quick.header);
  if (text === null || text.length > HEADER_LENGTH_MAX) return null;

  const { list, signature } = quick;
  const timeText = timeOf(quick, text, arrival.headers);
  if (timeText === null) return null;
  const isRead = list === null ? readPlain(quick, text) : readListed(quick, list, text);
  if (!isRead) return null;
  const timeMs = scheme.time === undefined ? null : parseTime(timeText, scheme.time.unit);
  if (scheme.time !== undefined && timeMs === null) return null;
  const message = quick.isBody ? arrival.body : messageOf(quick, arrival, timeText);
  if (message === null) return null;
  return judge(verifyHmac(key, signature, message), scheme, source, timeMs, arrival.receivedAtMs);
}

async function judge(
  found: Promise<boolean>,
  scheme: HmacScheme,
  source: VerifySource,
  timeMs: number | null,
  receivedAtMs: number,
): Promise<Verdict> {
  if (!(await found)) return rejected("signature-mismatch");
  const { genuine } = planOf(scheme);
  if (timeMs === null) return genuine;
  return checkAge(timeMs, receivedAtMs, source.toleranceSeconds ?? scheme.time?.toleranceSeconds ?? null) ?? genuine;
}

/** The time as it was sent; the empty text where the scheme has none; `null`: unclear. */
function timeOf({ list, timeHeader }: Quick, text: string, headers: Headers): string | null {
  if (timeHeader !== null) return headers.get(timeHeader);
  if (list === null || list.timeMarker === null) return "";
  if (!text.startsWith(list.timeMarker) || text.includes(list.nextTimeMarker)) return null;
  const end = text.indexOf(list.separator);
  return end < 0 ? null : text.slice(list.timeMarker.length, end);
}

function readPlain({ prefix, encoding, signature }: Quick, text: string): boolean {
  return text.startsWith(prefix) && decodeInto(encoding, text, prefix.length, text.length, signature);
}

/** Only a list that names one signature. */
function readListed({ encoding, signature }: Quick, list: QuickList, text: string): boolean {
  const { separator, marker, nextMarker } = list;
  let from = marker.length;
  if (!text.startsWith(marker)) {
    const at = text.indexOf(nextMarker);
    if (at < 0) return false;
    from = at + nextMarker.length;
  }
  if (text.includes(nextMarker, from)) return false;
  const end = text.indexOf(separator, from);
  return decodeInto(encoding, text, from, end < 0 ? text.length : end, signature);
}

function messageOf(quick: Quick, arrival: Arrival, timeText: string): Uint8Array<ArrayBuffer> | null {
  const { body, headers } = arrival;
  const before = textOf(quick.before, headers, timeText);
  const after = textOf(quick.after, headers, timeText);
  if (before === null || after === null) return null;
  const sizeBytes = before.length + body.length + after.length;
  const message = sizeBytes <= SHARED_MESSAGE_BYTES ? sharedMessage.subarray(0, sizeBytes) : new Uint8Array(sizeBytes);
  if (!writeAscii(before, message, 0) || !writeAscii(after, message, before.length + body.length)) return null;
  message.set(body, before.length);
  return message;
}

function textOf(parts: readonly QuickPart[], headers: Headers, timeText: string): string | null {
  let text = "";
  for (const part of parts) {
    if (part === null) text += timeText;
    else if ("text" in part) text += part.text;
    else {
      const value = headers.get(part.header);
      // An empty one may be required to be there: that is for the general way to know.
      if (value === null || value === "") return null;
      text += value;
    }
  }
  return text;
}

function writeAscii(text: string, target: Uint8Array, at: number): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code >= 0x80) return false;
    target[at + i] = code;
  }
  return true;
}

function quickOf(scheme: HmacScheme): Quick | typeof GENERAL {
  const known = quicks.get(scheme);
  if (known !== undefined) return known;
  const made = makeQuick(scheme) ?? GENERAL;
  quicks.set(scheme, made);
  return made;
}

/** `null`: the scheme has something that is not usual. */
function makeQuick(scheme: HmacScheme): Quick | null {
  const { signature, time, items, orEscapedBody } = scheme;
  const { from, encoding, list, prefix = "" } = signature;
  const plan = planOf(scheme);
  if (typeof from !== "string" || !from.startsWith("header:") || items !== undefined || orEscapedBody !== undefined)
    return null;
  if (plan.usesUrl || plan.needsBody || plan.paramIs.length > 0 || (encoding !== "hex" && encoding !== "base64"))
    return null;
  if (list !== undefined && (list.separator.length !== 1 || list.equals === "" || list.key === "*" || prefix !== ""))
    return null;
  const before = quickParts(plan.template.before);
  const after = quickParts(plan.template.after);
  if (before === null || after === null || !plan.template.uses.has("body")) return null;
  const signed = [...before, ...after].flatMap((part) => (part !== null && "header" in part ? [part.header] : []));
  if (!plan.requires.every((ref) => ref.kind === "header" && signed.includes(ref.name))) return null;
  const timeFrom = plan.time;
  const timeIsField = timeFrom?.kind === "field";
  if (time !== undefined && !timeIsField && timeFrom?.kind !== "header") return null;
  if (timeIsField && list === undefined) return null;
  return {
    header: from.slice("header:".length),
    encoding,
    prefix,
    list: list === undefined ? null : quickList(list, timeIsField ? timeFrom.name : null),
    timeHeader: timeFrom?.kind === "header" ? timeFrom.name : null,
    before,
    after,
    isBody: plan.template.isBody,
    signature: new Uint8Array(digestSizeBytes(scheme.hash)),
  };
}

function quickList(list: NonNullable<HmacScheme["signature"]["list"]>, timeField: string | null): QuickList {
  const { separator, equals, key } = list;
  const marker = key + equals;
  const timeMarker = timeField === null ? null : timeField + equals;
  return {
    separator,
    marker,
    nextMarker: separator + marker,
    timeMarker,
    nextTimeMarker: `${separator}${timeMarker ?? ""}`,
  };
}

function quickParts(parts: ReturnType<typeof planOf>["template"]["before"]): readonly QuickPart[] | null {
  const made: QuickPart[] = [];
  for (const part of parts) {
    if (part.kind === "text") made.push({ text: part.text });
    else if (part.kind === "time") made.push(null);
    else if (part.kind === "ref" && part.ref.kind === "header" && !part.ref.optional)
      made.push({ header: part.ref.name });
    else return null;
  }
  return made;
}
