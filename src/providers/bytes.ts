import type { Encoding } from "./scheme.ts";

/**
 * Text forms of bytes, strictly: a lenient decoder hides typing errors in secrets and widens what counts as a
 * signature. Every decoder answers `null` for text that is not of its form, and never throws [I8].
 */

const HEX = "0123456789abcdef";
const BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const NOT_A_DIGIT = 255;
const PADDING = "=".charCodeAt(0);

const hexValues = table(HEX);
for (const letter of "ABCDEF") hexValues[letter.charCodeAt(0)] = HEX.indexOf(letter.toLowerCase());
const base64Values = table(BASE64);
const base64UrlValues = table(`${BASE64.slice(0, 62)}-_`);

function table(alphabet: string): Uint8Array {
  const values = new Uint8Array(128).fill(NOT_A_DIGIT);
  for (let i = 0; i < alphabet.length; i++) values[alphabet.charCodeAt(i)] = i;
  return values;
}

function digit(values: Uint8Array, text: string, at: number): number {
  return values[text.charCodeAt(at)] ?? NOT_A_DIGIT;
}

export function bytesFrom(encoding: Encoding, text: string): Uint8Array<ArrayBuffer> | null {
  switch (encoding) {
    case "hex":
      return bytesFromHex(text);
    case "base64":
      return bytesFromBase64(text);
    case "base64url":
      return bytesFromBase64Url(text);
    case "base64-of-hex": {
      const digits = bytesFromBase64(text);
      return digits === null ? null : bytesFromHex(textFromUtf8(digits) ?? "");
    }
  }
}

/** Hex in either case, an even number of digits, at least two. */
export function bytesFromHex(text: string): Uint8Array<ArrayBuffer> | null {
  if (text.length === 0 || text.length % 2 !== 0) return null;
  const bytes = new Uint8Array(text.length / 2);
  return decodeInto("hex", text, 0, text.length, bytes) ? bytes : null;
}

/** Base64 with its padding, and no stray bits in the last digit: every byte string has exactly one spelling. */
export function bytesFromBase64(text: string): Uint8Array<ArrayBuffer> | null {
  if (text.length === 0 || text.length % 4 !== 0) return null;
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  const bytes = new Uint8Array((text.length / 4) * 3 - padding);
  return decodeInto("base64", text, 0, text.length, bytes) ? bytes : null;
}

/** Base64url; the padding may be left out, as most senders do. */
export function bytesFromBase64Url(text: string): Uint8Array<ArrayBuffer> | null {
  const padding = text.length % 4 !== 0 ? 0 : text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  const digitCount = text.length - padding;
  if (digitCount === 0 || digitCount % 4 === 1) return null;
  const bytes = new Uint8Array((digitCount * 6) >> 3);
  return decodeDigits(base64UrlValues, text, 0, digitCount, bytes) ? bytes : null;
}

/**
 * Decodes a part of a text into bytes that are there already; false where it is not of the form, or does not fill them
 * exactly. What the bytes hold is then undefined.
 */
export function decodeInto(
  encoding: "hex" | "base64",
  text: string,
  start: number,
  end: number,
  target: Uint8Array,
): boolean {
  if (encoding === "hex") {
    if (end - start !== target.length * 2) return false;
    for (let i = 0; i < target.length; i++) {
      const high = digit(hexValues, text, start + 2 * i);
      const low = digit(hexValues, text, start + 2 * i + 1);
      if (high === NOT_A_DIGIT || low === NOT_A_DIGIT) return false;
      target[i] = (high << 4) | low;
    }
    return true;
  }
  const padding = (3 - (target.length % 3)) % 3;
  if (end - start !== ((target.length + padding) / 3) * 4) return false;
  for (let i = 1; i <= padding; i++) if (text.charCodeAt(end - i) !== PADDING) return false;
  return decodeDigits(base64Values, text, start, end - start - padding, target);
}

function decodeDigits(
  values: Uint8Array,
  text: string,
  start: number,
  digitCount: number,
  target: Uint8Array,
): boolean {
  let held = 0;
  let heldBits = 0;
  let filled = 0;
  for (let i = start; i < start + digitCount; i++) {
    const value = digit(values, text, i);
    if (value === NOT_A_DIGIT) return false;
    held = ((held << 6) | value) & 0xffff;
    heldBits += 6;
    if (heldBits >= 8) {
      heldBits -= 8;
      target[filled++] = held >> heldBits;
    }
  }
  return (held & ((1 << heldBits) - 1)) === 0;
}

export function hexFromBytes(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += HEX.charAt(byte >> 4) + HEX.charAt(byte & 15);
  return text;
}

export function base64FromBytes(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

const encoder = new TextEncoder();

export function utf8(text: string): Uint8Array<ArrayBuffer> {
  // An encoder never answers with shared memory, though its type allows it.
  return encoder.encode(text) as Uint8Array<ArrayBuffer>;
}

/** The text, or `null` where the bytes are not UTF-8. A byte order mark is not part of the text. */
export function textFromUtf8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    return null;
  }
}

let crcTable: Uint32Array | null = null;

/** CRC-32 (IEEE 802.3), as PayPal signs it; an unsigned number. */
export function crc32(bytes: Uint8Array): number {
  crcTable ??= Uint32Array.from({ length: 256 }, (_, index) => {
    let value = index;
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
    return value;
  });
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crc >>> 8) ^ (crcTable[(crc ^ byte) & 255] ?? 0);
  return (crc ^ 0xffffffff) >>> 0;
}
