import type { Arrival, VerifySource } from "../arrival.ts";
import { decodeInto } from "../bytes.ts";
import { digestSizeBytes, hmacKeys, verifyHmac } from "../crypto.ts";
import type { HmacScheme, TimeForm } from "../scheme.ts";
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
  readonly keys: ReadonlyMap<string, CryptoKey>;
  readonly header: string;
  readonly encoding: "hex" | "base64";
  /** Stands before the signature: a prefix, or the key of its entry in a list (`v1=`). */
  readonly marker: string;
  /** In a list whose first entry is the time: that entry's key (`t=`), and what separates the two. */
  readonly timeEntry: { readonly marker: string; readonly separator: string } | null;
  readonly timeHeader: string | null;
  readonly time: TimeForm | null;
  readonly before: readonly QuickPart[];
  readonly after: readonly QuickPart[];
  readonly isBody: boolean;
  readonly signature: Uint8Array<ArrayBuffer>;
  /** How many characters the signature is written with. */
  readonly signatureLength: number;
  /** What a good or a bad signature means; a function that is there already costs less than one made for each request. */
  readonly conclude: (isGenuine: boolean) => Verdict;
}

/** A text as it stands, the value of a header by its name, or the time. All of one shape: that is what makes it quick. */
interface QuickPart {
  readonly kind: "text" | "header" | "time";
  readonly text: string;
}

const SHARED_MESSAGE_BYTES = 65_536;
const sharedMessage = new Uint8Array(SHARED_MESSAGE_BYTES);

const quicks = new WeakMap<HmacScheme, Quick | { readonly kind: "general" }>();
const GENERAL = { kind: "general" } as const;

/** The verdict, or `null`: take the general way. */
export function verifyQuickly(scheme: HmacScheme, source: VerifySource, arrival: Arrival): Promise<Verdict> | null {
  const { secrets } = source;
  const quick = quickOf(scheme);
  if ("kind" in quick || secrets.length !== 1) return null;
  const key = quick.keys.get(secrets[0] ?? "");
  if (key === undefined) return null;
  const text = arrival.headers.get(quick.header);
  if (text === null) return null;

  let start = 0;
  let timeText = text;
  let timeStart = 0;
  let timeEnd = 0;
  if (quick.timeEntry !== null) {
    const { marker, separator } = quick.timeEntry;
    timeStart = marker.length;
    timeEnd = text.indexOf(separator);
    if (timeEnd < 0 || !text.startsWith(marker)) return null;
    start = timeEnd + 1;
  } else if (quick.timeHeader !== null) {
    const header = arrival.headers.get(quick.timeHeader);
    if (header === null) return null;
    timeText = header;
    timeEnd = header.length;
  }
  // The signature fills the rest of the header: there is no second one, and no second time.
  const { marker, signature, time } = quick;
  const digitsAt = start + marker.length;
  if (text.length !== digitsAt + quick.signatureLength || !text.startsWith(marker, start)) return null;
  if (!decodeInto(quick.encoding, text, digitsAt, text.length, signature)) return null;

  if (time !== null) {
    const timeMs = parseTime(timeText, time.unit, timeStart, timeEnd);
    if (timeMs === null) return null;
    const toleranceSeconds = source.toleranceSeconds ?? time.toleranceSeconds ?? null;
    if (checkAge(timeMs, arrival.receivedAtMs, toleranceSeconds) !== null) return null;
  }
  if (quick.isBody) return verifyHmac(key, signature, arrival.body).then(quick.conclude);
  const size = writeMessage(quick, arrival, timeText, timeStart, timeEnd);
  return size < 0 ? null : verifyHmac(key, signature, sharedMessage.subarray(0, size)).then(quick.conclude);
}

/** Writes what was signed into the shared buffer; its size, or -1: it is left to the general way. */
function writeMessage(
  { before, after }: Quick,
  { body, headers }: Arrival,
  timeText: string,
  timeStart: number,
  timeEnd: number,
): number {
  let end = 0;
  for (const part of before) {
    end = writePart(part, headers, timeText, timeStart, timeEnd, end);
    if (end < 0) return -1;
  }
  if (end + body.length > SHARED_MESSAGE_BYTES) return -1;
  sharedMessage.set(body, end);
  end += body.length;
  for (const part of after) {
    end = writePart(part, headers, timeText, timeStart, timeEnd, end);
    if (end < 0) return -1;
  }
  return end;
}

/** Writes a part into the shared buffer from `at` on; where it ends, or -1: it cannot be written so. */
function writePart(
  part: QuickPart,
  headers: Headers,
  timeText: string,
  timeStart: number,
  timeEnd: number,
  at: number,
): number {
  if (part.kind === "time") return writeAscii(timeText, timeStart, timeEnd, at);
  const text = part.kind === "text" ? part.text : headers.get(part.text);
  return text === null ? -1 : writeAscii(text, 0, text.length, at);
}

/** An empty text is refused too: it may be required to be there, which is for the general way to know. */
function writeAscii(text: string, start: number, end: number, at: number): number {
  const endAt = at + end - start;
  if (endAt === at || endAt > SHARED_MESSAGE_BYTES) return -1;
  for (let from = start, to = at; from < end; from++, to++) {
    const code = text.charCodeAt(from);
    if (code >= 0x80) return -1;
    sharedMessage[to] = code;
  }
  return endAt;
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
  const signed = [...before, ...after].flatMap((part) => (part.kind === "header" ? [part.text] : []));
  if (!plan.requires.every((ref) => ref.kind === "header" && signed.includes(ref.name))) return null;
  const timeFrom = plan.time;
  const timeIsField = timeFrom?.kind === "field";
  if (time !== undefined && !timeIsField && timeFrom?.kind !== "header") return null;
  if (timeIsField && list === undefined) return null;
  const sizeBytes = digestSizeBytes(scheme.hash);
  return {
    keys: hmacKeys(scheme.hash, scheme.key),
    header: from.slice("header:".length),
    encoding,
    marker: list === undefined ? prefix : list.key + list.equals,
    timeEntry:
      list !== undefined && timeIsField ? { marker: timeFrom.name + list.equals, separator: list.separator } : null,
    timeHeader: timeFrom?.kind === "header" ? timeFrom.name : null,
    time: time ?? null,
    before,
    after,
    isBody: plan.template.isBody,
    signature: new Uint8Array(sizeBytes),
    signatureLength: encoding === "hex" ? sizeBytes * 2 : Math.ceil(sizeBytes / 3) * 4,
    conclude: (isGenuine) => (isGenuine ? plan.genuine : rejected("signature-mismatch")),
  };
}

function quickParts(parts: ReturnType<typeof planOf>["template"]["before"]): readonly QuickPart[] | null {
  const made: QuickPart[] = [];
  for (const part of parts) {
    if (part.kind === "text") made.push({ kind: "text", text: part.text });
    else if (part.kind === "time") made.push({ kind: "time", text: "" });
    else if (part.kind === "ref" && part.ref.kind === "header" && !part.ref.optional)
      made.push({ kind: "header", text: part.ref.name });
    else return null;
  }
  return made;
}
