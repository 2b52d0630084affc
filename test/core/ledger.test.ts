import fc from "fast-check";
import { expect, test } from "vitest";
import { backlogCount, isCovered, newlyCovered, rangeSpan, type SeqRanges } from "../../src/core/ledger.ts";

/** Ranges beyond a position, ascending and apart, and the numbers they and the position cover. */
const coverage = fc
  .record({
    position: fc.integer({ min: 0, max: 20 }),
    steps: fc.array(fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 0, max: 5 })), { maxLength: 6 }),
  })
  .map(({ position, steps }) => {
    const ranges: [number, number][] = [];
    let next = position + 1;
    for (const [gap, length] of steps) {
      ranges.push([next + gap, next + gap + length]);
      next = next + gap + length + 1;
    }
    return { position, ranges: ranges as SeqRanges };
  });

function coveredUpTo(markSeq: number, { position, ranges }: { position: number; ranges: SeqRanges }): Set<number> {
  const seqs = new Set<number>();
  for (let seq = 1; seq <= markSeq; seq += 1) if (isCovered(position, ranges, seq)) seqs.add(seq);
  return seqs;
}

test("[X5] the backlog is what neither the position nor a range covers, and what is set aside", () => {
  fc.assert(
    fc.property(coverage, fc.nat(5), fc.nat(5), (cover, aside, ahead) => {
      const markSeq = Math.max(cover.position, cover.ranges.at(-1)?.[1] ?? 0) + 10;
      const open = markSeq - coveredUpTo(markSeq, cover).size;
      expect(backlogCount(markSeq, cover.position, cover.ranges, aside, ahead)).toBe(open + aside - ahead);
    }),
  );
});

test("[V14] [X5] what an outcome newly covers is named once, and nothing twice", () => {
  fc.assert(
    fc.property(coverage, coverage, (before, more) => {
      // `after` covers all that `before` did, and more.
      const markSeq = 80;
      const all = new Set([...coveredUpTo(markSeq, before), ...coveredUpTo(markSeq, more)]);
      const position = firstGap(all, markSeq) - 1;
      const ranges = rangesBeyond(all, position, markSeq);
      const named = newlyCovered(before, { position, ranges }).flatMap(([first, last]) =>
        Array.from({ length: last - first + 1 }, (_, index) => first + index),
      );
      const expected = [...all].filter((seq) => !coveredUpTo(markSeq, before).has(seq)).sort((a, b) => a - b);
      expect(named).toEqual(expected);
      expect(rangeSpan(ranges)).toBe([...all].filter((seq) => seq > position).length);
    }),
  );
});

function firstGap(covered: ReadonlySet<number>, markSeq: number): number {
  for (let seq = 1; seq <= markSeq; seq += 1) if (!covered.has(seq)) return seq;
  return markSeq + 1;
}

function rangesBeyond(covered: ReadonlySet<number>, position: number, markSeq: number): SeqRanges {
  const ranges: [number, number][] = [];
  for (let seq = position + 1; seq <= markSeq; seq += 1) {
    if (!covered.has(seq)) continue;
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === seq - 1) last[1] = seq;
    else ranges.push([seq, seq]);
  }
  return ranges;
}
