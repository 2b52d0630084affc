/**
 * A JSON text read by pointers on its bytes. A parse of a megabyte leaves many times its size to the garbage collector,
 * and of a large body nothing is wanted but an id and a type: so it is checked, and searched, where it lies.
 */
import { JsonCheck } from "../core/json-check.ts";
import { isUtf8 } from "../core/utf8.ts";
import { textFromUtf8, utf8 } from "./bytes.ts";
import type { JsonDocument, JsonValue } from "./json-body.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];
const FIRST_KEYS_MAX = 16;

export class JsonBytes implements JsonDocument {
  readonly #bytes: Uint8Array;
  readonly #root: number;

  private constructor(bytes: Uint8Array, root: number) {
    this.#bytes = bytes;
    this.#root = root;
  }

  /** `null` where the bytes are not UTF-8 or not JSON. */
  static read(bytes: Uint8Array): JsonBytes | null {
    const start = BYTE_ORDER_MARK.every((byte, index) => bytes[index] === byte) ? BYTE_ORDER_MARK.length : 0;
    const check = new JsonCheck();
    if (!check.push(bytes.subarray(start)) || !check.end() || !isUtf8(bytes)) return null;
    return new JsonBytes(bytes, skipSpace(bytes, start));
  }

  at(tokens: readonly string[]): JsonValue | null {
    let start: number | null = this.#root;
    for (const token of tokens) {
      start = this.#step(start, token);
      if (start === null) return null;
    }
    return this.#value(start);
  }

  textAt(tokens: readonly string[]): string | null {
    const value = this.at(tokens);
    return value !== null && "text" in value ? value.text : null;
  }

  #step(start: number, token: string): number | null {
    const bytes = this.#bytes;
    if (bytes[start] === OPEN_LIST) {
      if (!/^(0|[1-9][0-9]{0,8})$/.test(token)) return null;
      return elements(bytes, start).drop(Number(token)).next().value ?? null;
    }
    if (bytes[start] !== OPEN_OBJECT) return null;
    const wanted = utf8(token);
    let found: number | null = null;
    // Of equal keys the last counts, as `JSON.parse` has it.
    for (const member of members(bytes, start)) if (isKey(member.key, token, wanted)) found = member.value;
    return found;
  }

  #value(start: number): JsonValue {
    const bytes = this.#bytes;
    switch (bytes[start]) {
      case QUOTE:
        return { kind: "string", text: stringOf(bytes.subarray(start, stringEnd(bytes, start))) };
      case OPEN_LIST:
        return { kind: "array", length: elements(bytes, start).reduce((count) => count + 1, 0) };
      case OPEN_OBJECT: {
        const keys = new Set(
          members(bytes, start)
            .map((member) => stringOf(member.key))
            .take(FIRST_KEYS_MAX),
        );
        return { kind: "object", firstKeys: [...keys] };
      }
      default: {
        const text = textFromUtf8(bytes.subarray(start, wordEnd(bytes, start))) ?? "";
        if (text === "null") return { kind: "null" };
        return text === "true" || text === "false" ? { kind: "boolean", text } : { kind: "number", text };
      }
    }
  }
}

/** Where the elements of the list at `open` begin. The bytes are known to be JSON, here and below. */
function* elements(bytes: Uint8Array, open: number): Generator<number, undefined> {
  let at = skipSpace(bytes, open + 1);
  while (bytes[at] !== CLOSE_LIST) {
    yield at;
    at = skipSpace(bytes, valueEnd(bytes, at));
    if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1);
  }
}

/** The keys of the object at `open`, quotes included, and where their values begin. */
function* members(bytes: Uint8Array, open: number): Generator<{ readonly key: Uint8Array; readonly value: number }> {
  let at = skipSpace(bytes, open + 1);
  while (bytes[at] !== CLOSE_OBJECT) {
    const keyEnd = stringEnd(bytes, at);
    const value = skipSpace(bytes, skipSpace(bytes, keyEnd) + 1);
    yield { key: bytes.subarray(at, keyEnd), value };
    at = skipSpace(bytes, valueEnd(bytes, value));
    if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1);
  }
}

function isKey(key: Uint8Array, token: string, wanted: Uint8Array): boolean {
  if (key.includes(BACKSLASH)) return stringOf(key) === token;
  return key.length === wanted.length + 2 && wanted.every((byte, index) => key[index + 1] === byte);
}

function stringOf(literal: Uint8Array): string {
  return JSON.parse(textFromUtf8(literal) ?? '""') as string;
}

function valueEnd(bytes: Uint8Array, start: number): number {
  if (bytes[start] === QUOTE) return stringEnd(bytes, start);
  if (bytes[start] !== OPEN_LIST && bytes[start] !== OPEN_OBJECT) return wordEnd(bytes, start);
  let depth = 0;
  let at = start;
  do {
    const byte = bytes[at];
    if (byte === QUOTE) {
      at = stringEnd(bytes, at);
      continue;
    }
    if (byte === OPEN_LIST || byte === OPEN_OBJECT) depth++;
    else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth--;
    at++;
  } while (depth > 0);
  return at;
}

function stringEnd(bytes: Uint8Array, start: number): number {
  let at = start + 1;
  while (bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at + 1;
}

/** After a number, `true`, `false` or `null`. */
function wordEnd(bytes: Uint8Array, start: number): number {
  let at = start;
  while (at < bytes.length && /[-+.0-9A-Za-z]/.test(String.fromCharCode(bytes[at] ?? 0))) at++;
  return at;
}

function skipSpace(bytes: Uint8Array, start: number): number {
  let at = start;
  while (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09) at++;
  return at;
}
