import { textFromUtf8 } from "./bytes.ts";
import { JsonBytes } from "./json-bytes.ts";

/** Bodies beyond this are not parsed [D8]: a parse holds several times their size in memory. */
export const PARSED_BODY_BYTES_MAX = 4 * 1024 * 1024;

/** A value inside a JSON text; a number is the digits as they stand there, never a double [D8]. */
export type JsonValue =
  | { readonly kind: "string"; readonly text: string }
  | { readonly kind: "number"; readonly text: string }
  | { readonly kind: "boolean"; readonly text: string }
  | { readonly kind: "array"; readonly length: number }
  | { readonly kind: "object"; readonly firstKeys: readonly string[] }
  | { readonly kind: "null" };

/** A JSON text that is read by pointers. */
export interface JsonDocument {
  /** The value at the end of the tokens, or `null` where there is none. Inherited properties are none. */
  at(tokens: readonly string[]): JsonValue | null;
  /** The text of a string, number or boolean; `null` for anything else. */
  textAt(tokens: readonly string[]): string | null;
}

/** From this size on a body is read where it lies, not parsed into values. */
const READ_AS_BYTES_MIN = 262_144;

/** One that was parsed. */
export class JsonText implements JsonDocument {
  readonly #text: string;
  readonly #root: unknown;

  private constructor(text: string, root: unknown) {
    this.#text = text;
    this.#root = root;
  }

  /** `null` where the text is not JSON. */
  static parse(text: string): JsonText | null {
    try {
      return new JsonText(text, JSON.parse(text));
    } catch {
      return null;
    }
  }

  /** `null` where the bytes are too many, not UTF-8 or not JSON. */
  static fromBytes(bytes: Uint8Array): JsonDocument | null {
    if (bytes.length === 0 || bytes.length > PARSED_BODY_BYTES_MAX) return null;
    if (bytes.length >= READ_AS_BYTES_MIN) return JsonBytes.read(bytes);
    const text = textFromUtf8(bytes);
    return text === null ? null : JsonText.parse(text);
  }

  at(tokens: readonly string[]): JsonValue | null {
    let value = this.#root;
    for (const token of tokens) {
      if (Array.isArray(value) ? !isIndex(token, value.length) : !isObject(value) || !Object.hasOwn(value, token)) {
        return null;
      }
      value = (value as Record<string, unknown>)[token];
    }
    if (typeof value === "string") return { kind: "string", text: value };
    if (typeof value === "number") return { kind: "number", text: numberText(this.#text, tokens) };
    if (typeof value === "boolean") return { kind: "boolean", text: String(value) };
    if (Array.isArray(value)) return { kind: "array", length: value.length };
    if (isObject(value)) return { kind: "object", firstKeys: Object.keys(value).slice(0, 16) };
    return { kind: "null" };
  }

  textAt(tokens: readonly string[]): string | null {
    const value = this.at(tokens);
    return value !== null && "text" in value ? value.text : null;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function isIndex(token: string, length: number): boolean {
  return /^(0|[1-9][0-9]{0,8})$/.test(token) && Number(token) < length;
}

/**
 * The digits of the number at the end of the tokens. The text is known to be JSON and the number to be there, so the
 * scan needs no checks of its own; of equal keys the last counts, as `JSON.parse` has it.
 */
function numberText(text: string, tokens: readonly string[]): string {
  let start = skipSpace(text, 0);
  for (const token of tokens) {
    start = text[start] === "[" ? elementStart(text, start, Number(token)) : memberStart(text, start, token);
  }
  let end = start;
  while (end < text.length && !",]} \t\r\n".includes(text.charAt(end))) end++;
  return text.slice(start, end);
}

function elementStart(text: string, open: number, index: number): number {
  let at = skipSpace(text, open + 1);
  for (let i = 0; i < index; i++) at = skipSpace(text, skipSpace(text, valueEnd(text, at)) + 1);
  return at;
}

function memberStart(text: string, open: number, key: string): number {
  let found = open;
  let at = skipSpace(text, open + 1);
  while (text[at] === '"') {
    const keyEnd = stringEnd(text, at);
    const value = skipSpace(text, skipSpace(text, keyEnd) + 1);
    if (JSON.parse(text.slice(at, keyEnd)) === key) found = value;
    const after = skipSpace(text, valueEnd(text, value));
    if (text[after] !== ",") break;
    at = skipSpace(text, after + 1);
  }
  return found;
}

function valueEnd(text: string, start: number): number {
  let depth = 0;
  let at = start;
  do {
    const sign = text[at];
    if (sign === '"') {
      at = stringEnd(text, at);
      continue;
    }
    if (sign === "{" || sign === "[") depth++;
    else if (sign === "}" || sign === "]") depth--;
    at++;
  } while (at < text.length && (depth > 0 || !",]}".includes(text.charAt(at))));
  return at;
}

function stringEnd(text: string, start: number): number {
  let at = start + 1;
  while (text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at + 1;
}

function skipSpace(text: string, start: number): number {
  let at = start;
  while (" \t\r\n".includes(text.charAt(at)) && at < text.length) at++;
  return at;
}
