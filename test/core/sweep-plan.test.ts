import fc from "fast-check";
import { expect, test } from "vitest";
import { planSweep } from "../../src/core/sweep-plan.ts";

const DAY_MS = 86_400_000;
const NOW_MS = Date.UTC(2026, 10, 29, 12);

test("[V20] (f) at most 500 registered objects, those first that were called the longest time ago, or never", () => {
  const registered = Array.from({ length: 700 }, (_, index) => `o${index}`);
  const calledAtMs = new Map(registered.slice(0, 650).map((object, index) => [object, NOW_MS - 300_000 + index]));
  const plan = planSweep({ registered, configured: registered, calledAtMs, nowMs: NOW_MS });
  expect(plan).toEqual([...registered.slice(650), ...registered.slice(0, 450)]);
});

test("[V20] (f) every other object is called once a day, and registered ones do not keep them from it", () => {
  const registered = Array.from({ length: 600 }, (_, index) => `busy${index}`);
  const configured = [...registered, "new", "yesterday", "lately"];
  const calledAtMs = new Map([
    ["yesterday", NOW_MS - DAY_MS],
    ["lately", NOW_MS - 3_600_000],
  ]);
  const plan = planSweep({ registered, configured, calledAtMs, nowMs: NOW_MS });
  expect(plan.slice(500)).toEqual(["new", "yesterday"]);
});

test("[V20] (f) property: sweeps five minutes apart call every object at least once in 24 hours", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 900 }), fc.integer({ min: 0, max: 3_000 }), (busy, idle) => {
      const registered = Array.from({ length: busy }, (_, index) => `busy${index}`);
      const configured = [...registered, ...Array.from({ length: idle }, (_, index) => `idle${index}`)];
      const calledAtMs = new Map<string, number>();
      for (let nowMs = NOW_MS; nowMs <= NOW_MS + 2 * DAY_MS; nowMs += 300_000) {
        for (const object of planSweep({ registered, configured, calledAtMs, nowMs })) calledAtMs.set(object, nowMs);
        if (nowMs < NOW_MS + DAY_MS) continue;
        const longestMs = Math.max(...configured.map((object) => nowMs - (calledAtMs.get(object) ?? 0)), 0);
        if (longestMs > DAY_MS) throw new Error(`an object was not called for ${longestMs} ms`);
      }
    }),
    { numRuns: 10 },
  );
}, 30_000);
