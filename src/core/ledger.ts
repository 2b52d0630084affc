/** The ledger of one destination [X5]: offered = delivered + backlog + dead + filtered + purged + expired + erased. */

/** Sequence numbers settled beyond the position, as closed ranges, ascending. */
export type SeqRanges = readonly (readonly [number, number])[];

/** How many sequence numbers lie in the ranges. */
export function rangeSpan(ranges: SeqRanges): number {
  return ranges.reduce((span, [first, last]) => span + last - first + 1, 0);
}

/**
 * Events offered and not settled: those after the position that no range covers, and those set aside.
 * `markSeq` is the newest event's number; there are no gaps in the numbers. `settledAhead`: events beyond the position
 * that were settled one by one (erased, unreadable) and will be passed over.
 */
export function backlogCount(
  markSeq: number,
  position: number,
  ranges: SeqRanges,
  asideCount: number,
  settledAhead: number,
): number {
  return markSeq - position - rangeSpan(ranges) + asideCount - settledAhead;
}

/** The parts of `[position + 1, …]` and `ranges` that `after` covers and `before` did not, ascending. */
export function newlyCovered(
  before: { readonly position: number; readonly ranges: SeqRanges },
  after: { readonly position: number; readonly ranges: SeqRanges },
): [number, number][] {
  const covered: [number, number][] = [];
  const add = (first: number, last: number): void => {
    let from = first;
    for (const [low, high] of before.ranges) {
      if (high < from || low > last) continue;
      if (low > from) covered.push([from, low - 1]);
      from = high + 1;
    }
    if (from <= last) covered.push([from, last]);
  };
  add(before.position + 1, after.position);
  for (const [low, high] of after.ranges) add(Math.max(low, before.position + 1), high);
  return covered;
}

/** Whether `seq` lies at or before the position, or in one of the ranges beyond it. */
export function isCovered(position: number, ranges: SeqRanges, seq: number): boolean {
  return seq <= position || ranges.some(([first, last]) => first <= seq && seq <= last);
}
