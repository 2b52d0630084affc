import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startClock, stopClock } from "../flow/clock.ts";
import { Origin } from "../flow/origin.ts";
import { Tenant } from "../flow/tenant.ts";

beforeEach(() => startClock());

afterEach(() => {
  vi.restoreAllMocks();
  stopClock();
});

test("[V47] [V20] [O3] an object whose configuration cannot be opened looks again until the key is back: nothing waits for another request", async () => {
  const origin = new Origin();
  const tenant = await Tenant.create();
  await tenant.accept("evt_1");
  const [row] = await tenant.sql<{ record: string }>("SELECT record FROM tenant");
  const record = JSON.parse(row?.record ?? "{}") as Record<string, unknown>;
  await tenant.sql("UPDATE tenant SET record = ?", JSON.stringify({ ...record, keyId: "00000000" }));
  await tenant.evict();
  expect(await tenant.runAlarm()).toBe(true);
  expect(origin.ids()).toEqual([]);
  await tenant.sql("UPDATE tenant SET record = ?", row?.record ?? "");
  await tenant.evict();
  expect(await tenant.alarmAtMs()).not.toBeNull();
  await tenant.settle();
  expect(origin.ids()).toEqual(["in:evt_1"]);
});
