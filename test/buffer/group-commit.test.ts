import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startClock, stopClock } from "../flow/clock.ts";
import { Origin } from "../flow/origin.ts";
import { isBalanced, Tenant } from "../flow/tenant.ts";
import { failToStore, mend } from "../flow/trouble.ts";
import { arrive, arriveOne, manyCalls } from "./arrivals.ts";

beforeEach(() => startClock());

afterEach(() => {
  vi.restoreAllMocks();
  stopClock();
});

/** Counts the transactions of the object, and holds the first `sync` back until the test lets it go. */
async function watchCommits(tenant: Tenant): Promise<{ readonly commits: () => number; readonly letGo: () => void }> {
  let commits = 0;
  let letGo: () => void = () => {};
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  let isFirst = true;
  await runInDurableObject(tenant.stub, (_, { storage }) => {
    const transactionSync = storage.transactionSync.bind(storage);
    const sync = storage.sync.bind(storage);
    Object.defineProperty(storage, "transactionSync", {
      configurable: true,
      value: <T>(change: () => T): T => {
        commits += 1;
        return transactionSync(change);
      },
    });
    Object.defineProperty(storage, "sync", {
      configurable: true,
      value: async () => {
        if (isFirst) {
          isFirst = false;
          await held;
        }
        await sync();
      },
    });
  });
  return { commits: () => commits, letGo: () => letGo() };
}

/** Lets what was called from the test arrive at the object. */
async function arrivedAtObject(tenant: Tenant): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await tenant.calls.readConfig();
}

test("[L5] the first call is stored at once, the others gather while its commit is on its way: at most 200 in one transaction", async () => {
  new Origin();
  const tenant = await Tenant.create();
  const calls = await manyCalls(tenant, "e", 451);
  const { commits, letGo } = await watchCommits(tenant);
  const answers = Promise.all(calls.map(async (call) => tenant.ingest(call)));
  await arrivedAtObject(tenant);
  expect(commits()).toBe(1);
  letGo();
  expect(new Set((await answers).map(({ kind }) => kind))).toEqual(new Set(["buffered"]));
  // 1, then 200, 200 and the last 50.
  expect(commits()).toBe(4);
});

test("[L5] and at most 8 MB", { timeout: 30_000 }, async () => {
  new Origin();
  const tenant = await Tenant.create();
  const calls = await manyCalls(tenant, "e", 21, 1_000_000);
  const { commits, letGo } = await watchCommits(tenant);
  const answers = Promise.all(calls.map(async (call) => tenant.ingest(call)));
  await arrivedAtObject(tenant);
  letGo();
  expect(new Set((await answers).map(({ kind }) => kind))).toEqual(new Set(["buffered"]));
  // 1, then 8, 8 and the last 4.
  expect(commits()).toBe(4);
});

test("[L5] [R1] a group that fails is stored one by one: only what fails alone is 503, and numbers have no gap", async () => {
  const origin = new Origin();
  const tenant = await Tenant.create();
  await tenant.accept("first");
  await failToStore(tenant, "bad_1", "bad_2");
  const ids = ["a", "bad_1", "b", "a", "bad_2", "c"];
  const answers = await arrive(tenant, ...ids.map((id) => ({ id })));
  expect(answers.map(({ kind }) => kind)).toEqual([
    "buffered",
    "unavailable",
    "buffered",
    "deduplicated",
    "unavailable",
    "buffered",
  ]);
  await mend(tenant);
  await arrive(tenant, { id: "bad_1" }, { id: "bad_2" });
  await tenant.settle();
  expect(origin.accepted.map(({ seq }) => seq)).toEqual(["1", "2", "3", "4", "5", "6"]);
  expect(isBalanced(await tenant.stats())).toBe(true);
});

test("[L5] [L3] a transaction that rolls back takes its new segment with it, and the next one makes it again", async () => {
  const origin = new Origin();
  const tenant = await Tenant.create();
  await tenant.sql("CREATE TRIGGER trouble AFTER INSERT ON segment BEGIN SELECT RAISE(ABORT, 'no room'); END");
  expect((await arriveOne(tenant, { id: "a" })).kind).toBe("unavailable");
  expect((await tenant.stats()).storage.segments).toBe(0);
  await mend(tenant);
  expect((await arriveOne(tenant, { id: "a" })).kind).toBe("buffered");
  await tenant.evict();
  expect((await arriveOne(tenant, { id: "a" })).kind).toBe("deduplicated");
  await tenant.settle();
  expect(origin.ids()).toEqual(["in:a"]);
});

test("[L5] [I13] where storage fails altogether everybody is answered 503, and when it is back all goes on as before", async () => {
  const origin = new Origin();
  const tenant = await Tenant.create();
  await tenant.accept("before");
  const trouble = { isOn: true };
  await runInDurableObject(tenant.stub, (_, { storage }) => {
    const exec = storage.sql.exec.bind(storage.sql);
    Object.defineProperty(storage.sql, "exec", {
      configurable: true,
      value: (statement: string, ...bindings: SqlStorageValue[]) => {
        if (trouble.isOn && !statement.startsWith("SELECT seq, received_at_ms, body_digest"))
          throw new Error("disk is gone");
        return exec(statement, ...bindings);
      },
    });
  });
  const answers = await arrive(tenant, ...["a", "b", "c", "d"].map((id) => ({ id })));
  expect(answers.map(({ kind }) => kind)).toEqual(["unavailable", "unavailable", "unavailable", "unavailable"]);
  trouble.isOn = false;
  expect((await arrive(tenant, { id: "a" }, { id: "b" })).map(({ kind }) => kind)).toEqual(["buffered", "buffered"]);
  await tenant.settle();
  expect(origin.accepted.map(({ id, seq }) => [id, seq])).toEqual([
    ["in:before", "1"],
    ["in:a", "2"],
    ["in:b", "3"],
  ]);
});

test("[L5] [I12] a commit that does not reach the disk is 503 for all of its group; the repeat is then a duplicate, and is delivered", async () => {
  const origin = new Origin();
  const tenant = await Tenant.create();
  await runInDurableObject(tenant.stub, (_, { storage }) => {
    const sync = storage.sync.bind(storage);
    let isFirst = true;
    Object.defineProperty(storage, "sync", {
      configurable: true,
      value: () => {
        if (!isFirst) return sync();
        isFirst = false;
        return Promise.reject(new Error("not durable"));
      },
    });
  });
  expect((await arriveOne(tenant, { id: "a" })).kind).toBe("unavailable");
  expect((await arriveOne(tenant, { id: "a" })).kind).toBe("deduplicated");
  await tenant.settle();
  expect(origin.ids()).toEqual(["in:a"]);
});
