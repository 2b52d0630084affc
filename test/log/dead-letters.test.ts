import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { DeadRange } from "../../src/log/dead-ranges.ts";
import type { Log } from "../../src/log/log.ts";
import { NOW_MS, store, withLog } from "./own-log.ts";

function range(firstSeq: number, lastSeq: number, changes: Partial<DeadRange> = {}): DeadRange {
  return {
    firstSeq,
    lastSeq,
    eventCount: lastSeq - firstSeq + 1,
    state: "dead",
    reason: "gave-up",
    diedAtMs: NOW_MS,
    expiresAtMs: NOW_MS + 1_000,
    filter: "null",
    ...changes,
  };
}

/** Every event of a range is dead. */
const countIn = (first: number, last: number): number => last - first + 1;

function deadSeqs(log: Log, markSeq: number): number[] {
  const seqs: number[] = [];
  for (let seq = 1; seq <= markSeq; seq += 1) if (log.dead.ranges.find("origin", seq) !== null) seqs.push(seq);
  return seqs;
}

describe("ranges", () => {
  test("[L6] ranges that go on from one another are one row, up to 1,000 events", async () => {
    await withLog((log) => {
      for (let first = 1; first <= 2_500; first += 10) log.dead.ranges.insert("origin", range(first, first + 9));
      const rows = log.dead.ranges.list("origin", "dead", 0, 100);
      expect(rows.map(({ firstSeq, lastSeq, eventCount }) => [firstSeq, lastSeq, eventCount])).toEqual([
        [1, 1_000, 1_000],
        [1_001, 2_000, 1_000],
        [2_001, 2_500, 500],
      ]);
    });
  });

  test("[L6] another reason, another filter, a later hour or a gap begins a row of its own", async () => {
    await withLog((log) => {
      log.dead.ranges.insert("origin", range(1, 5));
      log.dead.ranges.insert("origin", range(6, 6, { reason: "backlog-full" }));
      log.dead.ranges.insert(
        "origin",
        range(7, 7, { reason: "backlog-full", filter: '{"sources":["a"],"types":null}' }),
      );
      log.dead.ranges.insert("origin", range(8, 8, { diedAtMs: NOW_MS + 3_600_000 }));
      log.dead.ranges.insert("origin", range(10, 10, { diedAtMs: NOW_MS + 3_600_000 }));
      log.dead.ranges.insert("other", range(11, 11, { diedAtMs: NOW_MS + 3_600_000 }));
      expect(log.dead.ranges.list("origin", "dead", 0, 100)).toHaveLength(5);
      expect(log.dead.ranges.find("origin", 9)).toBeNull();
      expect(log.dead.ranges.find("origin", 11)).toBeNull();
    });
  });

  test("[D6] [L6] taking events out one by one, in any order, leaves just the others", async () => {
    await withLog((log) => {
      fc.assert(
        fc.property(fc.shuffledSubarray(Array.from({ length: 30 }, (_, index) => index + 1)), (taken) => {
          log.dead.removeAll("origin");
          log.dead.ranges.insert("origin", range(1, 30));
          for (const seq of taken) log.dead.remove("origin", seq, countIn);
          const left = Array.from({ length: 30 }, (_, index) => index + 1).filter((seq) => !taken.includes(seq));
          expect(deadSeqs(log, 30)).toEqual(left);
          const counted = log.dead.ranges
            .list("origin", "dead", 0, 100)
            .reduce((sum, each) => sum + each.eventCount, 0);
          expect(counted).toBe(left.length);
        }),
        { numRuns: 30 },
      );
    });
  });

  test("[L6] the death and expiry of 1,000,000 events writes under 5,000 rows", { timeout: 30_000 }, async () => {
    await withLog((log) => {
      const before = log.meter.totals.rowsWritten;
      for (let first = 1; first <= 1_000_000; first += 1_000)
        log.dead.ranges.insert("origin", range(first, first + 999));
      for (;;) {
        const expired = log.dead.expire(NOW_MS + 1_000, 500);
        if (expired.length === 0) break;
      }
      log.dead.forgetUpTo("origin", 1_000_000);
      expect(log.dead.ranges.list("origin", "expired", 0, 10)).toEqual([]);
      const rows = log.meter.totals.rowsWritten - before;
      console.info(`rows written for the death and expiry of 1,000,000 events: ${rows}`);
      expect(rows).toBeLessThan(5_000);
    });
  });

  test("[C2] the next expiry is known without reading the ranges each time, and right after each change", async () => {
    await withLog((log, again) => {
      for (let first = 1; first <= 400; first += 2) {
        log.dead.ranges.insert("origin", range(first, first, { expiresAtMs: NOW_MS + first }));
      }
      expect(log.dead.nextExpiryMs()).toBe(NOW_MS + 1);
      const before = log.meter.totals.rowsRead;
      for (let ask = 0; ask < 10; ask += 1) log.dead.nextExpiryMs();
      expect(log.meter.totals.rowsRead - before).toBeLessThan(20);
      log.dead.remove("origin", 1, countIn);
      expect(log.dead.nextExpiryMs()).toBe(NOW_MS + 3);
      log.dead.expire(NOW_MS + 100, 500);
      expect(log.dead.nextExpiryMs()).toBe(NOW_MS + 101);
      expect(again().dead.nextExpiryMs()).toBe(NOW_MS + 101);
      log.dead.removeAll("origin");
      expect(log.dead.nextExpiryMs()).toBeNull();
    });
  });
});

describe("what still needs its bytes", () => {
  test("[L1] every dead letter of a stretch is named, rows and ranges alike, however many ranges there are", async () => {
    await withLog((log) => {
      store(log, 3);
      for (let index = 0; index < 150; index += 1)
        log.dead.ranges.insert("origin", range(index * 100 + 1, index * 100 + 1));
      const letter = {
        state: "dead",
        reason: "refused",
        diedAtMs: 0,
        expiresAtMs: 0,
        charged: 1,
        attempts: "",
      } as const;
      log.dead.insert("origin", { ...letter, seq: 50 });
      log.dead.insert("origin", { ...letter, seq: 51, state: "expired" });
      log.dead.insert("other", { ...letter, seq: 52 });
      const references = log.dead.referencesIn("origin", 1, 20_000, 201);
      expect(references.seqs).toEqual([50]);
      expect(references.inRanges).toBe(150);
      expect(references.rangeSeqs).toHaveLength(150);
      expect(log.dead.referencesIn("origin", 101, 300, 10)).toMatchObject({
        seqs: [],
        inRanges: 2,
        rangeSeqs: [101, 201],
      });
    });
  });

  test("[X1] letters expire by their own time, at most so many in one turn, and are forgotten with their keys", async () => {
    await withLog((log) => {
      const letter = { state: "dead", reason: "refused", diedAtMs: 0, charged: 1, attempts: "" } as const;
      for (let seq = 1; seq <= 10; seq += 1) log.dead.insert("origin", { ...letter, seq, expiresAtMs: NOW_MS + seq });
      expect(log.dead.expire(NOW_MS + 6, 4).map(({ eventCount }) => eventCount)).toEqual([4]);
      expect(log.dead.expire(NOW_MS + 6, 4).map(({ eventCount }) => eventCount)).toEqual([2]);
      expect(log.dead.expire(NOW_MS + 6, 4)).toEqual([]);
      expect(log.dead.nextExpiryMs()).toBe(NOW_MS + 7);
      log.dead.forgetUpTo("origin", 8);
      expect(log.dead.list("origin", "expired", 0, 100)).toEqual([]);
      expect(log.dead.list("origin", "dead", 0, 100).map(({ seq }) => seq)).toEqual([7, 8, 9, 10]);
    });
  });
});

describe("set-aside events and attempts", () => {
  test("[V10] set-aside events come by their due time, each destination's own", async () => {
    await withLog((log) => {
      const dues = [50, 10, 40, 20, 30];
      for (const [index, due] of dues.entries()) {
        log.aside.put("origin", { seq: index + 1, dueAtMs: NOW_MS + due, event: "{}", attempts: "" });
      }
      log.aside.put("other", { seq: 9, dueAtMs: NOW_MS, event: "{}", attempts: "" });
      expect(log.aside.due("origin", 3).map(({ seq }) => seq)).toEqual([2, 4, 5]);
      log.aside.put("origin", { seq: 2, dueAtMs: NOW_MS + 99, event: "{}", attempts: "" });
      expect(log.aside.due("origin", 9).map(({ seq }) => seq)).toEqual([4, 5, 3, 1, 2]);
      expect(log.aside.oldestSeq("origin")).toBe(1);
      log.aside.remove("origin", 1);
      expect(log.aside.seqsIn("origin", 1, 3, 10)).toEqual([2, 3]);
    });
  });

  test("[X7] an attempt stands in the segment of its last event, is found for each event it held, and goes with it", async () => {
    await withLog((log) => {
      store(log, 4);
      log.segments.seal("body", NOW_MS, log.meter.encodeWithWrite(1));
      store(log, 4);
      const attempt = { atMs: NOW_MS, batchId: "b", durationMs: 3, status: 500, outcome: "failed", excerpt: "no" };
      log.attempts.record("origin", 3, 6, attempt);
      log.attempts.record("origin", 5, 6, { ...attempt, atMs: NOW_MS + 1, status: 200, outcome: "accepted" });
      log.attempts.record("other", 1, 8, attempt);
      expect(log.attempts.of("origin", 3).map(({ status }) => status)).toEqual([500]);
      expect(log.attempts.of("origin", 6).map(({ status }) => status)).toEqual([500, 200]);
      expect(log.attempts.of("origin", 7)).toEqual([]);
      const [first] = log.segments.bodies;
      if (first === undefined) throw new Error("there are two segments");
      log.segments.drop(first);
      expect(log.attempts.of("origin", 3).map(({ status }) => status)).toEqual([500]);
    });
  });

  test("[X7] of one millisecond a batch comes before the half of it that was sent next", async () => {
    await withLog((log) => {
      store(log, 4);
      const attempt = { atMs: NOW_MS, batchId: "whole", durationMs: 0, status: 500, outcome: "failed", excerpt: "" };
      log.attempts.record("origin", 1, 4, attempt);
      log.attempts.record("origin", 1, 2, { ...attempt, batchId: "half" });
      log.attempts.record("origin", 1, 1, { ...attempt, batchId: "alone", atMs: NOW_MS + 1 });
      expect(log.attempts.of("origin", 1).map(({ batchId }) => batchId)).toEqual(["whole", "half", "alone"]);
    });
  });
});
