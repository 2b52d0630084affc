/** Sequence numbers as ascending, disjoint, inclusive ranges: what the row and the records in flight are made of. */
export type Range = readonly [fromSeq: number, toSeq: number];

/** Adds [fromSeq, toSeq] to what is settled, merges neighbours and lets the position absorb what it reaches [V14]. */
export function settleRange(
  position: number,
  ranges: readonly Range[],
  fromSeq: number,
  toSeq: number,
): { position: number; ranges: readonly Range[] } {
  if (toSeq < fromSeq) return { position, ranges };
  const merged: [number, number][] = [];
  for (const [from, to] of [...ranges, [fromSeq, toSeq] as Range].sort((a, b) => a[0] - b[0])) {
    const last = merged.at(-1);
    if (last !== undefined && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else merged.push([from, to]);
  }
  let reached = position;
  while (merged[0] !== undefined && merged[0][0] <= reached + 1) reached = Math.max(reached, merged.shift()?.[1] ?? 0);
  return { position: reached, ranges: merged };
}

export function isSettled(position: number, ranges: readonly Range[], seq: number): boolean {
  return seq <= position || includes(ranges, seq);
}

export function includes(ranges: readonly Range[], seq: number): boolean {
  return ranges.some(([from, to]) => from <= seq && seq <= to);
}

/** The shortest ranges that hold exactly `seqs`. */
export function rangesOf(seqs: readonly number[]): readonly Range[] {
  const ranges: [number, number][] = [];
  for (const seq of [...seqs].sort((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last !== undefined && seq <= last[1] + 1) last[1] = seq;
    else ranges.push([seq, seq]);
  }
  return ranges;
}

export function seqsOf(ranges: readonly Range[]): number[] {
  return ranges.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, index) => from + index));
}

export function intersect(a: readonly Range[], b: readonly Range[]): readonly Range[] {
  return a.flatMap(([from, to]) =>
    b.flatMap(([otherFrom, otherTo]): Range[] => {
      const start = Math.max(from, otherFrom);
      const end = Math.min(to, otherTo);
      return start <= end ? [[start, end]] : [];
    }),
  );
}

export function overlaps(a: Range, b: Range): boolean {
  return a[0] <= b[1] && b[0] <= a[1];
}
