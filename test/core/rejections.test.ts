import { expect, test } from "vitest";
import { type Rejection, rejectionView, withRejections } from "../../src/core/rejections.ts";

function rejection(source: string | null, reason: string, atMs: number, count = 1): Rejection {
  const example = {
    atMs,
    method: "POST",
    contentType: "application/json",
    userAgent: null,
    bodySizeBytes: 2,
    headerNames: ["content-type"],
  };
  return { source, reason, count, firstAtMs: atMs, lastAtMs: atMs, explanation: `at ${atMs}`, example };
}

test("[O7] reports of a kind are counted together: first and last time, and the newest example", () => {
  const list = withRejections([rejection("a", "wrong", 10, 3)], [rejection("a", "wrong", 30, 4)]);
  expect(list).toMatchObject([{ count: 7, firstAtMs: 10, lastAtMs: 30, explanation: "at 30", example: { atMs: 30 } }]);
  const late = withRejections(list, [rejection("a", "wrong", 5)]);
  expect(late).toMatchObject([{ count: 8, firstAtMs: 5, lastAtMs: 30, explanation: "at 30" }]);
});

test("[O7] kinds differ by source and by reason, newest first, and the 21st drives out the oldest", () => {
  const kinds = Array.from({ length: 20 }, (_, index) => rejection(`s-${index}`, "wrong", index));
  const list = withRejections(withRejections([], kinds), [rejection("s-3", "stale", 50), rejection(null, "wrong", 60)]);
  expect(list).toHaveLength(20);
  expect(list.slice(0, 3).map((each) => [each.source, each.reason])).toEqual([
    [null, "wrong"],
    ["s-3", "stale"],
    ["s-19", "wrong"],
  ]);
  expect(list.some((each) => each.source === "s-0" || each.source === "s-1")).toBe(false);
});

test("[O7] operators see times a person can read", () => {
  expect(rejectionView(rejection("a", "wrong", 0))).toMatchObject({
    firstAt: "1970-01-01T00:00:00.000Z",
    lastAt: "1970-01-01T00:00:00.000Z",
    example: { at: "1970-01-01T00:00:00.000Z", method: "POST" },
  });
});
