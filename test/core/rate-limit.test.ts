import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ABSORB_FACTOR, admit, type Bucket, fullBucket, rebuildBucket, refill } from "../../src/core/rate-limit.ts";

const limit = { events: 10, windowSeconds: 10 };
const NOW_MS = 1_795_910_400_000;

function admitMany(bucket: Bucket, count: number, overLimit: "reject" | "absorb", nowMs = NOW_MS, random = 0) {
  const kinds: string[] = [];
  let left = bucket;
  for (let index = 0; index < count; index += 1) {
    const admission = admit(left, limit, overLimit, nowMs, random);
    left = admission.bucket;
    kinds.push(admission.kind);
  }
  return { kinds, bucket: left };
}

describe("tokens", () => {
  test("[R1] a full bucket admits `events` at once and refuses the next", () => {
    const { kinds } = admitMany(fullBucket(limit, NOW_MS), 11, "reject");
    expect(kinds).toEqual([...Array.from({ length: 10 }, () => "admitted"), "refused"]);
  });

  test("[R1] one token comes back every windowSeconds ÷ events", () => {
    const { bucket } = admitMany(fullBucket(limit, NOW_MS), 10, "reject");
    expect(admit(bucket, limit, "reject", NOW_MS + 999, 0).kind).toBe("refused");
    const { kinds } = admitMany(bucket, 2, "reject", NOW_MS + 1_000);
    expect(kinds).toEqual(["admitted", "refused"]);
  });

  test("[R1] [L7] a clock that goes back refills nothing and takes nothing, and tokens come back from there", () => {
    const { bucket } = admitMany(fullBucket(limit, NOW_MS), 10, "reject");
    const back = refill(bucket, limit, NOW_MS - 60_000);
    expect(back).toEqual({ ...bucket, atMs: NOW_MS - 60_000 });
    expect(refill(back, limit, NOW_MS - 59_000).tokens).toBe(1);
  });

  test("[R1] whatever comes, no window sees more than twice `events` admitted, and a long run no more than its share", () => {
    const gaps = fc.array(fc.integer({ min: 0, max: 3_000 }), { minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(gaps, (gapsMs) => {
        let bucket = fullBucket(limit, NOW_MS);
        let nowMs = NOW_MS;
        const admittedAtMs: number[] = [];
        for (const gapMs of gapsMs) {
          nowMs += gapMs;
          const admission = admit(bucket, limit, "reject", nowMs, 0.5);
          bucket = admission.bucket;
          expect(bucket.tokens).toBeGreaterThanOrEqual(0);
          expect(bucket.tokens).toBeLessThanOrEqual(limit.events);
          if (admission.kind === "admitted") admittedAtMs.push(nowMs);
        }
        const windowMs = limit.windowSeconds * 1000;
        for (const startMs of admittedAtMs) {
          const inWindow = admittedAtMs.filter((atMs) => atMs >= startMs && atMs < startMs + windowMs).length;
          expect(inWindow).toBeLessThanOrEqual(limit.events * 2);
        }
        expect(admittedAtMs.length).toBeLessThanOrEqual(
          limit.events + ((nowMs - NOW_MS) * limit.events) / windowMs + 1,
        );
      }),
    );
  });
});

describe("Retry-After", () => {
  test("[R2] a lone sender that waits as long as it was told is admitted", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000 }), fc.integer({ min: 1, max: 3_600 }), (events, windowSeconds) => {
        const own = { events, windowSeconds };
        const empty = { ...fullBucket(own, NOW_MS), tokens: 0 };
        const refused = admit(empty, own, "reject", NOW_MS, 0.9);
        if (refused.kind !== "refused") throw new Error("an empty bucket refuses");
        expect(Number.isInteger(refused.retryAfterSeconds)).toBe(true);
        const backAtMs = NOW_MS + refused.retryAfterSeconds * 1000;
        expect(admit(refused.bucket, own, "reject", backAtMs, 0.9).kind).toBe("admitted");
      }),
    );
  });

  test("[R2] where others were refused in the window, senders are spread over it at random", () => {
    const first = admit({ ...fullBucket(limit, NOW_MS), tokens: 0 }, limit, "reject", NOW_MS, 0.5);
    const waits = [0, 0.25, 0.5, 0.99].map((random) => {
      const admission = admit(first.bucket, limit, "reject", NOW_MS, random);
      return admission.kind === "refused" ? admission.retryAfterSeconds : null;
    });
    expect(first).toMatchObject({ retryAfterSeconds: 1 });
    expect(waits).toEqual([1, 4, 6, 11]);
  });

  test("[R2] after a quiet window a refused sender counts as alone again", () => {
    const first = admit({ ...fullBucket(limit, NOW_MS), tokens: 0 }, limit, "reject", NOW_MS, 0.5);
    const later = admit({ ...first.bucket, tokens: -10 }, limit, "reject", NOW_MS + 10_000, 0.9);
    expect(later).toMatchObject({ kind: "refused", retryAfterSeconds: 1 });
  });
});

describe("absorbing", () => {
  test("[R3] absorbed events take no token below zero, and at most 10 × events are absorbed per window", () => {
    const { kinds, bucket } = admitMany(fullBucket(limit, NOW_MS), 120, "absorb");
    expect(kinds.filter((kind) => kind === "admitted")).toHaveLength(limit.events);
    expect(kinds.filter((kind) => kind === "absorbed")).toHaveLength(limit.events * ABSORB_FACTOR);
    expect(kinds.slice(110)).toEqual(Array.from({ length: 10 }, () => "refused"));
    expect(bucket.tokens).toBe(0);
  });

  test("[R3] what was absorbed does not put a sender off that keeps to the limit", () => {
    const { bucket } = admitMany(fullBucket(limit, NOW_MS), 60, "absorb");
    expect(admit(bucket, limit, "reject", NOW_MS + 1_000, 0).kind).toBe("admitted");
  });
});

describe("after an eviction", () => {
  test("[R1] the bucket is what it was, by the receipts of the last window", () => {
    const gaps = fc.array(fc.integer({ min: 0, max: 2_000 }), { maxLength: 40 });
    fc.assert(
      fc.property(gaps, (gapsMs) => {
        let bucket = fullBucket(limit, NOW_MS);
        let nowMs = NOW_MS + 20_000;
        const receiptsMs: number[] = [];
        for (const gapMs of gapsMs) {
          nowMs += gapMs;
          const admission = admit(bucket, limit, "reject", nowMs, 0);
          bucket = admission.bucket;
          if (admission.kind === "admitted") receiptsMs.push(nowMs);
        }
        const newest = receiptsMs.slice(-limit.events);
        const rebuilt = rebuildBucket(limit, newest, nowMs);
        // Never more than it was by what an older window had used; never less than nothing.
        expect(rebuilt.tokens).toBeGreaterThanOrEqual(refill(bucket, limit, nowMs).tokens - 1e-9);
        expect(rebuilt.tokens).toBeLessThanOrEqual(limit.events);
        const inWindow = receiptsMs.filter((atMs) => atMs > nowMs - limit.windowSeconds * 1000).length;
        expect(inWindow + rebuilt.tokens).toBeLessThanOrEqual(limit.events * 2 + 1e-9);
      }),
    );
  });

  test("[R1] a bucket just emptied is empty after the eviction too", () => {
    const receiptsMs = Array.from({ length: 10 }, () => NOW_MS);
    expect(admit(rebuildBucket(limit, receiptsMs, NOW_MS), limit, "reject", NOW_MS, 0).kind).toBe("refused");
  });
});
