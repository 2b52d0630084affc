/** What happens where the object's own storage will not take a write, or has no room left. */
import { runInDurableObject } from "cloudflare:test";
import { afterEach, expect, test, vi } from "vitest";
import { moveClock, startClock, stopClock } from "../flow/clock.ts";
import { Origin } from "../flow/origin.ts";
import { isBalanced, Tenant } from "../flow/tenant.ts";

afterEach(() => {
  stopClock();
  vi.restoreAllMocks();
});

test("[V35] [V14] an outcome that cannot be written is as if it had not come: the event goes again, and counts once", async () => {
  const origin = new Origin();
  const tenant = await Tenant.create();
  await runInDurableObject(tenant.stub, (_instance, state) => {
    state.storage.sql.exec(
      `CREATE TRIGGER no_record BEFORE UPDATE ON destination WHEN NEW.delivered > OLD.delivered
       BEGIN SELECT RAISE(ABORT, 'the disk is full'); END`,
    );
  });
  await tenant.accept("evt_1");
  await tenant.settle(1);
  expect(origin.ids()).toEqual(["in:evt_1"]);
  expect((await tenant.stats()).destinations["origin"]).toMatchObject({ delivered: 0, backlog: 1 });
  await runInDurableObject(tenant.stub, (_instance, state) => {
    state.storage.sql.exec("DROP TRIGGER no_record");
  });
  await tenant.settle();
  expect(origin.ids()).toEqual(["in:evt_1", "in:evt_1"]);
  const stats = await tenant.stats();
  expect(stats.destinations["origin"]).toMatchObject({ delivered: 1, backlog: 0, dead: 0 });
  expect(isBalanced(stats)).toBe(true);
});

test("[L5] [L1] [I12] a segment that could not be dropped is as it was, in memory as on disk: what comes after it is not lost", async () => {
  startClock();
  const origin = new Origin();
  const tenant = await Tenant.create({ retainSeconds: 0 });
  await tenant.accept("evt_1");
  await tenant.settle();
  await tenant.sql("CREATE TRIGGER trouble BEFORE DELETE ON segment BEGIN SELECT RAISE(ABORT, 'no room'); END");
  await tenant.runFor(4_000_000);
  await tenant.sql("DROP TRIGGER trouble");
  await tenant.accept("evt_2");
  await tenant.evict();
  await tenant.accept("evt_3");
  await tenant.runFor(10_000_000);
  expect(origin.ids()).toEqual(["in:evt_1", "in:evt_2", "in:evt_3"]);
  const stats = await tenant.stats();
  expect(stats.destinations["origin"]).toMatchObject({ delivered: 3, backlog: 0 });
  // The key segment is left, and every body segment went after all.
  expect(stats.storage.segments).toBe(1);
});

test("[L4] an object that holds 8 GB takes nothing more, and says so; what it holds is delivered", async () => {
  const origin = new Origin();
  const tenant = await Tenant.create();
  await tenant.accept("evt_1");
  await runInDurableObject(tenant.stub, (_instance, state) => {
    Object.defineProperty(state.storage.sql, "databaseSize", { get: () => 8_000_000_000, configurable: true });
  });
  // It is asked once a second.
  moveClock(1_000);
  const refused = await tenant.post("evt_2", "{}");
  expect(refused.status).toBe(503);
  expect(refused.headers.get("retry-after")).toBe("60");
  await tenant.settle();
  expect(origin.ids()).toEqual(["in:evt_1"]);
});
