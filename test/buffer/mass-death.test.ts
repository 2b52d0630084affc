import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { moveClock, startClock, stopClock } from "../flow/clock.ts";
import { Origin, status } from "../flow/origin.ts";
import { http, isBalanced, Tenant } from "../flow/tenant.ts";
import { countRows } from "./rows.ts";

beforeEach(() => startClock());

afterEach(() => {
  vi.restoreAllMocks();
  stopClock();
});

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Stores `count` events like the newest one, straight into its segment; the object starts anew and finds them there. */
async function multiply(tenant: Tenant, count: number): Promise<void> {
  const segments = await tenant.sql<{ name: string }>(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'body_[0-9]*' ORDER BY name",
  );
  const table = segments.at(-1)?.name ?? "";
  await runInDurableObject(tenant.stub, (_, state) => {
    const columns = "received_at_ms, size_bytes, source, provider, event_id, type, content_type, headers, hops, body";
    state.storage.sql.exec(
      `WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ?),
         newest AS (SELECT * FROM ${table} ORDER BY seq DESC LIMIT 1)
       INSERT INTO ${table} (seq, offered_bytes, ${columns})
       SELECT newest.seq + n, newest.offered_bytes + n * newest.size_bytes, ${columns
         .split(", ")
         .map((column) => (column === "event_id" ? "'in:copy_' || n" : `newest.${column}`))
         .join(", ")} FROM number, newest`,
      count,
    );
  });
  await tenant.evict();
}

test.each([
  ["1,000,000", 1_000_000, 5_000],
  ["20,000, most of them not meant for the destination,", 20_000, 500],
])(
  "[L6] [X1] the death and expiry of %s events writes few rows",
  { timeout: 240_000 },
  async (_name, count, rowsMax) => {
    const origin = new Origin();
    origin.answer = () => status(500);
    const filter = count < 1_000_000 ? { filter: { types: ["rare"] } } : {};
    const tenant = await Tenant.create({
      maxBacklogEvents: 10_000_000,
      deadLetterTtlSeconds: 86_400,
      destinations: { origin: http("origin.test", { giveUpAfterSeconds: 3_600, ...filter }) },
    });
    await tenant.admin("POST", "/destinations/origin/pause");
    if (count < 1_000_000)
      for (let index = 0; index < 10; index += 1) await tenant.post(`rare_${index}`, "{}", { "x-event-type": "rare" });
    await tenant.accept("first");
    await multiply(tenant, count - 1);
    const rows = await countRows(tenant);
    await tenant.admin("POST", "/destinations/origin/resume");
    await tenant.runFor(2 * HOUR_MS);
    const dead = count < 1_000_000 ? 10 : count;
    let stats = await tenant.stats();
    expect(stats.destinations.origin).toMatchObject({ backlog: 0, dead, delivered: 0 });
    expect(isBalanced(stats)).toBe(true);
    const written = rows.written();
    moveClock(DAY_MS);
    await tenant.runFor(2 * HOUR_MS);
    stats = await tenant.stats();
    expect(stats.destinations.origin).toMatchObject({ dead: 0, expired: dead });
    expect(isBalanced(stats)).toBe(true);
    console.info(`${count} events: ${written} rows written until dead, ${rows.written()} until expired`);
    expect(rows.written()).toBeLessThan(rowsMax);
  },
);

test("[L6] [D6] [X2] [X4] [X6] single events leave a range, by repeat, redrive, purge and erasure, and the ledger stays exact", async () => {
  const origin = new Origin();
  origin.answer = () => status(500);
  const tenant = await Tenant.create({ destinations: { origin: http("origin.test", { giveUpAfterSeconds: 3_600 }) } });
  const ids = Array.from({ length: 30 }, (_, index) => `e${index}`);
  await tenant.accept(...ids);
  await tenant.runFor(3 * HOUR_MS);
  expect(await tenant.ledger()).toMatchObject({ dead: 30, backlog: 0 });
  expect((await tenant.sql("SELECT * FROM dead_range")).length).toBeGreaterThan(0);
  origin.answer = () => status(200);
  expect(await (await tenant.post("e4", '{"id":"e4"}')).json()).toMatchObject({ status: "reopened" });
  await tenant.admin("POST", "/dead-letters/redrive", { destination: "origin", ids: ["in:e10"] });
  await tenant.admin("POST", "/dead-letters/purge", { destination: "origin", ids: ["in:e20", "in:e21"] });
  await tenant.admin("DELETE", "/events/in%3Ae29/body");
  await tenant.runFor(HOUR_MS);
  expect(new Set(origin.ids())).toEqual(new Set(["in:e4", "in:e10"]));
  const stats = await tenant.stats();
  expect(stats.destinations.origin).toMatchObject({ dead: 25, delivered: 2, purged: 2, erased: 1 });
  expect(isBalanced(stats)).toBe(true);
  const states = await Promise.all(
    ["e4", "e20", "e29", "e5"].map(async (id) => (await tenant.event(id))?.destinations.origin?.state),
  );
  expect(states).toEqual(["delivered", "purged", "erased", "dead"]);
  // A purged or erased event stays closed [D6].
  for (const id of ["e20", "e29"]) {
    expect(await (await tenant.post(id, `{"id":"${id}"}`)).json()).toMatchObject({ status: "deduplicated" });
  }
  // By filter, or all, the rest of the ranges goes as a job.
  const answer = await tenant.admin("POST", "/dead-letters/purge", { destination: "origin", all: true });
  const { job, count } = (await answer.json()) as { job: string; count: number };
  expect(count).toBe(25);
  await tenant.settle();
  expect(await (await tenant.admin("GET", `/jobs/${job}`)).json()).toMatchObject({ state: "done", done: 25 });
  expect(await tenant.ledger()).toMatchObject({ dead: 0, purged: 27 });
});
