import fc from "fast-check";
import { expect, test } from "vitest";
import { isUtf8 } from "../../src/core/utf8.ts";

function decodes(bytes: Uint8Array): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

test("[V2] [V25] bytes are UTF-8 exactly where a strict decoder takes them: every beginning of a character", () => {
  const wrong: number[][] = [];
  const tails = [0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xff];
  for (let first = 0; first < 256; first++) {
    for (const second of tails) {
      for (const rest of [[], [0x80], [0xbf], [0x80, 0x80], [0xbf, 0xbf], [0x80, 0x41], [0x80, 0x80, 0x80]]) {
        for (const bytes of [
          [first],
          [first, second],
          [first, second, ...rest],
          [0x41, first, second, ...rest, 0x41],
        ]) {
          if (isUtf8(Uint8Array.from(bytes)) !== decodes(Uint8Array.from(bytes))) wrong.push(bytes);
        }
      }
    }
  }
  expect(wrong).toEqual([]);
});

test("[V2] [V25] a text with one byte changed is judged as a strict decoder judges it", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.nat(), fc.nat({ max: 255 }), (text, at, byte) => {
      const bytes = new TextEncoder().encode(text.toWellFormed());
      expect(isUtf8(bytes)).toBe(true);
      if (bytes.length === 0) return;
      bytes[at % bytes.length] = byte;
      expect(isUtf8(bytes)).toBe(decodes(bytes));
    }),
    { numRuns: 2_000 },
  );
});
