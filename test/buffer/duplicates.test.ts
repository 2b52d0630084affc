import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { hexOf } from "../../src/core/hex.ts";
import { bodyDigest } from "../../src/ingress/digests.ts";
import { moveClock, startClock, stopClock } from "../flow/clock.ts";
import { bytesOf, Origin } from "../flow/origin.ts";
import { SECRET, Tenant } from "../flow/tenant.ts";
import { arrive, arriveOne, callFor, utf8 } from "./arrivals.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

beforeEach(() => startClock());

afterEach(() => {
  vi.restoreAllMocks();
  stopClock();
});

async function suffixOf(body: string): Promise<string> {
  return hexOf((await bodyDigest(utf8(body))).subarray(0, 8));
}

describe("the key", () => {
  test("[D1] without an id equal bodies are one event within contentDedupeSeconds of the first copy, then another", async () => {
    const origin = new Origin();
    const tenant = await Tenant.create({ contentDedupeSeconds: 600 });
    const answers: number[] = [];
    const post = async (): Promise<string> => {
      const response = await tenant.post(null, '{"temperature":21}');
      answers.push(response.status);
      return ((await response.json()) as { eventId: string }).eventId;
    };
    const first = await post();
    moveClock(300_000);
    await post();
    moveClock(299_999);
    await post();
    moveClock(1);
    const atMs = Date.now();
    const again = await post();
    expect(answers).toEqual([202, 200, 200, 202]);
    expect(again).toBe(`${first}~${atMs}`);
    await post();
    expect(answers.at(-1)).toBe(200);
    await tenant.settle();
    expect(origin.ids()).toEqual([first, again]);
  });

  test("[D1] contentDedupeSeconds 0: every copy is an event of its own, also in one millisecond", async () => {
    const origin = new Origin();
    const tenant = await Tenant.create({ contentDedupeSeconds: 0 });
    for (let copy = 0; copy < 4; copy += 1) expect((await tenant.post(null, "{}")).status).toBe(202);
    await tenant.settle();
    expect(new Set(origin.ids()).size).toBe(4);
  });

  test("[D1] the source's own eventId setting comes before the provider's id", async () => {
    new Origin();
    const source = { provider: "generic", secrets: [SECRET], eventId: { pointer: "/order/number" } };
    const tenant = await Tenant.create({ sources: { in: source } });
    const body = '{"order":{"number":9007199254740993}}';
    expect(await (await tenant.post("a", body)).json()).toMatchObject({ eventId: "in:9007199254740993" });
    expect((await tenant.post("b", body)).status).toBe(200);
    expect(await (await tenant.post("c", '{"order":{}}')).json()).toMatchObject({ eventId: "in:c" });
  });

  test("[D2] the same id at two sources is two events", async () => {
    const origin = new Origin();
    const tenant = await Tenant.create();
    const answers = await arrive(tenant, { id: "evt_1", source: "a" }, { id: "evt_1", source: "b" });
    expect(answers.map((answer) => answer.kind)).toEqual(["buffered", "buffered"]);
    await tenant.settle();
    expect(origin.ids()).toEqual(["a:evt_1", "b:evt_1"]);
  });

  test("[D8] an id that is too long, or has other characters, stands as its digest", async () => {
    new Origin();
    const tenant = await Tenant.create();
    const long = "x".repeat(201);
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(long));
    const response = await tenant.post(long, "{}");
    expect(await response.json()).toMatchObject({ eventId: `in:sha256-${new Uint8Array(digest).toHex()}` });
    expect((await tenant.post(long, "{}")).status).toBe(200);
  });
});

describe("the window", () => {
  test("[D3] [FR 47] a repeat is recognised for the whole window, long after its bytes are gone, and no longer", async () => {
    const origin = new Origin();
    const tenant = await Tenant.create({ retainSeconds: 3_600 });
    await tenant.accept("evt_1");
    // Other traffic rolls the segments, retention drops what is over.
    for (let hours = 6; hours < 96; hours += 6) {
      await tenant.runFor(6 * HOUR_MS);
      await tenant.accept(`other_${hours}`);
      expect([hours, (await tenant.post("evt_1", '{"id":"evt_1"}')).status]).toEqual([hours, 200]);
    }
    expect((await tenant.event("evt_1"))?.id).toBeUndefined();
    await tenant.runFor(6 * HOUR_MS - 1);
    expect((await tenant.post("evt_1", '{"id":"evt_1"}')).status).toBe(200);
    moveClock(1);
    expect((await tenant.post("evt_1", '{"id":"evt_1"}')).status).toBe(202);
    await tenant.runFor(HOUR_MS);
    expect(origin.ids().filter((id) => id.startsWith("in:evt_1"))).toHaveLength(2);
  });

  test("[D8] what comes again after its window, while still known, gets the time of its receipt; the newest counts", async () => {
    const origin = new Origin();
    const tenant = await Tenant.create({ dedupeWindowSeconds: 3_600 });
    await tenant.accept("evt_1");
    moveClock(HOUR_MS);
    const atMs = Date.now();
    const again = await tenant.post("evt_1", '{"id":"evt_1"}');
    expect([again.status, await again.json()]).toEqual([202, { status: "buffered", eventId: `in:evt_1~${atMs}` }]);
    // The key row was written anew: the window begins with the newest.
    moveClock(HOUR_MS - 1);
    expect((await tenant.post("evt_1", '{"id":"evt_1"}')).status).toBe(200);
    expect((await tenant.event(`evt_1~${atMs}`))?.seq).toBe("2");
    await tenant.settle();
    expect(origin.ids()).toEqual(["in:evt_1", `in:evt_1~${atMs}`]);
  });

  test("[D3] by default the window is that of the provider that tries longest, at least 4 and at most 30 days", async () => {
    const tenant = await Tenant.create();
    const shown = (await (await tenant.admin("GET", "")).json()) as { dedupeWindowSeconds?: number };
    expect(JSON.stringify(shown)).toContain('"dedupeWindowSeconds":345600');
  });

  test("[D5] a duplicate stays one across evictions, configuration changes and lost alarms", async () => {
    const origin = new Origin();
    const tenant = await Tenant.create();
    await tenant.accept("evt_1");
    await tenant.evict();
    expect((await tenant.post("evt_1", '{"id":"evt_1"}')).status).toBe(200);
    await tenant.reconfigure({ dedupeWindowSeconds: 2_592_000, retainBytes: 0 });
    expect((await tenant.post("evt_1", '{"id":"evt_1"}')).status).toBe(200);
    await tenant.settle();
    await tenant.loseAlarm();
    await tenant.evict();
    moveClock(29 * DAY_MS);
    expect((await tenant.post("evt_1", '{"id":"evt_1"}')).status).toBe(200);
    expect(origin.ids()).toEqual(["in:evt_1"]);
  });

  test("[D5] [D3] a window made shorter counts from the next repeat, a longer one as far as keys are still there", async () => {
    new Origin();
    const tenant = await Tenant.create({ dedupeWindowSeconds: 86_400 });
    await tenant.accept("evt_1");
    moveClock(2 * HOUR_MS);
    await tenant.reconfigure({ dedupeWindowSeconds: 172_800 });
    moveClock(30 * HOUR_MS);
    expect((await tenant.post("evt_1", '{"id":"evt_1"}')).status).toBe(200);
    await tenant.reconfigure({ dedupeWindowSeconds: 3_600 });
    expect((await tenant.post("evt_1", '{"id":"evt_1"}')).status).toBe(202);
  });
});

describe("other bytes under the same id", () => {
  test("[D7] where the signature covers the id a repeat with another body is a duplicate, and counted", async () => {
    const origin = new Origin();
    const tenant = await Tenant.create();
    const first = await arriveOne(tenant, { id: "evt_1", body: "a" });
    const repeat = await arriveOne(tenant, { id: "evt_1", body: "b" });
    expect([first.kind, repeat.kind]).toEqual(["buffered", "deduplicated"]);
    expect(await tenant.stats()).toMatchObject({ accepted: 1, deduplicated: 1, deduplicatedWithOtherBody: 1 });
    await tenant.settle();
    expect(origin.accepted.map((event) => event.body)).toEqual(["a"]);
  });

  test("[D7] where the provider's own retries change the body, they are not counted", async () => {
    new Origin();
    const tenant = await Tenant.create();
    await arriveOne(tenant, { id: "evt_1", body: "a", trust: "signed-changing-body" });
    const repeat = await arriveOne(tenant, { id: "evt_1", body: "b", trust: "signed-changing-body" });
    expect(repeat.kind).toBe("deduplicated");
    expect(await tenant.stats()).toMatchObject({ deduplicated: 1, deduplicatedWithOtherBody: 0 });
  });

  test("[D7] [D8] [FR 22] where it is not covered, another body under the id is another event, told by its digest", async () => {
    const origin = new Origin();
    const tenant = await Tenant.create();
    const bodies = ['{"n":1}', '{"n":2}', '{"n":3}'];
    for (const body of bodies) expect((await tenant.post("evt_1", body)).status).toBe(202);
    for (const body of bodies) expect((await tenant.post("evt_1", body)).status).toBe(200);
    await tenant.settle();
    const expected = ["in:evt_1", `in:evt_1~${await suffixOf('{"n":2}')}`, `in:evt_1~${await suffixOf('{"n":3}')}`];
    expect(origin.ids()).toEqual(expected);
    expect(origin.accepted.map((event) => new TextDecoder().decode(bytesOf(event)))).toEqual(bodies);
    for (const id of expected) expect((await tenant.event(id.slice("in:".length)))?.id).toBe(id);
  });
});

test("[O12] only a caller that is brief is answered `true`, and only where there is nothing else to tell", async () => {
  new Origin();
  const tenant = await Tenant.create();
  const first = await callFor(tenant, { id: "evt_1" });
  expect(await tenant.calls.ingest({ ...first, brief: true })).toMatchObject({ kind: "buffered", wasIdle: true });
  const next = await callFor(tenant, { id: "evt_2" });
  expect(await tenant.calls.ingest({ ...next, brief: true })).toBe(true);
  expect(await tenant.calls.ingest({ ...next, brief: true })).toMatchObject({ kind: "deduplicated" });
  expect(await tenant.calls.ingest(await callFor(tenant, { id: "evt_3" }))).toEqual({
    kind: "buffered",
    eventId: "in:evt_3",
  });
});
