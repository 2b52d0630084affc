import { unreachable } from "../core/assert.ts";
import { crc32, hexFromBytes, utf8 } from "./bytes.ts";
import { type ParsedRef, parseRef, pointerTokens } from "./refs.ts";
import type { Fields, RequestParts } from "./request-parts.ts";
import type { Signed } from "./scheme.ts";
import { type Rejected, rejected } from "./verdict.ts";

type Part =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "ref"; readonly ref: ParsedRef }
  | { readonly kind: "line"; readonly key: string; readonly tokens: readonly string[] }
  | { readonly kind: "signed-headers"; readonly header: string; readonly listed: readonly string[] }
  | { readonly kind: "field-headers"; readonly field: string }
  | { readonly [kind in PlainPart]: { readonly kind: kind } }[PlainPart];

const PLAIN_PARTS = [
  "body",
  "time",
  "method",
  "url",
  "url-decoded",
  "path",
  "form-sorted",
  "body-sha256",
  "body-crc32",
  "secret",
] as const;
type PlainPart = (typeof PLAIN_PARTS)[number];

type TextPart = Exclude<Part, { kind: "body" }>;

/** A template, taken apart once: what stands before the body, and what after it. */
export interface Template {
  readonly before: readonly TextPart[];
  readonly after: readonly TextPart[];
  /** The template is the body and nothing else: what is signed needs no copy. */
  readonly isBody: boolean;
  readonly uses: ReadonlySet<string>;
}

/** What a template is filled with, apart from the request itself. */
interface Filling {
  readonly parts: RequestParts;
  readonly body: Uint8Array<ArrayBuffer>;
  readonly fields: Fields;
  readonly timeText: string;
  readonly url: string;
  readonly secret: string;
  readonly bodySha256: Uint8Array | null;
  readonly item: readonly string[] | undefined;
}

/** Takes a template apart; an unknown part, or a second body, is told by its name. */
export function parseTemplate(signed: Signed): Template | { readonly unknownPart: string } {
  const before: TextPart[] = [];
  const after: TextPart[] = [];
  let parts = before;
  const uses = new Set<string>();
  const pieces = signed.split(/\{([^{}]*)\}/);
  for (let i = 0; i < pieces.length; i++) {
    const piece = pieces[i] ?? "";
    if (i % 2 === 0) {
      if (piece.includes("{") || piece.includes("}")) return { unknownPart: piece };
      if (piece !== "") parts.push({ kind: "text", text: piece });
      continue;
    }
    const part = parsePart(piece);
    if (part === null || (part.kind === "body" && parts === after)) return { unknownPart: piece };
    if (part.kind === "body") parts = after;
    else parts.push(part);
    uses.add(part.kind === "ref" ? `${part.ref.kind}:${part.ref.name}` : part.kind);
  }
  return { before, after, uses, isBody: parts === after && before.length + after.length === 0 };
}

function parsePart(name: string): Part | null {
  const plain = PLAIN_PARTS.find((part) => part === name);
  if (plain !== undefined) return { kind: plain };
  const colon = name.indexOf(":");
  const rest = name.slice(colon + 1);
  switch (name.slice(0, colon)) {
    case "line": {
      const tokens = pointerTokens(rest);
      const key = tokens?.at(-1);
      return tokens === null || key === undefined ? null : { kind: "line", key, tokens };
    }
    case "signed-headers":
      return { kind: "signed-headers", header: rest.split("+")[0] ?? "", listed: rest.split("+") };
    case "field-headers":
      return { kind: "field-headers", field: rest };
    default: {
      const ref = parseRef(name);
      return ref === null ? null : { kind: "ref", ref };
    }
  }
}

/** The bytes that were signed, or why they cannot be put together. */
export function fillTemplate(template: Template, filling: Filling): Uint8Array<ArrayBuffer> | Rejected {
  if (template.isBody) return filling.body;
  const before = textOfParts(template.before, filling);
  if (typeof before !== "string") return before;
  if (!template.uses.has("body")) return utf8(before);
  const after = textOfParts(template.after, filling);
  if (typeof after !== "string") return after;
  return join(before, filling.body, after);
}

function textOfParts(parts: readonly TextPart[], filling: Filling): string | Rejected {
  let text = "";
  for (const part of parts) {
    const value =
      part.kind === "text" ? part.text : part.kind === "time" ? filling.timeText : textOfPart(part, filling);
    if (typeof value !== "string") return value;
    text += value;
  }
  return text;
}

/** Most texts around a body are a short ASCII prefix, which is written byte by byte without an encoder. */
function join(before: string, body: Uint8Array, after: string): Uint8Array<ArrayBuffer> {
  const message = new Uint8Array(before.length + body.length + after.length);
  let isAscii = true;
  for (let i = 0; i < before.length; i++) {
    const code = before.charCodeAt(i);
    isAscii &&= code < 0x80;
    message[i] = code;
  }
  const afterStart = before.length + body.length;
  for (let i = 0; i < after.length; i++) {
    const code = after.charCodeAt(i);
    isAscii &&= code < 0x80;
    message[afterStart + i] = code;
  }
  if (!isAscii) return joinEncoded(utf8(before), body, utf8(after));
  message.set(body, before.length);
  return message;
}

function joinEncoded(before: Uint8Array, body: Uint8Array, after: Uint8Array): Uint8Array<ArrayBuffer> {
  const message = new Uint8Array(before.length + body.length + after.length);
  message.set(before);
  message.set(body, before.length);
  message.set(after, before.length + body.length);
  return message;
}

function textOfPart(part: TextPart, filling: Filling): string | Rejected {
  switch (part.kind) {
    case "text":
      return part.text;
    case "time":
      return filling.timeText;
    case "method":
      return filling.parts.arrival.method;
    case "url":
      return filling.url;
    case "url-decoded":
      return filling.url.replace(DECODED_ESCAPES, (written) => decodeURIComponent(written));
    case "path":
      return pathOf(filling.url);
    case "secret":
      return filling.secret;
    case "body-sha256":
      return filling.bodySha256 === null ? "" : hexFromBytes(filling.bodySha256);
    case "body-crc32":
      return String(crc32(filling.body));
    case "form-sorted":
      return sortedForm(filling.parts);
    case "ref": {
      const value = filling.parts.textOf(part.ref, filling.fields, filling.item);
      if (value !== null) return value;
      return part.ref.optional ? "" : rejected("missing-signed-part", `${part.ref.kind}:${part.ref.name}`);
    }
    case "line": {
      const value = filling.parts.json?.textAt(part.tokens) ?? null;
      return value === null ? "" : `${part.key}\n${value}\n`;
    }
    case "signed-headers":
      return signedHeaderLines(part.header, part.listed, filling.parts.arrival.headers);
    case "field-headers":
      return fieldHeaderValues(part.field, filling);
    default:
      return unreachable(part);
  }
}

/** The escapes that HubSpot undoes before it signs (v3); all others stay as they are. */
const DECODED_ESCAPES = /%(?:3A|2F|3F|40|21|24|27|28|29|2A|2C|3B)/gi;

function pathOf(url: string): string {
  const start = url.indexOf("/", url.indexOf("//") + 2);
  const hash = url.indexOf("#");
  return start < 0 ? "/" : url.slice(start, hash < 0 ? undefined : hash);
}

/** Names and values of the form without anything between them, sorted; equal pairs count once, as Twilio has it. */
function sortedForm(parts: RequestParts): string | Rejected {
  if (parts.arrival.body.length === 0) return "";
  const form = parts.form;
  if (form === null) return rejected("malformed-body", "the body cannot be read as a form");
  let text = "";
  for (const name of [...new Set(form.keys())].sort()) {
    for (const value of [...new Set(form.getAll(name))].sort()) text += name + value;
  }
  return text;
}

const SIGNED_HEADERS_MAX = 64;

/**
 * `name:value;name:value` for the headers that a header lists; names in lower case, values trimmed (Contentful). The
 * list itself, and whatever else the row names, must be listed: else a holder of the request could alter it.
 */
function signedHeaderLines(listHeader: string, listed: readonly string[], headers: Headers): string | Rejected {
  const list = headers.get(listHeader);
  if (list === null || list === "") return rejected("missing-signed-part", `header:${listHeader}`);
  const names = list.split(",").map((name) => name.trim().toLowerCase());
  if (names.length > SIGNED_HEADERS_MAX) return rejected("malformed-signature", "more than 64 signed headers");
  const missing = listed.find((name) => !names.includes(name));
  if (missing !== undefined) return rejected("missing-signed-part", `header:${missing} is not among the signed ones`);
  const lines: string[] = [];
  for (const name of names) {
    const value = headerOf(headers, name);
    if (value === null) return rejected("missing-signed-part", `header:${name.slice(0, 60)}`);
    lines.push(`${name}:${value.trim()}`);
  }
  return lines.join(";");
}

/** The values of the headers that a field of the signature header lists, joined by dots (Hook0). */
function fieldHeaderValues(field: string, filling: Filling): string | Rejected {
  const list = filling.fields.get(field);
  if (list === undefined) return rejected("missing-signed-part", `field:${field}`);
  const names = list.split(" ").filter((name) => name !== "");
  if (names.length > SIGNED_HEADERS_MAX) return rejected("malformed-signature", "more than 64 signed headers");
  const values: string[] = [];
  for (const name of names) {
    const value = headerOf(filling.parts.arrival.headers, name);
    if (value === null) return rejected("missing-signed-part", `header:${name.slice(0, 60)}`);
    values.push(value);
  }
  return values.join(".");
}

/** `Headers.get` throws on a name that can be none; a sender chooses these names. */
function headerOf(headers: Headers, name: string): string | null {
  return /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}$/.test(name) ? headers.get(name) : null;
}
