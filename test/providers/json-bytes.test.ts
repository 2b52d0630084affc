import fc from "fast-check";
import { expect, test } from "vitest";
import { JsonText } from "../../src/providers/json-body.ts";
import { JsonBytes } from "../../src/providers/json-bytes.ts";

const encoder = new TextEncoder();

/**
 * No key ends with a backslash: after one such key V8's own parser (13.6) takes the key `"\""` for it where that stands second, and
 * the comparison is with that parser.
 */
const keys = fc
  .oneof(fc.constantFrom("id", "type", "", "a b", "\u00e9", '"', "\\x", "\n", "__proto__", "2"), fc.string())
  .filter((key) => !key.endsWith("\\"));
const values = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.oneof(
      fc.string({ unit: "grapheme" }),
      fc.integer(),
      fc.double({ noNaN: true }),
      fc.boolean(),
      fc.constant(null),
    ),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.array(fc.tuple(keys, tie("value")), { maxLength: 4 }).map((members) => ({ $members: members })),
  ),
})).value;

/** Writes a value with its members in their order, equal keys included, and space and escapes as they may come. */
function written(value: unknown, isSpaced: boolean): string {
  const space = isSpaced ? " \n" : "";
  if (Array.isArray(value))
    return `[${space}${value.map((each) => written(each, isSpaced)).join(`${space},`)}${space}]`;
  if (typeof value === "object" && value !== null) {
    const { $members } = value as { readonly $members: readonly (readonly [string, unknown])[] };
    const members = $members.map(
      ([key, each]) => `${literal(key, isSpaced)}${space}:${space}${written(each, isSpaced)}`,
    );
    return `{${space}${members.join(`${space},${space}`)}}`;
  }
  return JSON.stringify(value);
}

function literal(key: string, isEscaped: boolean): string {
  if (!isEscaped) return JSON.stringify(key);
  const units = Array.from({ length: key.length }, (_, i) => `\\u${key.charCodeAt(i).toString(16).padStart(4, "0")}`);
  return `"${units.join("")}"`;
}

/** Paths to everything in a value, and some that lead nowhere. */
function paths(value: unknown): string[][] {
  const found: string[][] = [[], ["nowhere"], ["0"], ["-1"], ["00"]];
  const children: [string, unknown][] = Array.isArray(value)
    ? value.map((each, index) => [String(index), each])
    : typeof value === "object" && value !== null
      ? [...(value as { readonly $members: readonly (readonly [string, unknown])[] }).$members].map(([k, v]) => [k, v])
      : [];
  for (const [token, child] of children) found.push(...paths(child).map((path) => [token, ...path]));
  return found;
}

test("[D1] [D8] bytes are read as a parse of their text would be: texts, digits, lengths, the last of equal keys", () => {
  fc.assert(
    fc.property(values, fc.boolean(), fc.boolean(), (value, isSpaced, hasMark) => {
      const text = written(value, isSpaced);
      const bytes = JsonBytes.read(encoder.encode(hasMark ? `\ufeff${text}` : text));
      const parsed = JsonText.parse(text);
      expect(bytes).not.toBeNull();
      for (const path of paths(value)) {
        const [mine, theirs] = [bytes?.at(path) ?? null, parsed?.at(path) ?? null];
        // A parse puts keys that are numbers first: which keys there are is what counts.
        if (mine?.kind === "object" && theirs?.kind === "object") {
          expect([...mine.firstKeys].sort()).toEqual([...theirs.firstKeys].sort());
        } else expect(mine).toEqual(theirs);
        expect(bytes?.textAt(path)).toBe(parsed?.textAt(path));
      }
    }),
    { numRuns: 1_000 },
  );
});

test("[D8] a body of a megabyte is read without being parsed; what is no JSON, or no UTF-8, is none", () => {
  const filler = "x".repeat(1_000_000);
  const big = JsonText.fromBytes(encoder.encode(`{"list":[1,2,{"id":12345678901234567890}],"text":"${filler}"}`));
  expect(big).toBeInstanceOf(JsonBytes);
  expect(big?.at(["list", "2", "id"])).toEqual({ kind: "number", text: "12345678901234567890" });
  expect(big?.textAt(["text"])).toHaveLength(1_000_000);
  expect(JsonText.fromBytes(encoder.encode(`{"text":"${filler}"`))).toBeNull();
  const notUtf8 = encoder.encode(`{"text":"${filler}"}`);
  notUtf8[500_000] = 0xff;
  expect(JsonText.fromBytes(notUtf8)).toBeNull();
});
