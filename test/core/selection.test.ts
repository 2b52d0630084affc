import { expect, test } from "vitest";
import { isSelected, type Selection } from "../../src/core/selection.ts";

const event = { source: "stripe", type: "invoice.paid", receivedAtMs: 1_000 };
const untyped = { ...event, type: null };

test.each<[Selection, typeof event | typeof untyped, boolean]>([
  [{}, event, true],
  [{}, untyped, true],
  [{ source: "stripe" }, event, true],
  [{ source: "github" }, event, false],
  [{ type: "invoice.paid" }, event, true],
  [{ type: "invoice.*" }, event, true],
  [{ type: "charge.*" }, event, false],
  [{ type: "invoice" }, event, false],
  [{ type: "invoice.*" }, untyped, false],
  // As in a destination's filter: everything, with a type or without.
  [{ type: "*" }, event, true],
  [{ type: "*" }, untyped, true],
  [{ fromMs: 1_000, toMs: 1_001 }, event, true],
  [{ fromMs: 1_001 }, event, false],
  [{ toMs: 1_000 }, event, false],
  [{ source: "stripe", type: "charge.*" }, event, false],
])("[X2] [X8] [X14] %j means %j: %s", (selection, candidate, isMeant) => {
  expect(isSelected(selection, candidate)).toBe(isMeant);
});

test("[X8] a reason means only what died of it", () => {
  expect(isSelected({ reason: "gave-up" }, event, "gave-up")).toBe(true);
  expect(isSelected({ reason: "gave-up" }, event, "by-hand")).toBe(false);
  expect(isSelected({ reason: "gave-up" }, event)).toBe(false);
});
