import { expect, test } from "vitest";
import { passes } from "../../src/core/filter.ts";

test("[V16] without a filter everything passes", () => {
  expect(passes(null, "stripe", null)).toBe(true);
  expect(passes({ sources: null, types: null }, "stripe", null)).toBe(true);
});

test.each([
  [["stripe"], "stripe", true],
  [["stripe"], "github", false],
  [["stripe", "github"], "github", true],
  [[], "stripe", false],
] as const)("[V16] sources %j: an event of %s passes: %s", (sources, source, passesIt) => {
  expect(passes({ sources, types: null }, source, "a")).toBe(passesIt);
});

test.each([
  ["invoice.*", "invoice.paid", true],
  ["invoice.*", "invoice.", true],
  ["invoice.*", "invoice", false],
  ["invoice.*", "invoices.paid", false],
  ["invoice.paid", "invoice.paid", true],
  ["invoice.paid", "invoice.paid.twice", false],
  ["invoice.p?id", "invoice.paid", false],
  ["*", "anything", true],
  ["*", null, true],
  ["invoice.*", null, false],
] as const)("[V16] type %s: an event of type %s passes: %s", (pattern, type, passesIt) => {
  expect(passes({ sources: null, types: [pattern] }, "stripe", type)).toBe(passesIt);
});

test("[V16] source and type must both fit; one of several types is enough", () => {
  const filter = { sources: ["stripe"], types: ["charge.*", "invoice.*"] };
  expect(passes(filter, "stripe", "invoice.paid")).toBe(true);
  expect(passes(filter, "github", "invoice.paid")).toBe(false);
  expect(passes(filter, "stripe", "customer.created")).toBe(false);
});
