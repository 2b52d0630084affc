import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Events } from "../../src/log/events.ts";
import { startClock, stopClock } from "../flow/clock.ts";
import { Origin } from "../flow/origin.ts";
import { Tenant } from "../flow/tenant.ts";
import { manyCalls } from "./arrivals.ts";

beforeEach(() => startClock());

afterEach(() => {
  vi.restoreAllMocks();
  stopClock();
});

test.each([200, 2_000])(
  "[C3] (by construction) with a backlog of %d no more is read at once than a batch holds, in events and in bytes",
  async (count) => {
    new Origin();
    const tenant = await Tenant.create();
    const calls = await manyCalls(tenant, "e", count, 10_000);
    for (let first = 0; first < count; first += 200) {
      await Promise.all(calls.slice(first, first + 200).map(async (call) => tenant.ingest(call)));
    }
    const heads = vi.spyOn(Events.prototype, "heads");
    const readMany = vi.spyOn(Events.prototype, "readMany");
    for (let run = 0; run < 3; run += 1) await tenant.runAlarm();
    const read = readMany.mock.results.map(({ value }) => value as { bodySizeBytes: number }[]);
    expect(read.length).toBeGreaterThan(3);
    expect(Math.max(...read.map((events) => events.length))).toBeLessThanOrEqual(50);
    const bytes = read.map((events) => events.reduce((sum, event) => sum + event.bodySizeBytes, 0));
    expect(Math.max(...bytes)).toBeLessThanOrEqual(1_000_000);
    expect(Math.max(...heads.mock.results.map(({ value }) => (value as unknown[]).length))).toBeLessThanOrEqual(50);
  },
);
