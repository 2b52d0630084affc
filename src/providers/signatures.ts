import { bytesFrom } from "./bytes.ts";
import type { Fields, RequestParts } from "./request-parts.ts";
import type { SignatureForm } from "./scheme.ts";
import { type Rejected, rejected } from "./verdict.ts";

/** More candidates than this are not tried [I9]. */
const SIGNATURES_MAX = 16;
const TEXT_LENGTH_MAX = 8_192;

interface Signatures {
  readonly kind: "found";
  readonly candidates: readonly Uint8Array<ArrayBuffer>[];
  /** The other entries of the header, for `field:` references. */
  readonly fields: Fields;
}

const NO_FIELDS: Fields = new Map();

/**
 * The signatures a request carries, decoded. Entries of other versions and entries that cannot be decoded are
 * skipped, so that one bad entry does not spoil a good one; none left is a rejection, never an exception [I8].
 */
export function readSignatures(
  form: SignatureForm,
  parts: RequestParts,
  sizeBytes: number | null,
  item?: readonly string[],
): Signatures | Rejected {
  const { from, list } = form;
  const reading: Reading = { form, sizeBytes, candidates: [], fields: null, lengthSeen: null };
  if (typeof from === "string" && !from.startsWith("headers:")) {
    const text = parts.text(from, undefined, item);
    if (text === null || text === "") return rejected("missing-signature");
    readText(reading, text, list, parts);
  } else {
    const texts = signatureTexts(from, parts, item);
    if (texts.length === 0) return rejected("missing-signature");
    for (const text of texts) readText(reading, text, list, parts);
  }
  const { candidates, fields } = reading;
  if (candidates.length === 0) return rejected("malformed-signature", malformedEvidence(reading));
  return { kind: "found", candidates, fields: fields ?? NO_FIELDS };
}

interface Reading {
  readonly form: SignatureForm;
  readonly sizeBytes: number | null;
  readonly candidates: Uint8Array<ArrayBuffer>[];
  fields: Map<string, string> | null;
  lengthSeen: number | null;
}

function readText(reading: Reading, text: string, list: SignatureForm["list"], parts: RequestParts): void {
  if (text.length > TEXT_LENGTH_MAX) return;
  if (list === undefined) {
    take(reading, text.trim());
    return;
  }
  const { keyIs } = reading.form;
  const wantedKey = keyIs === undefined ? null : parts.text(keyIs);
  const { equals, key } = list;
  for (const entry of entriesOf(text, list.separator)) {
    const at = entry.indexOf(equals);
    if (at < 0) continue;
    const name = entry.slice(0, at).trim();
    const value = entry.slice(at + equals.length).trim();
    if (key === "*" ? wantedKey === null || wantedKey === name : key === name) take(reading, value);
    else {
      reading.fields ??= new Map();
      // A field with two values is ambiguous: it counts as unreadable rather than as either of them.
      const before = reading.fields.get(name);
      reading.fields.set(name, before === undefined || before === value ? value : "");
    }
  }
}

function take(reading: Reading, text: string): void {
  const { candidates, sizeBytes } = reading;
  if (candidates.length >= SIGNATURES_MAX) return;
  const bytes = decodeSignature(reading.form, text);
  if (bytes === null) return;
  if (sizeBytes !== null && bytes.length !== sizeBytes) reading.lengthSeen = bytes.length;
  else candidates.push(bytes);
}

function entriesOf(text: string, separators: string): string[] {
  if (separators.length === 1) return text.split(separators);
  let uniform = text;
  for (const separator of separators.slice(1)) uniform = uniform.replaceAll(separator, separators.charAt(0));
  return uniform.split(separators.charAt(0));
}

function signatureTexts(from: SignatureForm["from"], parts: RequestParts, item?: readonly string[]): string[] {
  if (typeof from === "string") return numberedHeaders(from.slice("headers:".length, -1), parts.arrival.headers);
  const texts: string[] = [];
  for (const ref of from) {
    const text = parts.text(ref, undefined, item);
    if (text !== null && text !== "") texts.push(text);
  }
  return texts;
}

function numberedHeaders(start: string, headers: Headers): string[] {
  const texts: string[] = [];
  headers.forEach((value, name) => {
    if (name.startsWith(start) && value !== "" && texts.length < SIGNATURES_MAX) texts.push(value);
  });
  return texts;
}

function decodeSignature(form: SignatureForm, text: string): Uint8Array<ArrayBuffer> | null {
  let digits = text;
  if (form.prefix !== undefined) {
    if (!text.startsWith(form.prefix)) return null;
    digits = text.slice(form.prefix.length);
  }
  return bytesFrom(form.encoding, digits);
}

function malformedEvidence({ form, lengthSeen, sizeBytes, fields }: Reading): string {
  if (lengthSeen !== null) return `the signature has ${lengthSeen} bytes instead of ${sizeBytes}`;
  if (form.list !== undefined && form.list.key !== "*") {
    const others = fields === null ? "" : ` (found: ${[...fields.keys()].slice(0, 4).join(", ").slice(0, 60)})`;
    return `no usable entry "${form.list.key}"${others}`;
  }
  const prefix = form.prefix === undefined ? "" : ` after "${form.prefix}"`;
  return `not ${form.encoding}${prefix}`;
}
