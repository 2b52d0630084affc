import { describe, expect, test } from "vitest";
import type { DeliveredEvent, Delivery } from "../../src/sinks/delivery.ts";
import { type QueueBinding, sendToQueue as sendWithin } from "../../src/sinks/queue.ts";

const utf8 = new TextEncoder();
const NO_LIMIT = 10_000_000;

const sendToQueue = (queue: QueueBinding, what: Delivery, maxBacklog: number) =>
  sendWithin(queue, what, maxBacklog, 10_000);

interface Sent {
  readonly body: Record<string, unknown>;
  readonly contentType: string;
}

/** A queue that keeps what it is handed; `fail` says what a call throws. */
class FakeQueue implements QueueBinding {
  readonly calls: (readonly Sent[])[] = [];
  metricsCalls = 0;
  backlogCount = 0;
  fail: (call: number) => Error | null = () => null;

  async sendBatch(messages: readonly { readonly body: unknown; readonly contentType: "json" }[]): Promise<void> {
    const error = this.fail(this.calls.length);
    if (error !== null) throw error;
    this.calls.push(messages as readonly Sent[]);
  }

  async metrics(): Promise<{ readonly backlogCount: number }> {
    this.metricsCalls += 1;
    return { backlogCount: this.backlogCount };
  }

  get messages(): readonly Sent[] {
    return this.calls.flat();
  }
}

function event(seq: number, body: Uint8Array, changes: Partial<DeliveredEvent> = {}): DeliveredEvent {
  return {
    seq,
    eventId: `in:e-${seq}`,
    source: "in",
    provider: "generic",
    type: "order.paid",
    receivedAtMs: Date.UTC(2040, 0, 1),
    contentType: "application/json",
    headers: { "x-event-id": `e-${seq}` },
    bodySizeBytes: body.byteLength,
    hops: 1,
    body,
    attempt: 1,
    replay: false,
    ...changes,
  };
}

function delivery(events: readonly DeliveredEvent[], changes: Partial<Delivery> = {}): Delivery {
  return { tenant: "acme", destination: "q", batchId: "b", nowMs: 0, events, hops: 1, ...changes };
}

const text = (size: number): Uint8Array => utf8.encode("x".repeat(size));
const sizeOf = (message: unknown): number => utf8.encode(JSON.stringify(message)).byteLength;

describe("[V19] what a queue is handed", () => {
  test("[V19] one JSON message per event: the element of a batch, with the tenant and the destination", async () => {
    const queue = new FakeQueue();
    const sent = await sendToQueue(queue, delivery([event(7, text(5))], { shard: 3 }), NO_LIMIT);
    expect(sent).toMatchObject({ outcome: { kind: "accepted", refusedIds: [], status: null }, claimedSeqs: [] });
    expect(queue.messages).toMatchObject([
      {
        contentType: "json",
        body: {
          v: 1,
          tenant: "acme",
          destination: "q",
          shard: 3,
          hops: 1,
          id: "in:e-7",
          seq: "7",
          source: "in",
          provider: "generic",
          type: "order.paid",
          receivedAt: "2040-01-01T00:00:00.000Z",
          contentType: "application/json",
          headers: { "x-event-id": "e-7" },
          body: "xxxxx",
        },
      },
    ]);
  });

  test("[V19] [I3] bytes that are no UTF-8 travel as base64", async () => {
    const queue = new FakeQueue();
    const bytes = new Uint8Array([0xff, 0x00, 0xfe]);
    await sendToQueue(queue, delivery([event(1, bytes)]), NO_LIMIT);
    expect(queue.messages[0]?.body).toMatchObject({ bodyBase64: bytes.toBase64() });
    expect(queue.messages[0]?.body).not.toHaveProperty("body");
  });

  test("[V19] a call has at most 100 messages, in the order of arrival", async () => {
    const queue = new FakeQueue();
    const events = Array.from({ length: 250 }, (_, index) => event(index + 1, text(10)));
    await sendToQueue(queue, delivery(events), NO_LIMIT);
    expect(queue.calls.map((call) => call.length)).toEqual([100, 100, 50]);
    expect(queue.messages.map(({ body }) => body.seq)).toEqual(events.map(({ seq }) => String(seq)));
  });

  test("[V19] a call has at most 256,000 bytes", async () => {
    const queue = new FakeQueue();
    const events = Array.from({ length: 9 }, (_, index) => event(index + 1, text(60_000)));
    await sendToQueue(queue, delivery(events), NO_LIMIT);
    const sizes = queue.calls.map((call) => call.reduce((sum, { body }) => sum + sizeOf(body), 0));
    expect(queue.calls.map((call) => call.length)).toEqual([4, 4, 1]);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(256_000);
  });

  test("[V19] a message has at most 127,000 bytes: a larger event goes as a claim, to the byte", async () => {
    const queue = new FakeQueue();
    const overhead = sizeOf((await onlyMessage(event(1, text(0)))).body);
    const fits = event(1, text(127_000 - overhead));
    const over = event(2, text(127_001 - overhead));
    const sent = await sendToQueue(queue, delivery([fits, over]), NO_LIMIT);
    expect(sent.claimedSeqs).toEqual([2]);
    const [whole, claimed] = queue.messages.map(({ body }) => body);
    expect(sizeOf(whole)).toBe(127_000);
    expect(claimed).toMatchObject({ v: 1, id: "in:e-2", type: "order.paid" });
    expect(claimed).not.toHaveProperty("body");
    const sha256 = new Uint8Array(await crypto.subtle.digest("SHA-256", over.body as Uint8Array)).toHex();
    expect(claimed?.claim).toEqual({ sizeBytes: over.bodySizeBytes, sha256 });
  });

  test("[V19] what JSON makes longer counts: quotes, control signs, base64", async () => {
    const queue = new FakeQueue();
    const quotes = event(1, utf8.encode('"'.repeat(64_000)));
    const zeros = event(2, new Uint8Array(30_000));
    const bytes = event(3, new Uint8Array(100_000).fill(0xff));
    const sent = await sendToQueue(queue, delivery([quotes, zeros, bytes]), NO_LIMIT);
    expect(sent.claimedSeqs).toEqual([1, 2, 3]);
  });

  test("[V19] [V25] a large event is a claim with the digest of its pieces", async () => {
    const queue = new FakeQueue();
    const pieces = [text(1_500_000), utf8.encode("end")];
    const body = { sizeBytes: 1_500_003, isText: true, pieces: () => pieces, hold: () => () => {} };
    const sent = await sendToQueue(
      queue,
      delivery([{ ...event(9, text(0)), body, bodySizeBytes: 1_500_003 }]),
      NO_LIMIT,
    );
    expect(sent.claimedSeqs).toEqual([9]);
    const whole = new Uint8Array([...(pieces[0] ?? []), ...(pieces[1] ?? [])]);
    const sha256 = new Uint8Array(await crypto.subtle.digest("SHA-256", whole)).toHex();
    expect(queue.messages[0]?.body.claim).toEqual({ sizeBytes: 1_500_003, sha256 });
  });

  test("[V19] an event whose headers alone are larger than a message is refused, the others go", async () => {
    const queue = new FakeQueue();
    const headers = { "x-huge": "h".repeat(130_000) };
    const sent = await sendToQueue(queue, delivery([event(1, text(1), { headers }), event(2, text(1))]), NO_LIMIT);
    expect(sent.outcome).toMatchObject({ kind: "accepted", refusedIds: ["in:e-1"] });
    expect(queue.messages.map(({ body }) => body.id)).toEqual(["in:e-2"]);
    const alone = await sendToQueue(queue, delivery([event(1, text(1), { headers })]), NO_LIMIT);
    expect(alone.outcome.kind).toBe("refused");
  });
});

describe("[V19] when the queue does not take it", () => {
  test.each(["Too Many Requests", "Queue send failed: Storage Limit Exceeded"])("[V19] %s is Busy", async (message) => {
    const queue = new FakeQueue();
    queue.fail = () => new Error(message);
    const { outcome } = await sendToQueue(queue, delivery([event(1, text(1))]), NO_LIMIT);
    expect(outcome).toMatchObject({ kind: "busy", retryAfterMs: null, status: null, excerpt: message });
  });

  test("[V19] anything else has failed, and what was handed over before it stays claimed", async () => {
    const queue = new FakeQueue();
    queue.fail = (call) => (call === 1 ? new Error("internal error") : null);
    const events = [event(1, text(200_000)), ...Array.from({ length: 100 }, (_, index) => event(index + 2, text(1)))];
    const sent = await sendToQueue(queue, delivery(events), NO_LIMIT);
    expect(sent.outcome).toMatchObject({ kind: "failed", cause: "queue", excerpt: "internal error" });
    expect(sent.claimedSeqs).toEqual([1]);
  });

  test("[V49] [V19] [V8] a queue that does not answer has failed at its time: nothing more is handed over, and what may be there stays claimed", async () => {
    const queue = new FakeQueue();
    const late = Promise.withResolvers<void>();
    const handOver = queue.sendBatch.bind(queue);
    queue.sendBatch = async (messages) => {
      await handOver(messages);
      if (queue.calls.length === 2) await late.promise;
    };
    const events = [1, 2, 3, 4, 5].map((seq) =>
      event(seq, text(200_000), { headers: { "x-much": "y".repeat(120_000) } }),
    );
    const sent = await sendWithin(queue, delivery(events), NO_LIMIT, 20);
    expect(sent.outcome).toMatchObject({ kind: "failed", cause: "timeout", status: null });
    // Two go in each call.
    expect(sent.claimedSeqs).toEqual([1, 2, 3, 4]);
    late.resolve();
    await new Promise((resolve) => setTimeout(resolve, 0));
    expect([queue.calls.length, sent.claimedSeqs]).toEqual([2, [1, 2, 3, 4]]);
    queue.metrics = () => new Promise(() => {});
    const silent = await sendWithin(queue, delivery([event(6, text(1))], { nowMs: 60_000 }), 100, 20);
    expect([silent.outcome.kind, silent.claimedSeqs]).toEqual(["failed", []]);
  });

  test("[V19] above maxQueueBacklog sending holds for a minute, and the queue is asked once in 60 s", async () => {
    const queue = new FakeQueue();
    queue.backlogCount = 101;
    const at = (nowMs: number) => sendToQueue(queue, delivery([event(1, text(1))], { nowMs }), 100);
    expect((await at(0)).outcome).toMatchObject({ kind: "busy", retryAfterMs: 60_000 });
    queue.backlogCount = 100;
    expect((await at(59_999)).outcome.kind).toBe("busy");
    expect(queue.metricsCalls).toBe(1);
    expect((await at(60_000)).outcome.kind).toBe("accepted");
    expect((await at(119_999)).outcome.kind).toBe("accepted");
    expect(queue.metricsCalls).toBe(2);
  });

  test("[V19] a queue that does not say how much it holds is sent to", async () => {
    const queue = new FakeQueue();
    queue.metrics = async () => {
      throw new Error("not available");
    };
    expect((await sendToQueue(queue, delivery([event(1, text(1))]), 100)).outcome.kind).toBe("accepted");
  });
});

async function onlyMessage(one: DeliveredEvent): Promise<Sent> {
  const queue = new FakeQueue();
  await sendToQueue(queue, delivery([one]), NO_LIMIT);
  const [message] = queue.messages;
  if (message === undefined) throw new Error("nothing was sent");
  return message;
}
