/** A queue as destination, through the Worker and its object; the consumers are handed what the queue was. */
import { createExecutionContext, createMessageBatch, getQueueResult } from "cloudflare:test";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import worker from "../../src/index.ts";
import { moveClock, startClock, stopClock } from "./clock.ts";
import { Origin, status } from "./origin.ts";
import { bindings, isBalanced, Tenant } from "./tenant.ts";

type Message = Record<string, unknown> & { readonly id: string };

let origin: Origin;
let queued: Message[] = [];
let fail: () => Error | null = () => null;

beforeEach(() => {
  startClock();
  origin = new Origin();
  queued = [];
  fail = () => null;
  const queue = bindings.DELIVERY_QUEUE;
  if (queue === undefined) throw new Error("no queue is bound");
  vi.spyOn(queue, "sendBatch").mockImplementation(async (messages) => {
    const error = fail();
    if (error !== null) throw error;
    for (const { body } of messages) queued.push(structuredClone(body) as Message);
    return { metadata: { metrics: { backlogCount: 0, backlogBytes: 0 } } };
  });
});

afterEach(() => {
  vi.restoreAllMocks();
  stopClock();
});

const DAY_MS = 86_400_000;

function queue(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    kind: "queue",
    queue: "DELIVERY_QUEUE",
    batch: { flushDelayMs: 0 },
    deliverTo: { url: "https://origin.test/in" },
    ...changes,
  };
}

const asQueue = (changes: Record<string, unknown> = {}) => ({ destinations: { q: queue(changes) } });

/** Hands messages to the Worker's consumer, as the platform does; answers which it acknowledged and which come again. */
async function consume(messages: readonly Message[], queueName = "spillway-delivery", attempts = 1) {
  const batch = createMessageBatch(
    queueName,
    messages.map((body, index) => ({ id: String(index), timestamp: new Date(), attempts, body })),
  );
  const context = createExecutionContext();
  await worker.queue(batch, bindings);
  const result = await getQueueResult(batch, context);
  return { acked: result.explicitAcks.length, retried: result.retryMessages };
}

test("[V19] events are handed to the queue as messages, and delivered means handed over", async () => {
  const tenant = await Tenant.create(asQueue());
  await tenant.accept("a", "b", "c");
  await tenant.settle();
  expect(queued.map(({ id }) => id)).toEqual(["in:a", "in:b", "in:c"]);
  expect(queued[0]).toMatchObject({ v: 1, tenant: tenant.name, destination: "q", seq: "1", body: '{"id":"a"}' });
  const stats = await tenant.stats();
  expect(stats.destinations.q).toMatchObject({ offered: 3, delivered: 3, backlog: 0 });
  expect(isBalanced(stats)).toBe(true);
  expect(origin.requests).toEqual([]);
  expect(await consume(queued)).toEqual({ acked: 3, retried: [] });
  expect(origin.requests.map(({ body }) => new TextDecoder().decode(body))).toEqual([
    '{"id":"a"}',
    '{"id":"b"}',
    '{"id":"c"}',
  ]);
});

test("[V19] a queue that is full holds the destination; one that fails is retried; nothing is lost", async () => {
  const tenant = await Tenant.create(asQueue());
  fail = () => new Error("Too Many Requests");
  await tenant.accept("a", "b");
  await tenant.settle(1);
  expect(await tenant.ledger("q")).toMatchObject({ backlog: 2, delivered: 0, state: "holding" });
  fail = () => new Error("internal error");
  await tenant.runFor(60_000);
  expect((await tenant.ledger("q")).backlog).toBe(2);
  fail = () => null;
  await tenant.runFor(600_000);
  expect(await tenant.ledger("q")).toMatchObject({ backlog: 0, delivered: 2, dead: 0 });
  expect(new Set(queued.map(({ id }) => id))).toEqual(new Set(["in:a", "in:b"]));
});

test("[V19] [L1] a larger event goes as a claim; its bytes stay until the consumer has them, however short the retention", async () => {
  const tenant = await Tenant.create({ ...asQueue(), retainSeconds: 0, dedupeWindowSeconds: 3_600 });
  const large = JSON.stringify({ text: "x".repeat(200_000) });
  expect((await tenant.post("large", large)).status).toBe(202);
  await tenant.accept("small");
  await tenant.settle();
  expect(queued.find(({ id }) => id === "in:large")).toMatchObject({ claim: { sizeBytes: large.length } });
  await tenant.runFor(3 * DAY_MS);
  await tenant.evict();
  expect(await consume(queued.filter(({ id }) => id === "in:large"))).toEqual({ acked: 1, retried: [] });
  expect(new TextDecoder().decode(origin.requests[0]?.body)).toBe(large);
  expect(await tenant.sql("SELECT * FROM claim")).toEqual([]);
  await tenant.runFor(DAY_MS);
  expect((await tenant.admin("GET", "/events/in%3Alarge/body")).status).not.toBe(200);
});

test("[V19] [V25] an event over 1,500,000 bytes is a claim as well, and comes out byte for byte", async () => {
  const tenant = await Tenant.create({ ...asQueue(), maxBodyBytes: 4_000_000 });
  const large = new Uint8Array(2_200_000).map((_, index) => (index * 31) % 251);
  expect((await tenant.post("large", large)).status).toBe(202);
  await tenant.settle();
  expect(queued).toMatchObject([{ id: "in:large", claim: { sizeBytes: 2_200_000 } }]);
  expect(await consume(queued)).toEqual({ acked: 1, retried: [] });
  expect(Buffer.compare(origin.requests[0]?.body ?? new Uint8Array(), large)).toBe(0);
});

test("[V19] [X5] what the queue gives up on is a dead letter, reason queue-exhausted, and can be redriven", async () => {
  const tenant = await Tenant.create(asQueue());
  await tenant.accept("a", "b");
  await tenant.settle();
  const [a] = queued;
  if (a === undefined) throw new Error("nothing was queued");
  origin.answer = () => status(500);
  const { retried } = await consume([a], "spillway-delivery", 100);
  expect(retried).toHaveLength(1);
  expect(await consume([a], "spillway-delivery-dlq")).toEqual({ acked: 1, retried: [] });
  expect(await tenant.ledger("q")).toMatchObject({ delivered: 1, dead: 1 });
  const letters = (await (await tenant.admin("GET", "/dead-letters?destination=q")).json()) as { items: unknown[] };
  expect(letters.items).toMatchObject([{ id: "in:a", reason: "queue-exhausted" }]);
  expect(await consume([a], "spillway-delivery-dlq")).toEqual({ acked: 1, retried: [] });
  expect(await tenant.ledger("q")).toMatchObject({ delivered: 1, dead: 1 });
  queued = [];
  await tenant.admin("POST", "/dead-letters/redrive", { destination: "q", ids: ["in:a"] });
  await tenant.settle();
  expect(queued.map(({ id }) => id)).toEqual(["in:a"]);
  const stats = await tenant.stats();
  expect(stats.destinations.q).toMatchObject({ delivered: 2, dead: 0 });
  expect(isBalanced(stats)).toBe(true);
});

test("[V19] [L1] the queue may try for longer than the event is kept: its message puts it back, key and all", async () => {
  const tenant = await Tenant.create({ ...asQueue(), retainSeconds: 0, dedupeWindowSeconds: 3_600 });
  await tenant.accept("a");
  await tenant.settle();
  const [a] = queued;
  if (a === undefined) throw new Error("nothing was queued");
  await tenant.runFor(12 * DAY_MS);
  expect(await tenant.event("a")).toBeNull();
  await tenant.accept("b");
  await tenant.settle();
  expect(await consume([a], "spillway-delivery-dlq")).toEqual({ acked: 1, retried: [] });
  expect(await tenant.ledger("q")).toMatchObject({ offered: 2, delivered: 1, dead: 1 });
  expect((await tenant.event("a"))?.destinations.q).toMatchObject({ state: "dead", reason: "queue-exhausted" });
  queued = [];
  await tenant.evict();
  await tenant.admin("POST", "/dead-letters/redrive", { destination: "q", ids: ["in:a"] });
  await tenant.settle();
  expect(queued).toMatchObject([{ id: "in:a", body: '{"id":"a"}' }]);
  expect(isBalanced(await tenant.stats())).toBe(true);
});

test("[V19] messages of a removed destination, and of a deleted tenant, are dropped", async () => {
  const tenant = await Tenant.create({ destinations: { q: queue(), other: queue() } });
  await tenant.accept("a");
  await tenant.settle();
  await tenant.reconfigure({ destinations: { other: queue() } }, "?force=true");
  moveClock(31_000);
  expect(await consume(queued.filter(({ destination }) => destination === "q"))).toEqual({ acked: 1, retried: [] });
  expect(origin.requests).toEqual([]);
  expect(
    await consume(
      queued.filter(({ destination }) => destination === "q"),
      "spillway-delivery-dlq",
    ),
  ).toEqual({
    acked: 1,
    retried: [],
  });
  await tenant.admin("DELETE", "?force=true", {});
  moveClock(31_000);
  expect(await consume(queued)).toEqual({ acked: 2, retried: [] });
  expect(origin.requests).toEqual([]);
});

test("[V19] [V16] a queue and an address can be destinations side by side", async () => {
  const tenant = await Tenant.create({
    destinations: { q: queue(), origin: { kind: "http", url: "https://origin.test/in", batch: { flushDelayMs: 0 } } },
  });
  await tenant.accept("a");
  await tenant.settle();
  expect(queued.map(({ id }) => id)).toEqual(["in:a"]);
  expect(origin.ids()).toEqual(["in:a"]);
});

test("[V19] [O2] a queue that is not bound is refused when it is configured", async () => {
  const tenant = new Tenant(`t-${crypto.randomUUID()}`);
  const response = await tenant.configure(asQueue({ queue: "NO_SUCH_QUEUE" }));
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ errors: [{ path: "destinations.q.queue" }] });
  const other = await tenant.configure(asQueue({ queue: "TENANT_CONFIG" }));
  expect(other.status).toBe(400);
});
