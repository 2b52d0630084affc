import fc from "fast-check";
import { expect, test } from "vitest";
import { findJsonFault, placeOf } from "../../src/admin/json-fault.ts";

/** A text and what is left of it at the fault. */
const faults: readonly (readonly [string, string, string])[] = [
  ["", "", "a value"],
  ["{", "", "a name in double quotes"],
  ['{"a"', "", "a colon"],
  ['{"a":', "", "a value"],
  ['{"a":1', "", "a comma or }"],
  ['{"a":1,}', "}", "a name in double quotes"],
  ["{'a':1}", "'a':1}", "a name in double quotes"],
  ["{a:1}", "a:1}", "a name in double quotes"],
  ['{"a" 1}', "1}", "a colon"],
  ['{"a":1 "b":2}', '"b":2}', "a comma or }"],
  ["[1,]", "]", "a value"],
  ["[1 2]", "2]", "a comma or ]"],
  ["[1", "", "a comma or ]"],
  ["[01]", "1]", "a comma or ]"],
  ['{"a":tru}', "tru}", "a value"],
  ['{"a":"line\nbreak"}', '"line\nbreak"}', "a value"],
  ['{"a":"bad \\x"}', '"bad \\x"}', "a value"],
  ["{} {}", "{}", "nothing more"],
  ["{}x", "x", "nothing more"],
  ["NaN", "NaN", "a value"],
  ["\ufeff{}", "\ufeff{}", "a value"],
];

test.each(faults)("[O2] %j stops being JSON at %j: expected %s", (text, rest, expected) => {
  const fault = findJsonFault(text);
  expect(fault?.expected).toBe(expected);
  expect(text.slice(fault?.offset)).toBe(rest);
});

test("[O2] what the runtime takes for JSON has no fault, and nothing else is without one", () => {
  const isJson = (text: string): boolean => {
    try {
      JSON.parse(text);
      return true;
    } catch {
      return false;
    }
  };
  fc.assert(
    fc.property(fc.json(), (text) => findJsonFault(text) === null),
    { numRuns: 500 },
  );
  const altered = fc.tuple(fc.json(), fc.nat(), fc.constantFrom("", ",", "}", '"', "\\", "1", "x", " ", "\u0001"));
  fc.assert(
    fc.property(altered, ([json, position, sign]) => {
      const at = position % (json.length + 1);
      const text = json.slice(0, at) + sign + json.slice(at + 1);
      return (findJsonFault(text) === null) === isJson(text);
    }),
    { numRuns: 2_000 },
  );
});

test("[O2] [O15] a place is given as editors count", () => {
  expect(placeOf('{\n  "a": x\n}', 9)).toEqual({ line: 2, column: 8 });
  expect(placeOf("x", 0)).toEqual({ line: 1, column: 1 });
});
