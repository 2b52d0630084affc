import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { attemptCountMax, drawOf, retryDelayMs, spreadMs } from "../../../src/core/delivery/backoff.ts";
import { settingsWith } from "./origins.ts";

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;

describe("the wait before the next attempt", () => {
  const { retry } = settingsWith();
  const cases: [failures: number, longestMs: number][] = [
    [1, 5_000],
    [2, 10_000],
    [3, 20_000],
    [4, 40_000],
    [5, 80_000],
    [6, 160_000],
    [7, 320_000],
    [8, 640_000],
    [9, 1_280_000],
    [10, 2_560_000],
    [11, 5_120_000],
    [12, 10_240_000],
    [13, 20_480_000],
    [14, 21_600_000],
  ];
  for (const [failures, longestMs] of cases) {
    test(`[V10] after failure ${failures}: uniform between 1 s and ${longestMs / 1_000} s`, () => {
      expect(retryDelayMs(retry, failures, 0)).toBe(SECOND_MS);
      expect(retryDelayMs(retry, failures, 0.5)).toBe(Math.max(SECOND_MS, longestMs / 2));
      expect(retryDelayMs(retry, failures, 0.999_999)).toBeGreaterThan(longestMs - 25);
    });
  }

  test("[V10] with the defaults the last of 15 attempts comes after 8.7 h on average", () => {
    let sumMs = 0;
    for (let failures = 1; failures < 15; failures++) sumMs += retryDelayMs(retry, failures, 0.5);
    expect(sumMs / HOUR_MS).toBeGreaterThan(8.6);
    expect(sumMs / HOUR_MS).toBeLessThan(8.8);
  });

  test("[V10] equal jitter: half is fixed; proportional: ±20 %", () => {
    const equal = settingsWith({ retry: { jitter: "equal" } }).retry;
    expect([0, 0.5, 1].map((random) => retryDelayMs(equal, 3, random))).toEqual([10_000, 15_000, 20_000]);
    const proportional = settingsWith({ retry: { jitter: "proportional" } }).retry;
    expect([0, 0.5, 1].map((random) => retryDelayMs(proportional, 3, random))).toEqual([16_000, 20_000, 24_000]);
  });

  test("[V10] a schedule gives the delays outright; a 0 counts as 1 s, the last one repeats", () => {
    const scheduled = settingsWith({ retry: { scheduleSeconds: [0, 30, 120, 600, 1_800] } }).retry;
    const delays = [1, 2, 3, 4, 5, 6, 7].map((failures) => retryDelayMs(scheduled, failures, 0.7) / SECOND_MS);
    expect(delays).toEqual([1, 30, 120, 600, 1_800, 1_800, 1_800]);
  });

  test("[V10] [V36] a schedule of n delays makes n + 1 attempts, never more than maxAttempts", () => {
    expect(attemptCountMax(settingsWith().retry)).toBe(15);
    expect(attemptCountMax(settingsWith({ retry: { scheduleSeconds: [0, 30, 120, 600, 1_800] } }).retry)).toBe(6);
    expect(attemptCountMax(settingsWith({ retry: { maxAttempts: 3, scheduleSeconds: [1, 2, 3, 4] } }).retry)).toBe(3);
  });

  test("[V10] never under 1 s and never over maxMs, whatever the settings", () => {
    const anyRetry = fc.record({
      baseMs: fc.integer({ min: 100, max: HOUR_MS }),
      factor: fc.double({ min: 1.5, max: 4, noNaN: true }),
      maxMs: fc.integer({ min: 1_000, max: 43_200_000 }),
      jitter: fc.constantFrom("full" as const, "equal" as const, "proportional" as const),
    });
    const unit = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(anyRetry, fc.integer({ min: 1, max: 200 }), unit, (overrides, failures, random) => {
        const delayMs = retryDelayMs({ ...retry, ...overrides }, failures, random);
        expect(delayMs).toBeGreaterThanOrEqual(SECOND_MS);
        expect(delayMs).toBeLessThanOrEqual(overrides.maxMs);
      }),
    );
  });
});

test("[V11] a time the breaker stays open is spread by ±20 %", () => {
  expect([0, 0.5, 1].map((random) => spreadMs(60_000, random))).toEqual([48_000, 60_000, 72_000]);
});

test("[V10] draws made from one random number are spread evenly", () => {
  const draws = Array.from({ length: 100 }, (_, index) => drawOf(0.3, index)).sort((a, b) => a - b);
  expect(draws[0]).toBeGreaterThanOrEqual(0);
  expect(draws.at(-1)).toBeLessThan(1);
  const gaps = draws.slice(1).map((draw, index) => draw - (draws[index] ?? 0));
  expect(Math.max(...gaps)).toBeLessThan(0.03);
});
