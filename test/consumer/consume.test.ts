import { afterEach, expect, test, vi } from "vitest";
import type { BodyAnswer, ExhaustedCall, TenantBufferCalls } from "../../src/buffer/contract.ts";
import { bury } from "../../src/consumer/bury.ts";
import { type ConsumerParts, consume, type Message } from "../../src/consumer/consume.ts";
import type { TenantConfig } from "../../src/tenants/config.ts";
import { parseConfig } from "../../src/tenants/parse.ts";
import { context, minimal } from "../tenants/sample.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

/** One message, and what became of it. */
class FakeMessage implements Message {
  fate: "ack" | { readonly delaySeconds: number } | null = null;
  readonly body: unknown;
  readonly attempts: number;

  constructor(body: unknown, attempts = 1) {
    this.body = body;
    this.attempts = attempts;
  }

  ack(): void {
    this.fate ??= "ack";
  }

  retry(options: { delaySeconds: number }): void {
    this.fate ??= options;
  }
}

function message(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    v: 1,
    tenant: "acme",
    destination: "q",
    id: "in:e-1",
    seq: "1",
    source: "in",
    provider: "generic",
    type: "order.paid",
    receivedAt: "2040-01-01T00:00:00.000Z",
    contentType: "text/plain",
    headers: { "x-event-id": "e-1" },
    hops: 0,
    body: "hello",
    ...changes,
  };
}

function configWith(destinations: Record<string, unknown>): TenantConfig {
  const parsed = parseConfig({ ...minimal, destinations }, { ...context, allowInsecureDestinations: true });
  if (parsed.kind === "problems") throw new Error(JSON.stringify(parsed.problems));
  return parsed.config;
}

const queued = (changes: Record<string, unknown> = {}) => ({
  q: {
    kind: "queue",
    queue: "DELIVERY_QUEUE",
    deliverTo: { url: "https://origin.test/in", bearerToken: "token-1" },
    retry: { scheduleSeconds: [5, 50, 500], maxAttempts: 4 },
    ...changes,
  },
});

class Surroundings {
  config: TenantConfig | null = configWith(queued());
  newest: TenantConfig | null = configWith(queued());
  newestAsked = 0;
  body: () => Promise<BodyAnswer> = async () => ({ kind: "not-found" });
  readonly taken: string[] = [];
  readonly exhausted: ExhaustedCall[] = [];
  isExhausted: boolean | null = true;
  readonly shards: (number | undefined)[] = [];
  readonly lines: string[] = [];
  readonly requests: { url: string; headers: Headers; body: string }[] = [];
  answer: () => Response | Promise<Response> = () => new Response(null, { status: 204 });

  constructor() {
    vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
      const request = new Request(input, { ...init, signal: null });
      this.requests.push({ url: request.url, headers: request.headers, body: await request.text() });
      return this.answer();
    });
  }

  get parts(): ConsumerParts {
    const object = {
      body: () => this.body(),
      claimTaken: async ({ eventId }: { eventId: string }) => this.taken.push(eventId) > 0,
      queueExhausted: async (call: ExhaustedCall) => {
        this.exhausted.push(call);
        return this.isExhausted;
      },
    };
    return {
      objects: {
        of: (_tenant, _limitMs, shard) => {
          this.shards.push(shard);
          return object as unknown as TenantBufferCalls;
        },
      },
      configOf: async () => this.config,
      newestConfigOf: async () => {
        this.newestAsked += 1;
        return this.newest;
      },
      policy: { allowInsecure: false, ownHosts: [] },
      now: () => Date.UTC(2040, 0, 1),
      random: () => 0.999,
      log: (event) => void this.lines.push(event),
    };
  }

  async consumed(body: unknown, attempts = 1): Promise<FakeMessage["fate"]> {
    const one = new FakeMessage(body, attempts);
    await consume(this.parts, [one]);
    return one.fate;
  }
}

test("[V19] [V3] a message is delivered as the sender's bytes, with the destination's token, and acknowledged", async () => {
  const site = new Surroundings();
  expect(await site.consumed(message(), 3)).toBe("ack");
  const [request] = site.requests;
  expect([request?.url, request?.body]).toEqual(["https://origin.test/in", "hello"]);
  expect(request?.headers.get("authorization")).toBe("Bearer token-1");
  expect(request?.headers.get("webhook-id")).toBe("in:e-1");
  expect(request?.headers.get("content-type")).toBe("text/plain");
  expect(request?.headers.get("spillway-attempt")).toBe("3");
  expect(site.taken).toEqual([]);
});

test("[V19] each message has its own fate: one that fails holds up no other", async () => {
  const site = new Surroundings();
  let count = 0;
  site.answer = () => new Response(null, { status: ++count % 2 === 0 ? 500 : 200 });
  const messages = Array.from({ length: 20 }, (_, index) => new FakeMessage(message({ id: `in:e-${index}` })));
  await consume(site.parts, messages);
  const acks = messages.filter(({ fate }) => fate === "ack");
  expect(acks).toHaveLength(10);
  expect(messages.filter(({ fate }) => fate !== "ack").map(({ fate }) => fate)).toEqual(
    Array.from({ length: 10 }, () => ({ delaySeconds: 5 })),
  );
});

test("[V19] at most six are on their way at once", async () => {
  const site = new Surroundings();
  let now = 0;
  let most = 0;
  site.answer = async () => {
    now += 1;
    most = Math.max(most, now);
    await new Promise((resolve) => setTimeout(resolve, 5));
    now -= 1;
    return new Response(null, { status: 200 });
  };
  await consume(
    site.parts,
    Array.from({ length: 30 }, () => new FakeMessage(message())),
  );
  expect(most).toBe(6);
});

test("[V19] [V10] a retry comes after the schedule's delay for that attempt, at least Retry-After, at most 12 h", async () => {
  const site = new Surroundings();
  site.answer = () => new Response(null, { status: 500 });
  expect(await site.consumed(message(), 1)).toEqual({ delaySeconds: 5 });
  expect(await site.consumed(message(), 2)).toEqual({ delaySeconds: 50 });
  expect(await site.consumed(message(), 9)).toEqual({ delaySeconds: 500 });
  site.answer = () => new Response(null, { status: 429, headers: { "retry-after": "120" } });
  expect(await site.consumed(message(), 1)).toEqual({ delaySeconds: 120 });
  site.config = configWith(queued({ retryAfterMaxSeconds: 86_400 }));
  site.answer = () => new Response(null, { status: 503, headers: { "retry-after": "80000" } });
  expect(await site.consumed(message(), 1)).toEqual({ delaySeconds: 43_200 });
  site.answer = () => new Response(null, { status: 400 });
  expect(await site.consumed(message(), 1)).toEqual({ delaySeconds: 5 });
});

test("[V19] a claim's bytes are read from the object that holds the event, and let go once delivered", async () => {
  const site = new Surroundings();
  const bytes = new TextEncoder().encode("a large one");
  site.body = async () => ({ kind: "body", body: bytes, contentType: null });
  const claim = message({ body: undefined, claim: { sizeBytes: 11, sha256: "" }, shard: 4 });
  expect(await site.consumed(claim)).toBe("ack");
  expect(site.requests[0]?.body).toBe("a large one");
  expect(site.taken).toEqual(["in:e-1"]);
  expect(new Set(site.shards)).toEqual(new Set([4]));
  site.answer = () => new Response(null, { status: 500 });
  expect(await site.consumed(claim)).toEqual({ delaySeconds: 5 });
  expect(site.taken).toEqual(["in:e-1"]);
});

test("[V19] [V25] a large claim is streamed out, asked for anew for each reading", async () => {
  const site = new Surroundings();
  const chunks = ["first ", "second ", "third"].map((text) => new TextEncoder().encode(text));
  site.body = async () => ({
    kind: "stream",
    sizeBytes: 18,
    contentType: null,
    stream: new ReadableStream({
      start(controller) {
        for (const chunk of chunks) controller.enqueue(chunk);
        controller.close();
      },
    }),
  });
  const claim = message({ body: undefined, claim: { sizeBytes: 18, sha256: "" } });
  expect(await site.consumed(claim)).toBe("ack");
  expect(site.requests[0]?.body).toBe("first second third");
});

test("[V19] [X6] a claim on an event that was erased is acknowledged; an object that cannot be asked is asked again", async () => {
  const site = new Surroundings();
  const claim = message({ body: undefined, claim: { sizeBytes: 11, sha256: "" } });
  site.body = async () => ({ kind: "expired" });
  expect(await site.consumed(claim)).toBe("ack");
  expect(site.lines).toEqual(["queue-claim-gone"]);
  site.body = async () => {
    throw new Error("overloaded");
  };
  expect(await site.consumed(claim)).toEqual({ delaySeconds: 30 });
  expect(site.requests).toEqual([]);
});

test("[V49] [V19] [S3] an object that does not answer, or breaks off within a body, holds no other tenant's message up", async () => {
  vi.useFakeTimers();
  try {
    const site = new Surroundings();
    const claim = message({ body: undefined, claim: { sizeBytes: 11, sha256: "" } });
    site.body = () => new Promise(() => {});
    const hung = Array.from({ length: 7 }, () => new FakeMessage(claim));
    const other = new FakeMessage(message({ tenant: "other", id: "in:e-2" }));
    const consuming = consume(site.parts, [...hung, other]);
    const burying = bury(
      { objects: { of: () => ({ queueExhausted: () => new Promise(() => {}) }) as never }, log() {} },
      [hung[6] ?? other],
    );
    await vi.advanceTimersByTimeAsync(15_000);
    await burying;
    expect(other.fate).toBe("ack");
    await vi.advanceTimersByTimeAsync(15_000);
    await consuming;
    expect(hung.map(({ fate }) => fate)).toEqual([...new Array(6).fill({ delaySeconds: 30 }), { delaySeconds: 60 }]);

    const stream = () => new ReadableStream({ pull: () => new Promise(() => {}) });
    site.body = async () => ({ kind: "stream", sizeBytes: 18, contentType: null, stream: stream() });
    const broken = new FakeMessage(claim);
    const reading = consume(site.parts, [broken]);
    await vi.advanceTimersByTimeAsync(90_000);
    await reading;
    expect(broken.fate).toEqual({ delaySeconds: 30 });
  } finally {
    vi.useRealTimers();
  }
});

test("[V19] [O4] only the tenant's object can say that a destination or a tenant is gone: KV may be behind", async () => {
  const site = new Surroundings();
  site.config = null;
  expect(await site.consumed(message())).toBe("ack");
  expect(site.requests).toHaveLength(1);
  site.config = configWith({ other: { url: "https://origin.test/in" } });
  site.newest = site.config;
  expect(await site.consumed(message())).toBe("ack");
  site.newest = null;
  expect(await site.consumed(message())).toBe("ack");
  expect(site.requests).toHaveLength(1);
  expect(site.lines).toEqual(["queue-message-dropped", "queue-message-dropped"]);
  site.newestAsked = 0;
  site.config = configWith(queued());
  expect(await site.consumed(message())).toBe("ack");
  expect(site.newestAsked).toBe(0);
});

test("[V19] where nobody can say, or nothing says where to, the message waits", async () => {
  const site = new Surroundings();
  const parts = {
    ...site.parts,
    configOf: async () => {
      throw new Error("KV is down");
    },
  };
  const one = new FakeMessage(message());
  await consume(parts, [one]);
  expect(one.fate).toEqual({ delaySeconds: 30 });
  site.config = configWith(queued({ deliverTo: undefined }));
  expect(await site.consumed(message())).toEqual({ delaySeconds: 3_600 });
});

test("[V19] [V21] messages left in the queue when kind became http go to the new address, as single events", async () => {
  const site = new Surroundings();
  site.config = configWith({ q: { kind: "http", url: "https://elsewhere.test/hooks" } });
  expect(await site.consumed(message())).toBe("ack");
  expect(site.requests.map(({ url, body }) => [url, body])).toEqual([["https://elsewhere.test/hooks", "hello"]]);
});

test("[V19] [V17] an address that may not be called is not called", async () => {
  const site = new Surroundings();
  site.config = configWith(queued({ deliverTo: { url: "http://169.254.169.254/latest" } }));
  expect(await site.consumed(message())).toEqual({ delaySeconds: 5 });
  expect(site.requests).toEqual([]);
});

test("[V19] a message that Spillway did not write is acknowledged, and logged", async () => {
  const site = new Surroundings();
  const others = [
    null,
    "text",
    1,
    {},
    message({ v: 2 }),
    message({ body: undefined }),
    message({ receivedAt: "soon" }),
  ];
  for (const other of others) expect([other, await site.consumed(other)]).toEqual([other, "ack"]);
  expect(site.lines).toEqual(others.map(() => "queue-message-unreadable"));
  expect(site.requests).toEqual([]);
});

test("[V19] [I3] base64 comes out as the bytes it stands for", async () => {
  const site = new Surroundings();
  const bytes = new TextEncoder().encode('{"ä": "\\u00e4"}\r\n');
  expect(await site.consumed(message({ body: undefined, bodyBase64: bytes.toBase64() }))).toBe("ack");
  expect(site.requests[0]?.body).toBe('{"ä": "\\u00e4"}\r\n');
});

test("[V19] what ends in the dead-letter queue is told to its object with all the message holds, and again until it is told", async () => {
  const site = new Surroundings();
  const buried = async (body: unknown): Promise<FakeMessage["fate"]> => {
    const one = new FakeMessage(body);
    await bury(site.parts, [one]);
    return one.fate;
  };
  expect(await buried(message({ shard: 2 }))).toBe("ack");
  expect(site.exhausted[0]).toMatchObject({
    destination: "q",
    eventId: "in:e-1",
    event: { seq: 1, eventId: "in:e-1", source: "in", body: new TextEncoder().encode("hello") },
  });
  expect(site.shards).toEqual([2]);
  await buried(message({ body: undefined, claim: { sizeBytes: 1, sha256: "" } }));
  expect(site.exhausted[1]).toEqual({ destination: "q", eventId: "in:e-1" });
  site.isExhausted = null;
  expect(await buried(message())).toEqual({ delaySeconds: 60 });
  site.isExhausted = false;
  expect(await buried(message())).toBe("ack");
  expect(await buried("nonsense")).toBe("ack");
});
