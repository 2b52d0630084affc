import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  includes,
  intersect,
  isSettled,
  overlaps,
  type Range,
  rangesOf,
  seqsOf,
  settleRange,
} from "../../../src/core/delivery/ranges.ts";

describe("what is settled", () => {
  const cases: [position: number, ranges: Range[], settled: Range, after: { position: number; ranges: Range[] }][] = [
    [0, [], [1, 5], { position: 5, ranges: [] }],
    [0, [], [3, 5], { position: 0, ranges: [[3, 5]] }],
    [0, [[3, 5]], [1, 2], { position: 5, ranges: [] }],
    [0, [[3, 5]], [6, 8], { position: 0, ranges: [[3, 8]] }],
    [
      0,
      [
        [3, 5],
        [9, 9],
      ],
      [6, 8],
      { position: 0, ranges: [[3, 9]] },
    ],
    [10, [[20, 30]], [11, 15], { position: 15, ranges: [[20, 30]] }],
    [10, [], [5, 8], { position: 10, ranges: [] }],
    [10, [], [9, 8], { position: 10, ranges: [] }],
    [4, [], [1, 9], { position: 9, ranges: [] }],
  ];
  for (const [position, ranges, settled, after] of cases) {
    test(`[V14] ${position} and ${JSON.stringify(ranges)}, then ${settled.join("–")}`, () => {
      expect(settleRange(position, ranges, settled[0], settled[1])).toEqual(after);
    });
  }

  test("[V14] whatever the order, each number that was settled is settled, and no other", () => {
    const pieces = fc.array(fc.tuple(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 0, max: 9 })), {
      maxLength: 20,
    });
    fc.assert(
      fc.property(pieces, (each) => {
        let state: { position: number; ranges: readonly Range[] } = { position: 0, ranges: [] };
        const settled = new Set<number>();
        for (const [from, length] of each) {
          const { position } = state;
          state = settleRange(state.position, state.ranges, from, from + length);
          expect(state.position).toBeGreaterThanOrEqual(position);
          for (let seq = from; seq <= from + length; seq++) settled.add(seq);
        }
        for (let seq = 1; seq <= 80; seq++) expect(isSettled(state.position, state.ranges, seq)).toBe(settled.has(seq));
        const [first] = state.ranges;
        if (first !== undefined) expect(first[0]).toBeGreaterThan(state.position + 1);
      }),
    );
  });
});

test("[V26] numbers become ranges and numbers again", () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.integer({ min: 1, max: 50 })), (seqs) => {
      const sorted = [...seqs].sort((a, b) => a - b);
      expect(seqsOf(rangesOf(seqs))).toEqual(sorted);
      for (let seq = 1; seq <= 50; seq++) expect(includes(rangesOf(seqs), seq)).toBe(sorted.includes(seq));
    }),
  );
});

test("[V7] what two requests have in common", () => {
  expect(intersect([[1, 50]], [[26, 50]])).toEqual([[26, 50]]);
  expect(intersect([[1, 50]], [[51, 60]])).toEqual([]);
  expect(
    intersect(
      [
        [1, 3],
        [7, 9],
      ],
      [[2, 8]],
    ),
  ).toEqual([
    [2, 3],
    [7, 8],
  ]);
  expect(overlaps([1, 5], [5, 9])).toBe(true);
  expect(overlaps([1, 5], [6, 9])).toBe(false);
});
