import fc from "fast-check";
import { expect, test } from "vitest";
import { JsonCheck } from "../../src/core/json-check.ts";

const encoder = new TextEncoder();

/** As the check sees it, the bytes coming in pieces of this size. */
function isJson(text: string, pieceSize: number): boolean {
  const bytes = encoder.encode(text);
  const check = new JsonCheck();
  for (let from = 0; from < bytes.length; from += pieceSize) {
    if (!check.push(bytes.subarray(from, from + pieceSize))) return false;
  }
  return check.end();
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const pieceSizes = fc.integer({ min: 1, max: 7 });

test("[V3] [V25] a text in pieces is JSON exactly where JSON.parse takes it", () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 4 }), pieceSizes, (text, size) => {
      expect(isJson(text, size)).toBe(true);
    }),
    { numRuns: 500 },
  );
});

test("[V3] [V25] a text with one character taken out, put in or exchanged is judged as JSON.parse judges it", () => {
  const signs = fc.constantFrom(...'{}[]",:\\/-+.eE0123456789 \t\n\r\u0000tfnrulase\u00e9\u{1f600}\ufeff');
  fc.assert(
    fc.property(
      fc.json({ maxDepth: 3 }),
      fc.nat(),
      signs,
      fc.integer({ min: 0, max: 2 }),
      pieceSizes,
      (text, at, sign, how, size) => {
        const index = at % (text.length + 1);
        const [before, after] = [text.slice(0, index), text.slice(how === 0 ? index : index + 1)];
        const changed = (how === 2 ? before + after : before + sign + after).toWellFormed();
        expect(isJson(changed, size)).toBe(parses(changed));
      },
    ),
    { numRuns: 3_000 },
  );
});

const odd: readonly string[] = [
  ...["", " ", "0", "-0", "00", "01", "-", "1.", "1.e2", "1e", "1e+", "1E-05", ".5", "+1", "1.5e300 ", "0x1", "1_000"],
  ...[
    "tru",
    "true",
    "truee",
    "nul",
    "null ",
    "NaN",
    "Infinity",
    "'a'",
    '"a',
    '"\\u12g4"',
    '"\\u12"',
    '"\\uD800"',
    '"\\x"',
  ],
  ...['"\t"', '"\\/"', "[1,]", "[,1]", "[1 2]", '{"a"}', '{"a":}', '{"a":1,}', "{,}", "{a:1}", '{"a":1 "b":2}'],
  ...["[]]", "[[]", "}", "{]", "[}", " [ ] ", ' { "a" : [ { } , null ] } ', "1 2", '"a" "b"', "\ufeff1", "[1]x"],
];

test.each(odd)("[V3] [V25] %j is judged as JSON.parse judges it", (text) => {
  for (const size of [1, 2, 100]) expect(isJson(text, size)).toBe(parses(text));
});

test("[V3] [V25] brackets without end are given up, not followed for ever", () => {
  expect(isJson("[".repeat(10_000) + "]".repeat(10_000), 4_096)).toBe(true);
  expect(isJson("[".repeat(10_001) + "]".repeat(10_001), 4_096)).toBe(false);
});
