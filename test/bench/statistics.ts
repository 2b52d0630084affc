/** Median of a few values and how far they lie apart. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2;
}

export function spread(values: readonly number[]): Spread {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

/** Ratios of two measurements round by round: what drifts with the machine's load drifts in both. */
export function ratios(numerators: readonly number[], denominators: readonly number[]): Spread {
  return spread(numerators.map((value, round) => value / (denominators[round] ?? Number.NaN)));
}
