import { expect, test } from "vitest";
import { mergePatch } from "../../src/tenants/merge-patch.ts";

/** The examples of RFC 7396, appendix A: target, patch, result. */
const examples: readonly (readonly [string, string, string])[] = [
  ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
  ['{"a":"b"}', '{"a":null}', "{}"],
  ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
  ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
  ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
  ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
  ['["a","b"]', '["c","d"]', '["c","d"]'],
  ['{"a":"b"}', '["c"]', '["c"]'],
  ['{"a":"foo"}', "null", "null"],
  ['{"a":"foo"}', '"bar"', '"bar"'],
  ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
  ["[1,2]", '{"a":"b","c":null}', '{"a":"b"}'],
  ["{}", '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
];

test.each(examples)("[O2] (RFC 7396) %s patched with %s is %s", (target, patch, result) => {
  expect(mergePatch(JSON.parse(target), JSON.parse(patch))).toEqual(JSON.parse(result));
});

test("[O2] a patch named __proto__ changes no prototype", () => {
  const merged = mergePatch({ a: 1 }, JSON.parse('{"__proto__":{"polluted":true}}')) as Record<string, unknown>;
  expect(Object.getPrototypeOf(merged)).toBe(Object.prototype);
  expect(Object.hasOwn(merged, "__proto__")).toBe(true);
  expect(merged.polluted).toBeUndefined();
});

test("[O2] neither the target nor the patch is changed", () => {
  const target = { a: { b: 1 } };
  const patch = { a: { c: 2 } };
  mergePatch(target, patch);
  expect([target, patch]).toEqual([{ a: { b: 1 } }, { a: { c: 2 } }]);
});
