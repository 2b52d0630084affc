import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createRow, type DeliveryRow } from "../../../src/core/delivery/row.ts";
import { isDue, startClock, stopClock, waitedMs, waitingSince } from "../../../src/core/delivery/waiting-time.ts";
import { settingsWith } from "./origins.ts";

function withStops(...stops: [number, number][]): DeliveryRow {
  return stops.reduce((row, [from, to]) => startClock(stopClock(row, from), to), createRow(0));
}

describe("time that counts", () => {
  const row = withStops([100, 200], [300, 350]);
  const cases: [sinceMs: number, nowMs: number, waited: number][] = [
    [0, 100, 100],
    [0, 150, 100],
    [0, 200, 100],
    [0, 400, 250],
    [150, 400, 150],
    [200, 300, 100],
    [320, 340, 0],
    [360, 400, 40],
    [500, 400, 0],
  ];
  for (const [sinceMs, nowMs, waited] of cases) {
    test(`[V12] stopped 100–200 and 300–350: from ${sinceMs} to ${nowMs} it has waited ${waited}`, () => {
      expect(waitedMs(row, sinceMs, nowMs)).toBe(waited);
    });
  }

  test("[V12] it stands still while the destination is stopped", () => {
    const stopped = stopClock(createRow(0), 100);
    expect(waitedMs(stopped, 0, 1_000)).toBe(100);
    expect(waitingSince(stopped, 50, 1_000)).toBe(50);
  });

  test("[V12] paused and disabled: it goes on only when neither is left", () => {
    const both = stopClock({ ...createRow(0), paused: true, disabled: { reason: "gone", atMs: 100 } }, 100);
    expect(startClock({ ...both, paused: false }, 200).stoppedSinceMs).toBe(100);
    expect(startClock({ ...both, paused: false, disabled: null }, 200)).toMatchObject({ stops: [[100, 200]] });
  });

  test("[V12] what has waited so long began then, and not later", () => {
    const stops = fc.array(fc.tuple(fc.integer({ min: 1, max: 500 }), fc.integer({ min: 1, max: 500 })), {
      maxLength: 8,
    });
    fc.assert(
      fc.property(stops, fc.integer({ min: 0, max: 4_000 }), fc.boolean(), (lengths, ms, isStopped) => {
        let nowMs = 10_000;
        let stopping = createRow(0);
        for (const [runMs, stopMs] of lengths) {
          stopping = startClock(stopClock(stopping, nowMs + runMs), nowMs + runMs + stopMs);
          nowMs += runMs + stopMs;
        }
        if (isStopped) stopping = stopClock(stopping, nowMs);
        nowMs += 77;
        const sinceMs = waitingSince(stopping, ms, nowMs);
        expect(waitedMs(stopping, sinceMs, nowMs)).toBe(ms);
        if (ms > 0) expect(waitedMs(stopping, sinceMs + 1, nowMs)).toBeLessThan(ms);
      }),
    );
  });

  test("[V12] many stops are kept as few, which only puts giving up off", () => {
    const many = withStops(
      ...Array.from({ length: 40 }, (_, index): [number, number] => [index * 100, index * 100 + 10]),
    );
    expect(many.stops.length).toBeLessThanOrEqual(16);
    expect(waitedMs(many, 0, 4_000)).toBeLessThanOrEqual(4_000 - 40 * 10);
  });
});

describe("due", () => {
  const settings = settingsWith();
  const aheadMs = 86_400_000 + settings.retry.maxMs;
  const cases: [name: string, atMs: number, due: boolean][] = [
    ["now", 1_000, true],
    ["past", 999, true],
    ["a moment ahead", 1_001, false],
    ["24 h + maxMs ahead", 1_000 + aheadMs, false],
    ["more: only a wrong clock can have set it", 1_001 + aheadMs, true],
  ];
  for (const [name, atMs, due] of cases) {
    test(`[L7] ${name}: ${due}`, () => {
      expect(isDue(atMs, 1_000, settings)).toBe(due);
    });
  }
});
