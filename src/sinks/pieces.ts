/**
 * A request's body piece by piece [V25]: JSON escaping and base64 are done on bytes, in one buffer that is used again and
 * again, so that a body of 25 MiB leaves nothing to the garbage collector. A piece is good until the next is asked for.
 */
import type { Pieces } from "../core/large-body.ts";

/**
 * Bytes of a body that become one piece. A multiple of 3, for base64. Each piece leaves some KB of promises behind:
 * with pieces of 48 KiB ten bodies of 25 MiB left 14 MB to the garbage collector, with these next to nothing.
 */
const STEP_BYTES = 192 * 1024;

const encoder = new TextEncoder();

/** A text, then the pieces of a body, then another text. */
export async function* framed(before: string, pieces: Pieces, after: string): AsyncGenerator<Uint8Array> {
  yield encoder.encode(before);
  yield* pieces;
  yield encoder.encode(after);
}

/** What `JSON.stringify` makes of a UTF-8 text, without the quotes around it. */
export async function* escaped(pieces: Pieces): AsyncGenerator<Uint8Array> {
  // The longest escape is six bytes for one.
  const out = new Uint8Array(STEP_BYTES * 6);
  try {
    for await (const step of steps(pieces)) yield out.subarray(0, escapeInto(step, out));
  } finally {
    out.buffer.transfer(0);
  }
}

/** Base64 of all the bytes, with padding. */
export async function* base64(pieces: Pieces): AsyncGenerator<Uint8Array> {
  const out = new Uint8Array((STEP_BYTES / 3) * 4 + 4);
  let carried: number[] = [];
  try {
    for await (const step of steps(pieces)) {
      let from = 0;
      while (carried.length > 0 && carried.length < 3 && from < step.length) carried.push(step[from++] ?? 0);
      let filled = 0;
      if (carried.length === 3) {
        filled = encodeInto(Uint8Array.from(carried), out, 0);
        carried = [];
      }
      const to = step.length - ((step.length - from) % 3);
      filled = encodeInto(step.subarray(from, to), out, filled);
      carried.push(...step.subarray(to));
      if (filled > 0) yield out.subarray(0, filled);
    }
    if (carried.length > 0) yield encoder.encode(Uint8Array.from(carried).toBase64());
  } finally {
    out.buffer.transfer(0);
  }
}

/** Others get their turn after this many bytes: reading 25 MiB in one go would keep every caller waiting. */
const TURN_BYTES = 1_000_000;

/** The same pieces, with a pause now and then in which the object does other things. */
export async function* unhurried(pieces: Pieces): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const piece of pieces) {
    yield piece;
    bytes += piece.length;
    if (bytes < TURN_BYTES) continue;
    bytes = 0;
    await scheduler.wait(0);
  }
}

async function* steps(pieces: Pieces): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    for (let from = 0; from < piece.length; from += STEP_BYTES) yield piece.subarray(from, from + STEP_BYTES);
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** What stands after the backslash; 0: the long form. */
const SHORT_ESCAPES = new Uint8Array(256);
for (const [byte, sign] of [
  [0x08, "b"],
  [0x09, "t"],
  [0x0a, "n"],
  [0x0c, "f"],
  [0x0d, "r"],
  [QUOTE, '"'],
  [BACKSLASH, "\\"],
] as const) {
  SHORT_ESCAPES[byte] = sign.charCodeAt(0);
}
const IS_ESCAPED = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number(byte < 0x20 || byte === QUOTE || byte === BACKSLASH),
);
const HEX = encoder.encode("0123456789abcdef");
const ZERO = 0x30;
const LETTER_U = 0x75;

/** Bytes beyond ASCII stand as they are, so that a character may lie across two pieces. */
function escapeInto(bytes: Uint8Array, out: Uint8Array): number {
  let filled = 0;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] ?? 0;
    if (IS_ESCAPED[byte] === 0) {
      out[filled++] = byte;
      continue;
    }
    const short = SHORT_ESCAPES[byte] ?? 0;
    out[filled++] = BACKSLASH;
    if (short !== 0) {
      out[filled++] = short;
      continue;
    }
    out[filled++] = LETTER_U;
    out[filled++] = ZERO;
    out[filled++] = ZERO;
    out[filled++] = HEX[byte >> 4] ?? 0;
    out[filled++] = HEX[byte & 15] ?? 0;
  }
  return filled;
}

const BASE64 = encoder.encode("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");

/** Encodes bytes, whose number is a multiple of 3, behind `filled`; answers how much is filled then. */
function encodeInto(bytes: Uint8Array, out: Uint8Array, filled: number): number {
  let end = filled;
  for (let i = 0; i < bytes.length; i += 3) {
    const bits = ((bytes[i] ?? 0) << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0);
    out[end] = BASE64[bits >> 18] ?? 0;
    out[end + 1] = BASE64[(bits >> 12) & 63] ?? 0;
    out[end + 2] = BASE64[(bits >> 6) & 63] ?? 0;
    out[end + 3] = BASE64[bits & 63] ?? 0;
    end += 4;
  }
  return end;
}
