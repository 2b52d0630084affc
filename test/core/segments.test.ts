import fc from "fast-check";
import { expect, test } from "vitest";
import {
  bodySegmentBytesMax,
  isKeySegmentDue,
  isWorthCopying,
  overdueCount,
  type SettledSegment,
} from "../../src/core/segments.ts";

const DAY_SECONDS = 86_400;
const NOW_MS = 1_795_910_400_000;

test.each([
  [2_000_000_000, 64_000_000],
  [256_000_000, 64_000_000],
  [20_000_000, 5_000_000],
  [4_000_000, 1_000_000],
  [0, 1_000_000],
])("[L2] with retainBytes %d a body segment ends at %d bytes", (retainBytes, bytesMax) => {
  expect(bodySegmentBytesMax(retainBytes)).toBe(bytesMax);
});

test("[L2] segments go by age, oldest first, each when its own retention is over", () => {
  const ages = [5, 4, 3, 2].map((days) => ({ sizeBytes: 1, endedAtMs: NOW_MS - days * DAY_SECONDS * 1000 }));
  const retention = { retainSeconds: 3 * DAY_SECONDS, retainBytes: 1_000 };
  expect(overdueCount(ages, retention, NOW_MS, 0)).toBe(3);
  expect(overdueCount(ages, retention, NOW_MS - 1, 0)).toBe(2);
});

test("[L2] as many go as must for the rest to be within retainBytes, and not one more", () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 100 }), { maxLength: 20 });
  fc.assert(
    fc.property(sizes, fc.integer({ min: 0, max: 500 }), (sizeBytes, retainBytes) => {
      const settled: SettledSegment[] = sizeBytes.map((size) => ({ sizeBytes: size, endedAtMs: NOW_MS }));
      const count = overdueCount(settled, { retainSeconds: DAY_SECONDS, retainBytes }, NOW_MS, 0);
      const left = (from: number): number => sizeBytes.slice(from).reduce((sum, size) => sum + size, 0);
      expect(left(count)).toBeLessThanOrEqual(retainBytes);
      if (count > 0) expect(left(count - 1)).toBeGreaterThan(retainBytes);
    }),
  );
});

test("[L4] in a crowded object the oldest settled segment goes before its time, and where none is settled, none", () => {
  const settled = [1, 2].map(() => ({ sizeBytes: 1_000, endedAtMs: NOW_MS }));
  const retention = { retainSeconds: DAY_SECONDS, retainBytes: 10_000 };
  expect(overdueCount(settled, retention, NOW_MS, 7_499_999_999)).toBe(0);
  expect(overdueCount(settled, retention, NOW_MS, 7_500_000_000)).toBe(1);
  expect(overdueCount([], retention, NOW_MS, 7_500_000_000)).toBe(0);
});

test.each([
  [10, 1_000, true],
  [11, 1_000, false],
  [0, 1, true],
  [1, 99, false],
  [1, 100, true],
])("[L1] %d of %d events still needed: worth copying out is %s", (references, events, isWorth) => {
  expect(isWorthCopying(references, events)).toBe(isWorth);
});

test("[D3] a key segment ends after a quarter of the window", () => {
  expect(isKeySegmentDue(NOW_MS, 4 * DAY_SECONDS, NOW_MS + DAY_SECONDS * 1000 - 1)).toBe(false);
  expect(isKeySegmentDue(NOW_MS, 4 * DAY_SECONDS, NOW_MS + DAY_SECONDS * 1000)).toBe(true);
});
