/** Faults that receivers of webhooks have reported in public, played against the whole way from sender to origin. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { hurried, moveClock, startClock, stopClock } from "./clock.ts";
import { type Answer, drop, gate, hang, Origin, status } from "./origin.ts";
import { ask, http, isBalanced, Tenant } from "./tenant.ts";

beforeEach(() => startClock());

afterEach(() => {
  vi.restoreAllMocks();
  stopClock();
});

test("[FR 50] [I2] an unknown tenant is 404 and a declared size over the limit 413, before anything is stored", async () => {
  const tenant = await Tenant.create({ maxBodyBytes: 1_024 });
  const large = new Uint8Array(200_000);
  expect((await ask("/webhook/nobody", { method: "POST", body: large })).status).toBe(404);
  expect(
    (await ask(`/webhook/${tenant.name}`, { method: "POST", body: large, headers: { "x-signature": "00" } })).status,
  ).toBe(413);
  expect((await tenant.stats()).accepted).toBe(0);
});

const redirects: readonly (readonly [number, string])[] = [
  [302, "/login"],
  [301, "http://169.254.169.254/"],
  [307, "https://elsewhere.test/in"],
];

test.each(redirects)(
  "[FR 51] [V8] %d to %s is a failed attempt: nothing is followed, and the history names the target",
  async (code, location) => {
    const origin = new Origin();
    origin.answer = (request) =>
      request.url === "https://origin.test/in" ? status(code, null, { location }) : status(200);
    const tenant = await Tenant.create();
    await tenant.accept("evt_1");
    await tenant.runAlarm();
    expect(origin.requests.map(({ url }) => url)).toEqual(["https://origin.test/in"]);
    expect(await tenant.ledger()).toMatchObject({ delivered: 0, backlog: 1 });
    const [attempt] = (await tenant.event("evt_1"))?.destinations["origin"]?.attempts ?? [];
    expect(attempt).toMatchObject({ status: code, outcome: expect.stringContaining("failed") });
    expect(attempt?.response).toContain(location);
  },
);

test("[FR 54] [V23] an answer that names one event: nine are delivered at once and never sent again, the one is retried alone", async () => {
  const origin = new Origin();
  origin.answer = (_request, events) => {
    const named = events.filter(({ id }) => id === "in:evt_3").map(({ id }) => ({ itemIdentifier: id }));
    return Response.json({ batchItemFailures: origin.requests.length > 2 ? [] : named });
  };
  const tenant = await Tenant.create();
  await tenant.accept(...Array.from({ length: 10 }, (_, index) => `evt_${index}`));
  await tenant.runAlarm();
  expect(await tenant.ledger()).toMatchObject({ delivered: 9, retrying: 1 });
  await tenant.runFor(600_000);
  expect(await tenant.ledger()).toMatchObject({ delivered: 10, backlog: 0 });
  for (let index = 0; index < 10; index += 1) {
    const sent = origin.exchangesOf(`in:evt_${index}`);
    expect(sent.length).toBe(index === 3 ? sent.length : 1);
    if (index === 3) expect(sent.slice(1).every(({ ids }) => ids.length === 1)).toBe(true);
  }
});

const failures: readonly (readonly [string, Answer, string])[] = [
  ["a name that does not resolve", () => Promise.reject(new Error("internal error")), "failed:network"],
  ["a refused connection", drop, "failed:network"],
  ["a TLS error", () => Promise.reject(new Error("TLS peer's certificate is not trusted")), "failed:tls"],
  ["no answer in time", hang, "failed:timeout"],
  ...[400, 409, 413, 415, 422].map((code) => [String(code), () => status(code), "refused"] as const),
  ...[401, 403, 404, 405, 408, 421, 425, 500, 502, 503, 504, 522].map(
    (code) => [String(code), () => status(code), "failed"] as const,
  ),
  ["429", () => status(429), "busy"],
  ["410", () => status(410), "gone"],
];

test.each(failures)(
  "[FR 55] [V6] after %s an event is kept and retried, its class in its history, and it arrives when the origin is well",
  async (_name, answer, outcome) => {
    const origin = new Origin();
    origin.answer = answer;
    const tenant = await Tenant.create({ destinations: { origin: http("origin.test", { timeoutMs: 1_000 }) } });
    await tenant.accept("evt_1");
    await hurried(() => tenant.runAlarm());
    const view = (await tenant.event("evt_1"))?.destinations["origin"];
    expect(view?.state).not.toBe("delivered");
    expect(view?.attempts.map((attempt) => attempt.outcome)).toEqual([outcome]);
    expect(await tenant.ledger()).toMatchObject({ delivered: 0, dead: 0, backlog: 1 });
    origin.answer = () => status(204);
    await tenant.runFor(3_600_000);
    expect(await tenant.ledger()).toMatchObject({ delivered: 1, dead: 0, backlog: 0 });
  },
);

test.each(["Sun, 01 Jan 2040 00:02:00 GMT", "Sun Jan  1 00:02:00 2040", "120"])(
  "[FR 56] [V7] Retry-After %s holds the origin until then, and not long after",
  async (retryAfter) => {
    const origin = new Origin();
    origin.answer = () =>
      origin.requests.length === 1 ? status(429, null, { "retry-after": retryAfter }) : status(200);
    const tenant = await Tenant.create();
    const beganMs = Date.now();
    await tenant.accept("d-0095");
    await tenant.runAlarm();
    // A date is counted from the answer, by a clock that the test holds still meanwhile.
    await tenant.runFor(110_000);
    expect(origin.requests).toHaveLength(1);
    await tenant.runFor(14_000);
    expect(origin.exchanges[1]?.atMs).toBeGreaterThanOrEqual(beganMs + 115_000);
    expect(origin.exchanges[1]?.atMs).toBeLessThanOrEqual(beganMs + 121_000);
    expect(await tenant.ledger()).toMatchObject({ delivered: 1 });
  },
);

test("[FR 57] [V7] a Retry-After in another unit is taken for seconds, capped, and kept as it was sent", async () => {
  const origin = new Origin();
  origin.answer = () => status(429, null, { "retry-after": "64000" });
  const tenant = await Tenant.create({
    destinations: { origin: http("origin.test", { retryAfterMaxSeconds: 3_600 }) },
  });
  await tenant.accept("evt_1");
  await tenant.runAlarm();
  expect(await tenant.ledger()).toMatchObject({
    state: "holding",
    nextAttemptAt: new Date(Date.now() + 3_600_000).toISOString(),
  });
  const [attempt] = (await tenant.event("evt_1"))?.destinations["origin"]?.attempts ?? [];
  expect(attempt?.response).toContain("Retry-After: 64000");
});

test("[FR 58] [V4] an answer that is cut counts as none: the repeat has the same event id and the same batch id", async () => {
  const origin = new Origin();
  origin.answer = () => {
    if (origin.requests.length > 1) return status(200);
    const cut = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('{"batchItem'));
        controller.error(new Error("connection lost"));
      },
    });
    return new Response(cut, { status: 200 });
  };
  const tenant = await Tenant.create();
  await tenant.accept("d-0096");
  await tenant.runFor(600_000);
  expect(origin.exchanges.map(({ ids }) => ids)).toEqual([["in:d-0096"], ["in:d-0096"]]);
  expect(new Set(origin.exchanges.map(({ batchId }) => batchId)).size).toBe(1);
  expect(await tenant.ledger()).toMatchObject({ delivered: 1 });
});

test("[FR 60] [V11] after an outage the destinations of ten tenants probe at ten different times, and begin with one event each", {
  timeout: 30_000,
}, async () => {
  const origin = new Origin();
  origin.answer = () => status(503);
  const tenants = await Promise.all(Array.from({ length: 10 }, () => Tenant.create()));
  const nextAtMs: number[] = [];
  for (const tenant of tenants) {
    await tenant.accept(...Array.from({ length: 12 }, (_, index) => `evt_${index}`));
    while ((await tenant.ledger()).state !== "open") await tenant.runAlarm();
    nextAtMs.push(Date.parse((await tenant.ledger()).nextAttemptAt ?? ""));
  }
  expect(new Set(nextAtMs).size).toBeGreaterThanOrEqual(9);
  expect(Math.max(...nextAtMs) - Math.min(...nextAtMs)).toBeGreaterThan(3_000);
  const before = origin.exchanges.length;
  origin.answer = () => status(200);
  const [tenant] = tenants;
  await tenant?.runFor(600_000);
  expect(origin.exchanges[before]?.ids).toHaveLength(1);
});

test("[FR 61] [V8] long answers that nobody wants do not get in the way of the next request", async () => {
  const origin = new Origin();
  origin.answer = () => status(200, "x".repeat(300_000));
  const tenant = await Tenant.create({
    destinations: { origin: http("origin.test", { batch: { maxEvents: 1, flushDelayMs: 0 } }) },
  });
  await tenant.accept(...Array.from({ length: 20 }, (_, index) => `evt_${index}`));
  await tenant.runFor(10_000);
  expect(origin.requests).toHaveLength(20);
  expect(await tenant.ledger()).toMatchObject({ delivered: 20 });
});

test("[FR 62] [V13] a destination that is slow takes neither the connections nor the time of one that is not", {
  timeout: 30_000,
}, async () => {
  const origin = new Origin();
  let slowNow = 0;
  let slowMost = 0;
  origin.answer = async (request) => {
    if (!request.url.includes("slow.test")) return status(200);
    slowNow += 1;
    slowMost = Math.max(slowMost, slowNow);
    await new Promise((resolve) => setTimeout(resolve, 9_000));
    slowNow -= 1;
    return status(200);
  };
  const one = { maxEvents: 1, flushDelayMs: 0 };
  const tenant = await Tenant.create({
    destinations: {
      slow: http("slow.test", { batch: one, maxInFlight: 5, timeoutMs: 10_000 }),
      fast: http("fast.test", { batch: one }),
    },
  });
  await tenant.accept(...Array.from({ length: 6 }, (_, index) => `evt_${index}`));
  await hurried(() => tenant.runFor(60_000));
  const { destinations } = await tenant.stats();
  expect(destinations["fast"]).toMatchObject({ state: "closed", delivered: 6 });
  expect(destinations["slow"]).toMatchObject({ state: "closed", delivered: 6 });
  expect(slowMost).toBeLessThanOrEqual(5);
  const fastEndMs = Math.max(...origin.exchanges.filter(({ url }) => url.includes("fast")).map(({ atMs }) => atMs));
  const slowEndMs = Math.min(...origin.exchanges.filter(({ url }) => url.includes("slow")).map(({ atMs }) => atMs));
  expect(fastEndMs).toBeLessThanOrEqual(slowEndMs);
});

test("[FR 63] [V15] order is by arrival, and by default nobody waits for one that is retried; number and time let the origin sort", async () => {
  const origin = new Origin();
  origin.answer = (_request, events) =>
    status(events.some(({ id }) => id === "in:a1") && origin.exchangesOf("in:a1").length < 2 ? 500 : 200);
  const tenant = await Tenant.create();
  await tenant.accept("a1", "a2", "a3");
  await tenant.runFor(600_000);
  expect(origin.ids()).toEqual(["in:a2", "in:a3", "in:a1"]);
  const sorted = [...origin.accepted].sort((a, b) => Number(a.seq) - Number(b.seq));
  expect(sorted.map(({ id }) => id)).toEqual(["in:a1", "in:a2", "in:a3"]);
});

test("[FR 64] [X7] a challenge page and a 522 are failures that the history shows; a 200 is delivered, whatever it says", async () => {
  const origin = new Origin();
  const html = { "content-type": "text/html", "cf-mitigated": "challenge" };
  origin.answer = () => {
    if (origin.requests.length === 1) return status(403, "<title>Just a moment...</title>", html);
    return origin.requests.length === 2 ? status(522, "error code: 522") : status(200, "<h1>Please log in</h1>", html);
  };
  const tenant = await Tenant.create();
  await tenant.accept("d-0098");
  await tenant.runFor(3_600_000);
  const view = (await tenant.event("d-0098"))?.destinations["origin"];
  expect(view?.state).toBe("delivered");
  expect(view?.attempts.map(({ status: code, response }) => [code, response])).toEqual([
    [403, "<title>Just a moment...</title>"],
    [522, "error code: 522"],
    [200, ""],
  ]);
});

test("[FR 70] [S3] a tenant whose origin hangs does not keep another one waiting", async () => {
  const origin = new Origin();
  const { answer, open } = gate();
  origin.answer = (request) => (request.url.includes("noisy.test") ? answer : status(200));
  const noisy = await Tenant.create({ destinations: { origin: http("noisy.test") } });
  const quiet = await Tenant.create({ destinations: { origin: http("quiet.test") } });
  await noisy.accept(...Array.from({ length: 60 }, (_, index) => `evt_${index}`));
  const run = noisy.runAlarm();
  await origin.reached(1);
  const before = performance.now();
  await quiet.accept("evt_1");
  await quiet.runAlarm();
  expect(await quiet.ledger()).toMatchObject({ delivered: 1 });
  expect(performance.now() - before).toBeLessThan(5_000);
  expect((await noisy.ledger()).delivered).toBe(0);
  open(status(200));
  await run;
});

test("[FR 77] [I15] what is secret in an address or a header is in no log line, no history and no error", async () => {
  const lines: string[] = [];
  for (const level of ["log", "info", "warn", "error"] as const) {
    vi.spyOn(console, level).mockImplementation((...values) => {
      lines.push(values.map(String).join(" "));
    });
  }
  const origin = new Origin();
  origin.answer = () => drop();
  const tenant = await Tenant.create({
    destinations: {
      origin: { ...http(), url: "https://origin.test/in?key=s3cr3t-origin", bearerToken: "s3cr3t-bearer" },
    },
  });
  const path = `/webhook/${tenant.name}?token=s3cr3t-query&x=1`;
  expect((await tenant.post("d-0110", "{}", {}, path)).status).toBe(202);
  const forged = { "x-signature": "ab".repeat(32), authorization: "Bearer s3cr3t-hdr" };
  expect((await tenant.post("d-0111", "{}", forged, path)).status).toBe(401);
  await tenant.runAlarm();
  const seen = [
    ...lines,
    JSON.stringify(await tenant.event("d-0110")),
    JSON.stringify(await tenant.stats()),
    await (await tenant.admin("GET", "")).text(),
    await (await tenant.admin("GET", "/dead-letters")).text(),
  ].join("\n");
  for (const secret of ["s3cr3t-query", "s3cr3t-hdr", "s3cr3t-bearer", "abababab", "generic-secret-01"]) {
    expect(seen).not.toContain(secret);
  }
  expect(lines.join("\n")).not.toContain("s3cr3t-origin");
  const withUser = { ...http(), url: "https://user:pa55@origin.test/in" };
  expect((await tenant.configure({ destinations: { origin: withUser } })).status).toBe(400);
});

test("[FR 78] [I15] names with line breaks, quotes and terminal codes make no log line of their own", async () => {
  const lines: string[] = [];
  for (const level of ["log", "info", "warn", "error"] as const) {
    vi.spyOn(console, level).mockImplementation((...values) => {
      lines.push(values.map(String).join(" "));
    });
  }
  const origin = new Origin();
  origin.answer = () => status(500, '\u001b[31mred\n{"level":"fatal"}');
  const tenant = await Tenant.create();
  const forgedPath = `/webhook/${tenant.name}%0A%7B%22level%22%3A%22info%22%7D`;
  expect((await tenant.post("a", "{}", {}, forgedPath)).status).toBe(404);
  expect((await tenant.post('x","level":"fatal', "{}", { "x-signature": "00" })).status).toBe(401);
  await tenant.accept('y","level":"fatal');
  await tenant.runAlarm();
  for (const line of lines) {
    expect([...line].filter((character) => character < " " || character === "\u007f")).toEqual([]);
    expect(() => JSON.parse(line) as unknown).not.toThrow();
    expect((JSON.parse(line) as { level?: string }).level).not.toBe("fatal");
  }
});

test("[FR 79] [V9] duplicates and events that time out do not use up the sending: fresh ones have their first attempt soon", {
  timeout: 30_000,
}, async () => {
  const origin = new Origin();
  origin.answer = (request, events) => (events.some(({ id }) => id.includes("old_")) ? hang(request) : status(200));
  const tenant = await Tenant.create({ destinations: { origin: http("origin.test", { timeoutMs: 1_000 }) } });
  await tenant.accept("first");
  await tenant.settle();
  await tenant.accept(...Array.from({ length: 8 }, (_, index) => `old_${index}`));
  await hurried(() => tenant.runFor(120_000));
  for (let index = 0; index < 10; index += 1) {
    await tenant.accept(`fresh_${index}`);
    expect((await tenant.post(`fresh_${index}`, `{"id":"fresh_${index}"}`)).status).toBe(200);
    await hurried(() => tenant.runFor(20_000));
  }
  const fresh = origin.ids().filter((id) => id.includes("fresh_"));
  expect(new Set(fresh).size).toBe(10);
  expect(fresh).toHaveLength(10);
  expect(isBalanced(await tenant.stats())).toBe(true);
});

test("[FR 81] [V1] large events go by bytes, one at a time where one fills a batch, and keep nobody waiting", {
  timeout: 30_000,
}, async () => {
  const origin = new Origin();
  const big = await Tenant.create({ destinations: { origin: http("big.test") } });
  const quiet = await Tenant.create({ destinations: { origin: http("quiet.test") } });
  const body = new Uint8Array(1_000_000).fill(0x61);
  for (let index = 0; index < 8; index += 1) expect((await big.post(`evt_${index}`, body)).status).toBe(202);
  await quiet.accept(...Array.from({ length: 20 }, (_, index) => `evt_${index}`));
  await Promise.all([big.runFor(10_000), quiet.runAlarm()]);
  const sizes = origin.requests.filter(({ url }) => url.includes("big.test")).map((request) => request.body.byteLength);
  expect(sizes).toHaveLength(8);
  for (const size of sizes) expect(size).toBeLessThan(1_100_000);
  expect(await quiet.ledger()).toMatchObject({ delivered: 20 });
  expect(await big.ledger()).toMatchObject({ delivered: 8, backlog: 0 });
  expect([...origin.counts().values()].every((count) => count <= 2)).toBe(true);
  moveClock(1_000);
});
