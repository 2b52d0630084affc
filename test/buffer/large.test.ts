import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { moveClock, startClock, stopClock } from "../flow/clock.ts";
import { bytesOf, Origin } from "../flow/origin.ts";
import { http, isBalanced, Tenant } from "../flow/tenant.ts";
import { arriveOne, callFor } from "./arrivals.ts";
import { handOver, jsonOf, LARGE, noise, staged } from "./large-arrivals.ts";

beforeEach(() => startClock());

afterEach(() => {
  vi.restoreAllMocks();
  stopClock();
});

const MB = 1_000_000;

/** A tenant that takes large bodies, with one destination. */
function create(destination: Record<string, unknown> = {}, config: Record<string, unknown> = {}): Promise<Tenant> {
  return Tenant.create({ ...LARGE, destinations: { origin: http("origin.test", destination) }, ...config });
}

async function until(isReached: () => Promise<boolean>): Promise<void> {
  for (let turn = 0; !(await isReached()); turn += 1) {
    if (turn > 1_000) throw new Error("not reached");
    await scheduler.wait(5);
  }
}

describe("[V25] large bodies come out as they went in", () => {
  test.each([
    ["text over one chunk", jsonOf(1_500_001)],
    ["bytes of two chunks exactly", noise(3 * MB)],
    ["text whose characters lie across chunks", jsonOf(4_567_890)],
    ["bytes over two chunks", noise(3_333_333)],
  ])("[V25] [I3] [V2] format batch: %s", async (_name, body) => {
    const origin = new Origin();
    const tenant = await create();
    expect((await tenant.post("evt_1", body)).status).toBe(202);
    await tenant.settle();
    expect(origin.accepted.map((event) => bytesOf(event))).toEqual([body]);
    expect(await tenant.ledger()).toMatchObject({ offered: 1, delivered: 1, backlog: 0 });
    expect(isBalanced(await tenant.stats())).toBe(true);
  });

  test.each(["single", "cloudevents"])("[V25] [V3] format %s", async (format) => {
    const origin = new Origin();
    const tenant = await create({ format });
    const body = jsonOf(2_200_000);
    expect((await tenant.post("evt_1", body, { "content-type": "application/json" })).status).toBe(202);
    await tenant.settle();
    const [request] = origin.requests;
    if (format === "single") expect(request?.body).toEqual(body);
    else {
      const text = new TextDecoder().decode(request?.body);
      expect(text).toContain(`"data":${new TextDecoder().decode(body)}}]`);
      expect(JSON.parse(text)).toMatchObject([{ id: "in:evt_1", datacontenttype: "application/json" }]);
    }
    expect(await tenant.ledger()).toMatchObject({ delivered: 1, backlog: 0 });
  });

  test("[V25] [I4] 25 MiB is taken and delivered, a byte more is not taken", async () => {
    const origin = new Origin();
    const tenant = await create({ format: "single", timeoutMs: 60_000 });
    const body = noise(26_214_400);
    expect((await tenant.post("evt_1", body)).status).toBe(202);
    expect((await tenant.post("evt_2", new Uint8Array(26_214_401))).status).toBe(413);
    expect(await staged(tenant)).toEqual({ chunks: 18, kept: 0, uploads: 0 });
    await tenant.settle();
    expect(origin.requests).toHaveLength(1);
    expect(origin.requests[0]?.body).toEqual(body);
  });

  test("[V25] [I4] an event is large by body and kept headers together, and only then has chunks", async () => {
    const origin = new Origin();
    const source = { provider: "generic", secrets: ["generic-secret-01-long"], forwardHeaders: ["x-long"] };
    const tenant = await create({ format: "single" }, { sources: { in: source } });
    const body = noise(1_490_000);
    expect((await tenant.post("evt_1", body)).status).toBe(202);
    expect(await staged(tenant)).toEqual({ chunks: 0, kept: 0, uploads: 0 });
    expect((await tenant.post("evt_2", body, { "x-long": "l".repeat(20_000) })).status).toBe(202);
    expect(await staged(tenant)).toEqual({ chunks: 1, kept: 0, uploads: 0 });
    await tenant.settle();
    expect(origin.requests.map((request) => request.body)).toEqual([body, body]);
    expect(origin.requests[1]?.headers.get("x-long")).toHaveLength(20_000);
  });

  test("[V25] a large event is sent alone and at once; batches end before it and begin behind it", async () => {
    const origin = new Origin();
    const tenant = await create({ batch: { maxEvents: 50, maxBytes: 5 * MB, flushDelayMs: 2_000 } });
    const ids = ["evt_1", "evt_2", "big_3", "evt_4", "big_5", "big_6", "evt_7"];
    for (const id of ids) {
      const response = await tenant.post(id, id.startsWith("big") ? noise(1_600_000) : "{}");
      expect(response.status).toBe(202);
    }
    await tenant.runAlarm();
    // What is behind the last large one waits for its flush delay, as ever.
    const sent = () => origin.exchanges.map((exchange) => exchange.ids.map((id) => id.slice(3)));
    expect(sent()).toEqual([["evt_1", "evt_2"], ["big_3"], ["evt_4"], ["big_5"], ["big_6"]]);
    await tenant.runFor(2_000);
    expect(sent().at(-1)).toEqual(["evt_7"]);
  });

  test("[V25] [X2] redriven large events go alone too, and their bytes are the same", async () => {
    const origin = new Origin();
    origin.answer = () => new Response(null, { status: 400 });
    const retry = { maxAttempts: 1 };
    const tenant = await create({ retry });
    const bodies = new Map([1, 2, 3].map((seed) => [`in:big_${seed}`, noise(1_600_000, seed)]));
    for (const [id, body] of bodies) expect((await tenant.post(id.slice(3), body)).status).toBe(202);
    await tenant.accept("evt_4");
    await tenant.runFor(60_000);
    expect(await tenant.ledger()).toMatchObject({ dead: 4, backlog: 0 });
    const before = origin.requests.length;
    origin.answer = () => new Response(null, { status: 204 });
    await tenant.admin("POST", "/destinations/origin/resume");
    await tenant.admin("POST", "/dead-letters/redrive", { destination: "origin", all: true });
    await tenant.runFor(3_600_000);
    expect(await tenant.ledger()).toMatchObject({ delivered: 4, dead: 0, backlog: 0 });
    for (const exchange of origin.exchanges.slice(before)) {
      if (exchange.ids.some((id) => bodies.has(id))) expect(exchange.ids).toHaveLength(1);
    }
    for (const event of origin.accepted) {
      if (bodies.has(event.id)) expect(bytesOf(event)).toEqual(bodies.get(event.id));
    }
  });

  test("[V25] [O11] …/body streams it, as bytes to be saved", async () => {
    new Origin();
    const tenant = await create();
    const body = noise(3_200_000);
    await tenant.post("evt_1", body);
    const response = await tenant.admin("GET", "/events/in%3Aevt_1/body");
    expect(response.status).toBe(200);
    expect(response.headers.get("content-disposition")).toBe("attachment");
    expect(response.headers.get("content-type")).toBe("application/octet-stream");
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(body);
    expect(await tenant.event("evt_1")).toMatchObject({ bodySizeBytes: 3_200_000 });
  });
});

describe("[I12] [V25] a body that is coming in counts as nothing", () => {
  test("[I12] [L5] other events are stored and delivered meanwhile; the event is there only with the last byte", async () => {
    const origin = new Origin();
    const tenant = await create();
    const body = noise(4 * MB);
    const handing = await handOver(tenant, { id: "big", body });
    await handing.send(body.subarray(0, 3_500_000));
    await until(async () => (await staged(tenant)).chunks === 2);
    await tenant.accept("evt_1", "evt_2");
    await tenant.settle();
    expect(origin.ids()).toEqual(["in:evt_1", "in:evt_2"]);
    expect(await tenant.event("big")).toBeNull();
    const during = await tenant.stats();
    expect(during.accepted).toBe(2);
    expect(isBalanced(during)).toBe(true);
    await handing.send(body.subarray(3_500_000));
    await handing.end();
    expect(await handing.answer).toMatchObject({ kind: "buffered", eventId: "in:big" });
    expect(await staged(tenant)).toEqual({ chunks: 3, kept: 0, uploads: 0 });
    await tenant.settle();
    expect(origin.accepted.at(-1)).toMatchObject({ id: "in:big", seq: "3" });
    expect(origin.accepted.map((event) => event.id)).toHaveLength(3);
  });

  test.each([
    ["breaks off", 3 * MB, 2 * MB, "breakOff"],
    ["ends early", 3 * MB, 2 * MB, "end"],
    ["ends early, on a chunk", 3 * MB, 1_500_000, "end"],
    ["is longer than was said", 2 * MB, 2 * MB + 1, "end"],
  ] as const)("[I12] one that %s leaves nothing behind, and can be sent again", async (_how, said, sent, how) => {
    const origin = new Origin();
    const tenant = await create();
    const body = noise(3 * MB);
    const handing = await handOver(tenant, { id: "big", body }, said);
    await handing.send(body.subarray(0, sent)).catch(() => {});
    await handing[how]().catch(() => {});
    expect(await handing.answer.catch(() => ({ kind: "broken" }))).not.toMatchObject({ kind: "buffered" });
    await until(async () => (await staged(tenant)).uploads === 0);
    expect(await staged(tenant)).toEqual({ chunks: 0, kept: 0, uploads: 0 });
    expect((await tenant.stats()).accepted).toBe(0);
    expect((await tenant.post("big", body)).status).toBe(202);
    await tenant.settle();
    expect(origin.accepted.map((event) => bytesOf(event))).toEqual([body]);
  });

  test("[I12] one that was coming in when the object was killed is removed when it starts again", async () => {
    const origin = new Origin();
    const tenant = await create();
    await tenant.accept("evt_1");
    const body = noise(4 * MB);
    const handing = await handOver(tenant, { id: "big", body });
    const failed = handing.answer.catch(() => "killed");
    await handing.send(body.subarray(0, 3_500_000));
    await until(async () => (await staged(tenant)).chunks === 2);
    await runInDurableObject(tenant.stub, (_, state) => state.abort("killed")).catch(() => {});
    expect(await failed).toBe("killed");
    await handing.breakOff();
    expect(await staged(tenant)).toEqual({ chunks: 0, kept: 0, uploads: 0 });
    expect((await tenant.stats()).accepted).toBe(1);
    expect((await tenant.post("big", body)).status).toBe(202);
    await tenant.settle();
    expect(origin.ids()).toEqual(["in:evt_1", "in:big"]);
    expect(origin.accepted.slice(1).map((event) => bytesOf(event))).toEqual([body]);
  });

  test("[I12] one that has not come in after a minute is given up", async () => {
    new Origin();
    const tenant = await create();
    const real = globalThis.setTimeout;
    const hurried = (callback: () => void, ms?: number) => real(callback, ms === 60_000 ? 200 : ms);
    vi.spyOn(globalThis, "setTimeout").mockImplementation(hurried as unknown as typeof setTimeout);
    const body = noise(2 * MB);
    const handing = await handOver(tenant, { id: "big", body });
    await handing.send(body.subarray(0, 1_600_000)).catch(() => {});
    expect(await handing.answer).toMatchObject({ kind: "unavailable", code: "not-stored" });
    expect(await staged(tenant)).toEqual({ chunks: 0, kept: 0, uploads: 0 });
  });

  test("[L2] [V25] the segment that was sealed meanwhile: the chunks go where the event goes", async () => {
    const origin = new Origin();
    const tenant = await create({}, { retainBytes: 8 * MB });
    const body = noise(3_200_000);
    const handing = await handOver(tenant, { id: "big", body });
    await handing.send(body.subarray(0, 2 * MB));
    await until(async () => (await staged(tenant)).chunks === 1);
    moveClock(3_600_000);
    await tenant.accept("evt_1");
    expect((await tenant.stats()).storage.segments).toBeGreaterThan(1);
    await handing.send(body.subarray(2 * MB));
    await handing.end();
    expect(await handing.answer).toMatchObject({ kind: "buffered" });
    expect(await staged(tenant)).toEqual({ chunks: 3, kept: 0, uploads: 0 });
    await tenant.settle();
    expect(origin.accepted.at(-1)?.id).toBe("in:big");
    expect(origin.accepted.slice(-1).map((event) => bytesOf(event))).toEqual([body]);
  });

  test("[X6] [O4] a tenant that is deleted meanwhile, and made anew, is none the wiser", async () => {
    const origin = new Origin();
    const tenant = await create();
    const body = noise(3 * MB);
    const handing = await handOver(tenant, { id: "big", body });
    await handing.send(body.subarray(0, 2 * MB));
    await until(async () => (await staged(tenant)).chunks === 1);
    expect((await tenant.admin("DELETE", "?force=true")).status).toBeLessThan(300);
    await tenant.reconfigure(LARGE);
    await tenant.accept("evt_1");
    await handing.send(body.subarray(2 * MB)).catch(() => {});
    await handing.end().catch(() => {});
    expect(await handing.answer).toMatchObject({ kind: "unavailable" });
    expect(await staged(tenant)).toEqual({ chunks: 0, kept: 0, uploads: 0 });
    expect((await tenant.stats()).accepted).toBe(1);
    await tenant.settle();
    expect(origin.ids()).toEqual(["in:evt_1"]);
  });
});

describe("[D3] [R1] what is known of a large event is found before its bytes are taken", () => {
  test("[D3] [D4] a duplicate is answered without its body, and writes no row", async () => {
    new Origin();
    const tenant = await create();
    const body = noise(2 * MB);
    expect((await tenant.post("big", body)).status).toBe(202);
    const before = await tenant.stats();
    const again = await tenant.post("big", body);
    expect([again.status, await again.json()]).toEqual([200, { status: "deduplicated", eventId: "in:big" }]);
    const handing = await handOver(tenant, { id: "big", body });
    expect(await handing.answer).toMatchObject({ kind: "deduplicated" });
    const after = await tenant.stats();
    expect(after.cost.rowsWritten).toBe(before.cost.rowsWritten);
    expect([after.accepted, after.deduplicated]).toEqual([1, 2]);
  });

  test("[D3] racing copies: one is stored, the others wait for it, and stage nothing", async () => {
    const origin = new Origin();
    const tenant = await create({ format: "single" });
    const body = noise(2_500_000);
    const answers = await Promise.all(Array.from({ length: 2 }, () => tenant.post("big", body)));
    expect(answers.map((answer) => answer.status).sort()).toEqual([200, 202]);
    const handings = await Promise.all(Array.from({ length: 6 }, () => handOver(tenant, { id: "other", body })));
    const handed = handings.map(async (handing) => {
      await handing.send(body).catch(() => {});
      await handing.end().catch(() => {});
      return (await handing.answer).kind;
    });
    expect((await Promise.all(handed)).sort()).toEqual([
      "buffered",
      ...Array.from({ length: 5 }, () => "deduplicated"),
    ]);
    expect(await staged(tenant)).toEqual({ chunks: 4, kept: 0, uploads: 0 });
    await tenant.settle();
    expect(origin.requests.map((request) => request.body)).toEqual([body, body]);
  });

  test("[D3] more bodies at once than are taken at a time: the others wait their turn", async () => {
    new Origin();
    const tenant = await create();
    const ids = Array.from({ length: 7 }, (_, index) => `big_${index}`);
    const body = noise(1_600_000);
    const handings = await Promise.all(ids.map((id) => handOver(tenant, { id, body })));
    const sends = handings.map((handing) => handing.send(body).then(() => handing.end()));
    await Promise.all(sends);
    expect(await Promise.all(handings.map(async (each) => (await each.answer).kind))).toEqual(
      ids.map(() => "buffered"),
    );
    expect(await staged(tenant)).toEqual({ chunks: 14, kept: 0, uploads: 0 });
  });

  test("[R1] over the limit nothing is staged; where the last token went meanwhile, nothing stays", async () => {
    new Origin();
    const tenant = await create({}, { rateLimit: { events: 1, windowSeconds: 60 } });
    const body = noise(2 * MB);
    const handing = await handOver(tenant, { id: "first", body });
    await handing.send(body.subarray(0, 1_600_000));
    await until(async () => (await staged(tenant)).chunks === 1);
    await tenant.accept("evt_1");
    await handing.send(body.subarray(1_600_000));
    await handing.end();
    expect(await handing.answer).toMatchObject({ kind: "rate-limited" });
    expect(await staged(tenant)).toEqual({ chunks: 0, kept: 0, uploads: 0 });
    expect((await tenant.post("second", body)).status).toBe(429);
    const stats = await tenant.stats();
    expect([stats.accepted, stats.rateLimited]).toEqual([1, 2]);
  });

  test("[R4] a large event counts with all its bytes against the bound of the backlog", async () => {
    new Origin();
    const tenant = await create({}, { maxBacklogBytes: 4 * MB });
    await tenant.admin("POST", "/destinations/origin/pause");
    expect((await tenant.post("big_1", noise(2 * MB))).status).toBe(202);
    expect((await tenant.post("big_2", noise(2 * MB, 2))).status).toBe(202);
    const refused = await tenant.post("big_3", noise(2 * MB, 3));
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "60"]);
    expect(await staged(tenant)).toEqual({ chunks: 4, kept: 0, uploads: 0 });
  });

  test("[V25] a body too large for one row is not taken in one call", async () => {
    const tenant = await create();
    expect(await arriveOne(tenant, { id: "big", body: noise(1_500_001) })).toMatchObject({
      kind: "unavailable",
      code: "too-large-for-one-call",
    });
    expect((await tenant.stats()).accepted).toBe(0);
  });

  test("[O4] verified with an old configuration it is answered with the newest, unread", async () => {
    const tenant = await create();
    const body = noise(2 * MB);
    const handing = await handOver(tenant, { id: "big", body, version: 1 });
    expect(await handing.answer).toMatchObject({ kind: "stale" });
    const { keys } = await callFor(tenant, { id: "big", body });
    expect(keys.length).toBe(24);
    expect(await staged(tenant)).toEqual({ chunks: 0, kept: 0, uploads: 0 });
  });
});
