import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseHttpDate, parseRetryAfter } from "../../src/core/retry-after.ts";

const NOW_MS = Date.UTC(2026, 10, 29, 0, 0, 0);
const MAX_SECONDS = 43_200;

const parse = (value: string | null) => parseRetryAfter(value, NOW_MS, MAX_SECONDS);

describe("[V7] Retry-After", () => {
  test.each([
    ["120", 120_000],
    ["1", 1_000],
    [" 30 ", 30_000],
    ["Sun, 29 Nov 2026 00:02:00 GMT", 120_000],
    ["Sunday, 29-Nov-26 00:02:00 GMT", 120_000],
    ["Sun Nov 29 00:02:00 2026", 120_000],
    ["Tue Dec  1 00:00:00 2026", 43_200_000],
    ["Sun, 29 Nov 2026 00:01:60 GMT", 119_000],
  ])("[V7] %j asks for a wait", (value, waitMs) => {
    expect(parse(value)).toBe(waitMs);
  });

  test.each([
    ["0", 1_000],
    ["Sat, 28 Nov 2026 00:00:00 GMT", 1_000],
    ["64000", 43_200_000],
    ["99999999999999999999999999", 43_200_000],
    ["Fri, 29 Nov 2126 00:00:00 GMT", 43_200_000],
    ["Sunday, 06-Nov-94 08:49:37 GMT", 1_000],
  ])("[V7] %j is clamped to 1 s … the maximum", (value, waitMs) => {
    expect(parse(value)).toBe(waitMs);
  });

  test.each([
    null,
    "",
    "soon",
    "-5",
    "+5",
    "1.5",
    "1e3",
    "0x10",
    "5s",
    "120, 120",
    "٣",
    "Sun, 31 Feb 2026 00:00:00 GMT",
    "Sun, 29 Nov 2026 24:00:00 GMT",
    "Sun, 29 Nov 2026 00:60:00 GMT",
    "Sun, 29 Nov 2026 00:02:00 CET",
    "Sun, 29 Nov 2026 00:02:00 +0100",
    "Sun, 29 Foo 2026 00:02:00 GMT",
    "2026-11-29T00:02:00Z",
    "1795910520000 ms",
    "Infinity",
    "NaN",
  ])("[V7] %j is nonsense and counts as absent", (value) => {
    expect(parse(value)).toBeNull();
  });

  test("[V7] whatever is sent, the wait is none or within its bounds", () => {
    const anything = fc.oneof(
      fc.string(),
      fc.bigInt().map(String),
      fc.date({ noInvalidDate: true }).map((d) => d.toUTCString()),
    );
    fc.assert(
      fc.property(anything, fc.integer({ min: 1, max: 86_400 }), (value, maxSeconds) => {
        const waitMs = parseRetryAfter(value, NOW_MS, maxSeconds);
        return waitMs === null || (waitMs >= 1_000 && waitMs <= maxSeconds * 1_000);
      }),
    );
  });

  test("[V7] every date of the modern form is read as the platform reads it", () => {
    const dates = fc.date({ min: new Date(0), max: new Date("9999-12-31T23:59:59Z"), noInvalidDate: true });
    fc.assert(
      fc.property(
        dates,
        (date) => parseHttpDate(date.toUTCString(), NOW_MS) === Math.floor(date.getTime() / 1_000) * 1_000,
      ),
    );
  });
});
