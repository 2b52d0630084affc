/** What the random sequences found, one by one: events that were moved out by hand, and what may still happen to them. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startClock, stopClock } from "../clock.ts";
import { gate, Origin, status } from "../origin.ts";
import { http, isBalanced, Tenant } from "../tenant.ts";

const HOUR_MS = 3_600_000;
const DAY_SECONDS = 86_400;

beforeEach(() => startClock());

afterEach(() => {
  vi.restoreAllMocks();
  stopClock();
});

/** Events that were given up by hand and are past their time; their bytes are stored, or not. */
async function withExpired(retainSeconds: number, ...ids: readonly string[]) {
  const origin = new Origin();
  const tenant = await Tenant.create({ deadLetterTtlSeconds: DAY_SECONDS, retainSeconds });
  await tenant.accept(...ids);
  for (const id of ids) await tenant.admin("POST", `/events/in:${id}/dead-letter`);
  await tenant.runFor(30 * HOUR_MS);
  expect(await tenant.ledger()).toMatchObject({ expired: ids.length, backlog: 0 });
  return { origin, tenant };
}

const repeat = (tenant: Tenant) => tenant.post("evt_1", JSON.stringify({ id: "evt_1" }));

test("[D6] [X6] an expired event that was erased stays closed: its repeat is a duplicate, and no run is due", async () => {
  const { origin, tenant } = await withExpired(30 * DAY_SECONDS, "evt_1");
  await tenant.admin("POST", "/events/erase", { ids: ["in:evt_1"] });
  expect(await (await repeat(tenant)).json()).toEqual({ status: "deduplicated", eventId: "in:evt_1" });
  expect(await tenant.ledger()).toMatchObject({ expired: 1, backlog: 0, erased: 0, nextAttemptAt: null });
  expect(await tenant.runFor(HOUR_MS)).toBeLessThan(3);
  expect(origin.requests).toEqual([]);
});

test("[D6] [X6] it stays closed when its row is gone with its segment: the repeat's bytes are not stored", async () => {
  const { origin, tenant } = await withExpired(48 * 3_600, "evt_1");
  await tenant.admin("POST", "/events/erase", { ids: ["in:evt_1"] });
  await tenant.runFor(48 * HOUR_MS);
  expect(await tenant.sql("SELECT name FROM sqlite_master WHERE name GLOB 'body_*'")).toEqual([]);
  expect((await repeat(tenant)).status).toBe(200);
  await tenant.runFor(HOUR_MS);
  expect(await tenant.sql("SELECT seq FROM kept")).toEqual([]);
  expect(await tenant.ledger()).toMatchObject({ expired: 1, backlog: 0 });
  expect(origin.requests).toEqual([]);
});

test("[X2] [X5] a redrive is about dead letters: what is expired stays so, whether it is named or counted", async () => {
  const { origin, tenant } = await withExpired(30 * DAY_SECONDS, "evt_1", "evt_2");
  for (const dryRun of [true, false]) {
    const call = { destination: "origin", ids: ["in:evt_1", "in:evt_2"], dryRun };
    expect(await (await tenant.admin("POST", "/dead-letters/redrive", call)).json()).toEqual({ count: 0 });
  }
  expect(await tenant.ledger()).toMatchObject({ expired: 2, backlog: 0 });
  // A repeat brings it back all the same.
  expect((await repeat(tenant)).status).toBe(202);
  await tenant.settle();
  expect(origin.ids()).toEqual(["in:evt_1"]);
  expect(await tenant.ledger()).toMatchObject({ expired: 1, delivered: 1 });
});

test("[X5] [V14] a redriven event that is erased as the next one behind the position leaves the ledger balanced", async () => {
  const origin = new Origin();
  const held = gate();
  origin.answer = () => held.answer.then(() => status(422));
  const tenant = await Tenant.create({
    destinations: { origin: http("origin.test", { batch: { maxEvents: 4, flushDelayMs: 0 } }) },
  });
  await tenant.accept("evt_1", "evt_2", "evt_3", "evt_4");
  const run = tenant.runAlarm();
  await origin.reached(1);
  await tenant.admin("POST", "/events/in:evt_4/dead-letter");
  await tenant.admin("POST", "/dead-letters/redrive", { destination: "origin", ids: ["in:evt_4"] });
  held.open(status(204));
  await run;
  // The other three are set aside: the position stands right before the fourth.
  expect(await tenant.ledger()).toMatchObject({ backlog: 4, retrying: 4 });
  await tenant.accept("evt_5");
  await tenant.admin("POST", "/events/erase", { ids: ["in:evt_4"] });
  expect(await tenant.ledger()).toMatchObject({ offered: 5, backlog: 4, erased: 1 });
  expect(isBalanced(await tenant.stats())).toBe(true);
  origin.answer = () => status(204);
  await tenant.runFor(HOUR_MS);
  expect(await tenant.ledger()).toMatchObject({ delivered: 4, backlog: 0, erased: 1 });
});

test("[V20] [X6] an erased event that alone fills the gap before what is settled does not keep those behind from going", async () => {
  const origin = new Origin();
  origin.answer = () => status(410);
  const tenant = await Tenant.create({ destinations: { origin: http() } });
  await tenant.accept("evt_0");
  await tenant.runAlarm();
  await tenant.accept("evt_1", "evt_2", "evt_3");
  await tenant.admin("POST", "/events/erase", { ids: ["in:evt_2"] });
  // The second event that gets 410 alone disables the destination: the third is set aside, the first two are not yet.
  await tenant.runAlarm();
  expect(await tenant.ledger()).toMatchObject({ state: "disabled", backlog: 3, erased: 1 });
  origin.answer = () => status(204);
  await tenant.accept("evt_4");
  await tenant.admin("POST", "/destinations/origin/resume");
  await tenant.runFor(HOUR_MS);
  expect(new Set(origin.ids())).toEqual(new Set(["in:evt_0", "in:evt_1", "in:evt_3", "in:evt_4"]));
  expect(await tenant.ledger()).toMatchObject({ offered: 5, delivered: 4, erased: 1, backlog: 0 });
});

/** As a store may hold it that knows of no erasure at this place. */
const ERASED_BEHIND_ITS_BACK =
  "UPDATE body_2 SET body = NULL, headers = '', erased_at_ms = 1 WHERE event_id = 'in:evt_1'";

test("[X6] [X2] a dead letter without bytes is not put back by a redrive: it ends as erased", async () => {
  const origin = new Origin();
  const tenant = await Tenant.create();
  await tenant.accept("evt_1");
  await tenant.admin("POST", "/events/in:evt_1/dead-letter");
  await tenant.sql(ERASED_BEHIND_ITS_BACK);
  await tenant.admin("POST", "/dead-letters/redrive", { destination: "origin", ids: ["in:evt_1"] });
  for (const restart of [async () => {}, () => tenant.evict()]) {
    await restart();
    expect(await tenant.ledger()).toMatchObject({ dead: 0, backlog: 0, erased: 1 });
    expect(isBalanced(await tenant.stats())).toBe(true);
  }
  await tenant.settle();
  expect(origin.requests).toEqual([]);
});

test("[X6] [V50] a set-aside event without bytes is not due for ever: it ends as erased", async () => {
  const origin = new Origin();
  const tenant = await Tenant.create();
  await tenant.accept("evt_1");
  await tenant.admin("POST", "/events/in:evt_1/dead-letter");
  await tenant.admin("POST", "/dead-letters/redrive", { destination: "origin", ids: ["in:evt_1"] });
  expect(await tenant.ledger()).toMatchObject({ backlog: 1, retrying: 1 });
  await tenant.sql(ERASED_BEHIND_ITS_BACK);
  expect(await tenant.runFor(HOUR_MS)).toBeLessThan(3);
  expect(await tenant.ledger()).toMatchObject({ dead: 0, backlog: 0, erased: 1 });
  expect(isBalanced(await tenant.stats())).toBe(true);
  expect(origin.requests).toEqual([]);
});

test("[X6] [V15] an event that was erased before its destination began, and is given up, ends as erased and not as dead", async () => {
  new Origin();
  const tenant = await Tenant.create();
  await tenant.accept("evt_1");
  await tenant.admin("POST", "/events/erase", { ids: ["in:evt_1"] });
  await tenant.reconfigure({
    destinations: { origin: http(), late: { ...http("origin.test"), from: "oldest" } },
  });
  expect((await tenant.admin("POST", "/events/in:evt_1/dead-letter", { destination: "late" })).status).toBe(200);
  expect((await tenant.stats()).destinations.late).toMatchObject({ offered: 1, dead: 0, backlog: 0, erased: 1 });
});
