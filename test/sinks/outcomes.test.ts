import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { type Fetcher, sendHttp } from "../../src/sinks/http.ts";
import { answered, bytes, delivery, destination, POLICY, SECRET } from "./delivery.ts";

/** A body that sends its chunks and then neither ends nor says anything more. */
function hangingBody(chunks: readonly Uint8Array[], onCancel: () => void = () => {}): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
    },
    cancel: onCancel,
  });
}

function brokenBody(first: string): ReadableStream<Uint8Array> {
  let pulls = 0;
  return new ReadableStream({
    pull(controller) {
      pulls += 1;
      if (pulls === 1) controller.enqueue(bytes(first));
      else controller.error(new Error("Network connection lost."));
    },
  });
}

const statuses = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);
const REFUSED = [400, 409, 413, 414, 415, 422];
const NOT_FAILED_4XX = new Set([...REFUSED, 410, 429]);
const NULL_BODY = new Set([204, 205, 304]);
const bodyFor = (status: number) => (NULL_BODY.has(status) ? null : "text");

describe("[V6] what an answer means", () => {
  test.each(statuses(200, 299))("[V6] %i is accepted", async (status) => {
    expect(await answered(new Response(bodyFor(status), { status }))).toMatchObject({
      kind: "accepted",
      refusedIds: [],
      status,
    });
  });

  test.each(REFUSED)("[V6] %i is refused", async (status) => {
    expect(await answered(new Response("no", { status }))).toMatchObject({ kind: "refused", status, excerpt: "no" });
  });

  test.each(statuses(300, 399))("[V6] [V8] [V31] %i is failed, and nobody follows it", async (status) => {
    const fetcher = vi.fn<Fetcher>(
      async () =>
        new Response(bodyFor(status), { status, headers: { location: "https://169.254.169.254/x?token=1#a" } }),
    );
    const outcome = await answered(fetcher);
    expect(outcome).toMatchObject({ kind: "failed", status, cause: "redirect", retryAfterMs: null });
    expect(outcome.excerpt).toContain("Location: https://169.254.169.254/x\n");
    expect(outcome.excerpt).not.toContain("token");
    expect(fetcher).toHaveBeenCalledTimes(1);
    expect(fetcher.mock.calls[0]?.[1].redirect).toBe("manual");
  });

  test.each([...statuses(400, 499).filter((status) => !NOT_FAILED_4XX.has(status)), ...statuses(500, 599)])(
    "[V6] %i is failed",
    async (status) => {
      expect(await answered(new Response("no", { status }))).toMatchObject({
        kind: "failed",
        status,
        retryAfterMs: null,
        excerpt: "no",
      });
    },
  );

  test("[V6] 410 is gone", async () => {
    expect(await answered(new Response("no", { status: 410 }))).toMatchObject({ kind: "gone", status: 410 });
  });

  test("[V6] 429 is busy with or without Retry-After, 503 only with a usable one", async () => {
    const answer = (status: number, retryAfter?: string) =>
      answered(new Response("no", { status, headers: retryAfter === undefined ? {} : { "retry-after": retryAfter } }));
    expect(await answer(429)).toMatchObject({ kind: "busy", retryAfterMs: null });
    expect(await answer(429, "soon")).toMatchObject({ kind: "busy", retryAfterMs: null });
    expect(await answer(429, "7")).toMatchObject({ kind: "busy", retryAfterMs: 7_000 });
    expect(await answer(503, "7")).toMatchObject({ kind: "busy", retryAfterMs: 7_000 });
    expect(await answer(503, "0")).toMatchObject({ kind: "busy", retryAfterMs: 1_000 });
    expect(await answer(503, "soon")).toMatchObject({ kind: "failed", retryAfterMs: null });
    expect(await answer(503)).toMatchObject({ kind: "failed", retryAfterMs: null });
  });

  test("[V7] Retry-After is read on every 5xx, clamped to the destination's maximum, and nowhere else", async () => {
    const answer = (status: number) =>
      answered(new Response("no", { status, headers: { "retry-after": "64000" } }), ["a"], {
        retryAfterMaxSeconds: 600,
      });
    expect(await answer(500)).toMatchObject({ kind: "failed", retryAfterMs: 600_000 });
    expect(await answer(404)).toMatchObject({ kind: "failed", retryAfterMs: null });
    expect((await answer(502)).excerpt).toContain("Retry-After: 64000");
  });

  test("[V7] a Retry-After that is a date counts from when the answer came", async () => {
    const headers = { "retry-after": "Sun, 29 Nov 2026 22:07:01 GMT" };
    const outcome = await answered(new Response("no", { status: 429, headers }));
    expect(outcome.kind).toBe("busy");
    if (outcome.kind === "busy") expect(outcome.retryAfterMs).toBeCloseTo(119_877, -3);
  });

  test.each([
    ["Network connection lost.", "network"],
    ["internal error", "network"],
    ["TLS peer's certificate is not trusted; reason = self signed certificate", "tls"],
    ["SSL routines: wrong version number", "tls"],
  ])("[V6] a fetch that rejects with %j is failed", async (message, cause) => {
    const outcome = await answered(async () => {
      throw new Error(message);
    });
    expect(outcome).toMatchObject({ kind: "failed", cause, status: null, retryAfterMs: null, excerpt: "" });
  });

  test("[V6] a fetch that throws instead of rejecting is failed as well", async () => {
    const outcome = await answered((() => {
      throw new TypeError("Invalid header value");
    }) as Fetcher);
    expect(outcome).toMatchObject({ kind: "failed", cause: "network", status: null });
  });

  test("[V6] [V32] an answer whose body breaks off is failed, whatever its status", async () => {
    for (const status of [200, 400, 410, 429, 500]) {
      const outcome = await answered(new Response(brokenBody("begin"), { status }));
      expect(outcome).toMatchObject({ kind: "failed", cause: "network", status });
    }
  });
});

describe("[V8] bounds of an exchange", () => {
  test("[V8] an answer that does not come is failed at the deadline, and the request aborted", async () => {
    let aborted = false;
    const outcome = await answered(
      (_url, init) =>
        new Promise((_resolve, reject) => {
          init.signal?.addEventListener("abort", () => {
            aborted = true;
            reject(new Error("The operation was aborted"));
          });
        }),
      ["a"],
      { timeoutMs: 20 },
    );
    expect(outcome).toMatchObject({ kind: "failed", cause: "timeout", status: null });
    expect(outcome.durationMs).toBeGreaterThanOrEqual(15);
    expect(aborted).toBe(true);
  });

  test("[V8] the deadline holds against a fetch that heeds no signal", async () => {
    const outcome = await answered(() => new Promise(() => {}), ["a"], { timeoutMs: 20 });
    expect(outcome).toMatchObject({ kind: "failed", cause: "timeout" });
  });

  test("[V8] the deadline covers the reading of the answer", async () => {
    const outcome = await answered(async () => new Response(hangingBody([bytes("{")])), ["a"], { timeoutMs: 20 });
    expect(outcome).toMatchObject({ kind: "failed", cause: "timeout", status: 200 });
  });

  test("[V8] the timer is cleared when the answer has come: nothing keeps the object awake", async () => {
    const set = vi.spyOn(globalThis, "setTimeout");
    const clear = vi.spyOn(globalThis, "clearTimeout");
    await answered(new Response("ok"));
    await answered(async () => {
      throw new Error("lost");
    });
    expect(set).toHaveBeenCalledTimes(2);
    expect(clear.mock.calls.map(([timer]) => timer)).toStrictEqual(set.mock.results.map(({ value }) => value));
    vi.restoreAllMocks();
  });

  test.each<[string, Record<string, string>]>([
    ["of unknown length", {}],
    ["of a length beyond that", { "content-length": "300000" }],
    ["compressed, of a short length", { "content-length": "300", "content-encoding": "gzip" }],
    ["of a length that is no number", { "content-length": "300, 300" }],
  ])("[V8] at most 256 KiB are read of an answer %s, the rest cancelled", async (_, headers) => {
    let pulled = 0;
    let cancelled = false;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled += 10_000;
        controller.enqueue(new Uint8Array(10_000).fill(120));
      },
      cancel() {
        cancelled = true;
      },
    });
    expect(await answered(new Response(endless, { headers }))).toMatchObject({ kind: "accepted" });
    expect(cancelled).toBe(true);
    expect(pulled).toBeLessThan(256 * 1024 + 30_000);
  });

  test("[V8] [V7] an answer that says its length is read as a whole", async () => {
    const body = JSON.stringify({ batchItemFailures: [], filler: "x".repeat(200_000) });
    const headers = { "content-length": String(body.length), "content-type": "application/json" };
    const outcome = await answered(new Response(body, { headers }));
    expect(outcome).toMatchObject({ kind: "accepted", status: 200 });
    expect(outcome.excerpt).toBe(body.slice(0, 8_192));
  });

  test("[V8] 8 KiB are kept, and no character is cut", async () => {
    const outcome = await answered(new Response("€".repeat(10_000), { status: 500 }));
    expect(outcome.excerpt).toMatch(/^€+$/);
    expect(bytes(outcome.excerpt).length).toBe(8_190);
    const binary = await answered(new Response(new Uint8Array(20_000).fill(255), { status: 500 }));
    expect(bytes(binary.excerpt).length).toBeLessThanOrEqual(8_192);
  });

  test("[V17] an unsafe URL is refused again when it is used, and nothing is sent", async () => {
    const fetcher = vi.fn<Fetcher>(async () => new Response("ok"));
    const outcome = await sendHttp(destination({ url: "https://169.254.169.254/" }), delivery(), POLICY, fetcher);
    expect(outcome).toMatchObject({ kind: "failed", cause: "unsafe-url", status: null });
    const own = { allowInsecure: false, ownHosts: ["origin.example.com"] };
    expect(await sendHttp(destination(), delivery(), own, fetcher)).toMatchObject({ cause: "unsafe-url" });
    expect(fetcher).not.toHaveBeenCalled();
  });

  test("[V6] a delivery that no request can be made of is failed, not thrown", async () => {
    const outcome = await sendHttp(
      destination({ format: "single" }),
      delivery([]),
      POLICY,
      async () => new Response("ok"),
    );
    expect(outcome).toMatchObject({ kind: "failed", cause: "internal" });
  });

  test("[V6] never throws, whatever the answer", async () => {
    const answers = fc.record({
      status: fc.integer({ min: 200, max: 599 }),
      body: fc.oneof(fc.string({ unit: "binary" }), fc.json()),
      retryAfter: fc.option(fc.stringMatching(/^[\x20-\x7e]*$/)),
    });
    await fc.assert(
      fc.asyncProperty(answers, async ({ status, body, retryAfter }) => {
        const headers = retryAfter === null ? {} : { "retry-after": retryAfter };
        const response = new Response(NULL_BODY.has(status) ? null : body, { status, headers });
        const outcome = await answered(response);
        expect(outcome.status).toBe(status);
        expect(JSON.stringify(outcome)).not.toContain(SECRET);
      }),
    );
  });
});
