import { describe, expect, test } from "vitest";
import { hasContrast, isGuilty, recordResult } from "../../../src/core/delivery/guilt.ts";
import { createRow, type DeliveryRow, type Result } from "../../../src/core/delivery/row.ts";

const SUSPECT = { seq: 7, firstFailureAtMs: 100 };

function accepted(eventCount: number, atMs = 200): Result {
  return { atMs, seq: eventCount === 1 ? 1_000 : null, eventCount, acceptedCount: eventCount, against: false };
}

function partly(acceptedCount: number, eventCount: number, atMs = 200): Result {
  return { atMs, seq: null, eventCount, acceptedCount, against: false };
}

function failed(seq: number | null, atMs = 200): Result {
  return { atMs, seq, eventCount: seq === null ? 2 : 1, acceptedCount: 0, against: true };
}

function rowWith(...results: Result[]): DeliveryRow {
  return results.reduce(recordResult, createRow(0));
}

const OTHERS_FAILED = [1, 2, 3, 4, 5, 6, 8].map((seq) => failed(seq));

describe("is an event that failed alone charged", () => {
  const cases: [name: string, results: Result[], whenFailed: boolean, whenRefused: boolean][] = [
    ["nothing else was tried since", [], false, true],
    ["only it was tried", [failed(7), failed(7)], false, true],
    ["others were accepted before its first failure only", [accepted(5, 90), accepted(5, 100)], false, true],
    ["one other was accepted", [accepted(1)], true, true],
    ["others failed, none was accepted", OTHERS_FAILED, false, false],
    ["a batch failed, nothing was accepted", [failed(null)], false, false],
    ["five accepted, one failed: 83 %", [accepted(5), failed(1)], false, true],
    ["nine accepted, one failed: nine in ten", [accepted(5), accepted(4), failed(1)], true, true],
    ["eight accepted, one failed: less", [accepted(5), accepted(3), failed(1)], false, true],
    ["fifty in one request weigh five", [accepted(50), failed(1)], false, true],
    ["its own failures do not count against the others", [accepted(1), failed(7), failed(7)], true, true],
    ["batches that failed weigh nothing", [accepted(1), failed(null), failed(null), failed(null)], true, true],
    ["a partly accepted one counts by its accepted events only", [partly(1, 50)], true, true],
    ["a partly accepted one of two, one failure", [partly(2, 50), failed(1)], false, true],
  ];
  for (const [name, results, whenFailed, whenRefused] of cases) {
    test(`[V22] ${name}: ${whenFailed ? "yes" : "no"} if it failed, ${whenRefused ? "yes" : "no"} if it was refused`, () => {
      expect(isGuilty(rowWith(...results), SUSPECT, "failed")).toBe(whenFailed);
      expect(isGuilty(rowWith(...results), SUSPECT, "refused")).toBe(whenRefused);
    });
  }

  test("[V22] [V23] one that was named: the others of the same answer are its contrast", () => {
    const row = createRow(0);
    expect(isGuilty(row, SUSPECT, "refused", { acceptedCount: 3, eventCount: 5 })).toBe(true);
    expect(isGuilty(row, SUSPECT, "refused", { acceptedCount: 0, eventCount: 5 })).toBe(false);
    expect(isGuilty(row, SUSPECT, "refused", { acceptedCount: 0, eventCount: 0 })).toBe(true);
  });

  test("[V22] that others were tried is known even where the breaker has forgotten the results", () => {
    const forgotten = { ...rowWith(failed(1), failed(7), failed(7)), results: [] };
    expect(isGuilty(forgotten, SUSPECT, "refused")).toBe(false);
    expect(isGuilty({ ...rowWith(failed(1, 50), failed(7)), results: [] }, SUSPECT, "refused")).toBe(true);
  });
});

test("[V22] the last 20 results stand in the row", () => {
  const row = rowWith(...Array.from({ length: 30 }, (_, index) => accepted(1, index + 1)));
  expect(row.results.length).toBe(20);
  expect(row.results[0]?.atMs).toBe(11);
});

test("[V11] contrast: another event was accepted since the first failure", () => {
  const row = { ...createRow(0), lastAcceptedAtMs: 150 };
  expect(hasContrast(row, 100)).toBe(true);
  expect(hasContrast(row, 150)).toBe(false);
  expect(hasContrast(row, 0)).toBe(false);
});
