import fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { isUtf8 } from "../../src/core/utf8.ts";
import type { Fetcher, HttpDestination } from "../../src/sinks/http.ts";
import { sendHttp } from "../../src/sinks/http.ts";
import { base64, escaped } from "../../src/sinks/pieces.ts";
import { bytes, delivery, destination, event, NOW_MS, POLICY, SECRET, sent } from "./delivery.ts";
import { Large, whole } from "./large.ts";

const OTHER_SECRET = "whsec_b3RoZXItc2VjcmV0LW90aGVyLXNlY3JldA==";

const BODIES: readonly (readonly [string, string | null, Uint8Array])[] = [
  ["JSON", "application/json", bytes('{"id":"evt_1","amount":12345678901234567890,"text":"żółć \u{1f600}\\n"}')],
  ["JSON of a vendor", "application/vnd.x+json; charset=utf-8", bytes(" [1,\r\n2] ")],
  ["JSON without a content type", null, bytes('"é"')],
  ["text without a content type", null, bytes("no json")],
  ["what says JSON and is none", "application/json", bytes('{"a":')],
  ["what says JSON and is no UTF-8", "application/json", Uint8Array.of(0x22, 0xff, 0x22)],
  ["text", "text/plain", bytes('\ufeffa "quoted" \\ \u0000\b\t\n\f\r\u001f\u007f\u2028\u{1f600} end')],
  ["bytes", "application/octet-stream", Uint8Array.from({ length: 1_000 }, (_, index) => (index * 7) % 256)],
  ["bytes without a content type", null, Uint8Array.of(0xff, 0xfe)],
];

const formats = ["batch", "single", "cloudevents"] as const;
const cases = formats.flatMap((format) => BODIES.map(([name, type, body]) => [format, name, type, body] as const));

/** The same event with its body in memory, and with a body that is read piece by piece. */
async function both(to: Partial<HttpDestination>, contentType: string | null, body: Uint8Array, pieceSize: number) {
  const common = { contentType, bodySizeBytes: body.length, headers: { "x-kept": "yes" } };
  const large = new Large(body, isUtf8(body), pieceSize);
  const small = await sent(to, delivery([event({ ...common, body })]));
  return { small, streamed: await sent(to, delivery([event({ ...common, body: large })])), large };
}

describe("[V25] a large event is sent as the bytes and headers that a small one is", () => {
  test.each(cases)("[V25] [V2] [V3] [V4] format %s, %s", async (format, _name, contentType, body) => {
    for (const pieceSize of [1, 2, 5, 64, body.length]) {
      const to = { format, signature: "timestamped", signingSecrets: [SECRET, OTHER_SECRET] } as const;
      const { small, streamed } = await both(to, contentType, body, pieceSize);
      expect(streamed.body).toEqual(small.body);
      const headers = Object.fromEntries(streamed.headers);
      // The length of a stream is known to the runtime, which writes it into the request itself.
      delete headers["content-length"];
      expect(headers).toEqual(Object.fromEntries(small.headers));
    }
  });

  test("[V25] [V2] any text in any pieces is escaped as JSON.stringify escapes it", async () => {
    const pieces = fc.integer({ min: 1, max: 50 });
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary" }), pieces, async (text, pieceSize) => {
        const wellFormed = text.toWellFormed();
        const large = new Large(bytes(wellFormed), true, pieceSize);
        const out = new TextDecoder().decode(await whole(escaped(large.pieces())));
        expect(`"${out}"`).toBe(JSON.stringify(wellFormed));
      }),
      { numRuns: 300 },
    );
  });

  test("[V25] [V2] any bytes in any pieces become the base64 of the whole", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), fc.integer({ min: 1, max: 50 }), async (body, pieceSize) => {
        const out = new TextDecoder().decode(await whole(base64(new Large(body, false, pieceSize).pieces())));
        expect(out).toBe(body.toBase64());
      }),
      { numRuns: 300 },
    );
  });

  test("[V25] a body of several steps is escaped and encoded over their borders", async () => {
    const text = '\u{1f600}"\\\n'.repeat(60_000);
    const { small, streamed } = await both({}, "text/plain", bytes(text), 400_001);
    expect(streamed.body).toEqual(small.body);
    const other = await both(
      {},
      "image/png",
      Uint8Array.from({ length: 450_001 }, (_, i) => (i * 31) % 251),
      200_000,
    );
    expect(other.streamed.body).toEqual(other.small.body);
    const invalid = await both({}, "image/png", new Uint8Array(450_001).fill(0xff), 199_999);
    expect(invalid.streamed.body).toEqual(invalid.small.body);
  });
});

describe("[V25] signing and sending read the body, and keep none of it", () => {
  beforeEach(() => vi.useFakeTimers({ toFake: ["Date"], now: NOW_MS }));
  afterEach(() => vi.useRealTimers());

  test.each(formats)("[V25] [V4] the stock library verifies a %s request that was streamed", async (format) => {
    const body = bytes(`{"text":"${"żółć \u{1f600}".repeat(10_000)}"}`);
    const large = new Large(body, true, 4_096);
    const request = await sent({ format }, delivery([event({ body: large, bodySizeBytes: body.length })]));
    const verified = new Webhook(SECRET).verify(request.text, Object.fromEntries(request.headers));
    expect(verified).toStrictEqual(JSON.parse(request.text));
    expect(() => new Webhook(SECRET).verify(`${request.text} `, Object.fromEntries(request.headers))).toThrow();
  });

  test("[V25] [V4] a key longer than a block of the hash signs as any other", async () => {
    const secret = `whsec_${new Uint8Array(100).fill(7).toBase64()}`;
    const body = bytes('{"a":1}');
    const { small, streamed } = await both({ signingSecrets: [secret] }, "application/json", body, 3);
    expect(streamed.headers.get("webhook-signature")).toBe(small.headers.get("webhook-signature"));
  });

  test("[V25] it is read once for the signature and once to be sent, and held until the end [X6]", async () => {
    const body = bytes("x".repeat(10_000));
    const large = new Large(body, true, 1_000);
    let holdsWhileSent = 0;
    const outcome = await sendHttp(destination(), delivery([event({ body: large })]), POLICY, async (url, init) => {
      holdsWhileSent = large.holds;
      await new Request(url, init).arrayBuffer();
      return new Response(null, { status: 204 });
    });
    expect(outcome.kind).toBe("accepted");
    expect([large.readings, holdsWhileSent, large.holds]).toEqual([2, 1, 0]);
  });

  test("[V25] [V6] a destination that answers without reading it is believed, and the rest is not sent", async () => {
    const large = new Large(bytes("x".repeat(1_000_000)), true, 1_000);
    const fetcher: Fetcher = async () => new Response("no", { status: 413 });
    const outcome = await sendHttp(destination(), delivery([event({ body: large })]), POLICY, fetcher);
    expect(outcome).toMatchObject({ kind: "refused", status: 413, excerpt: "no" });
    expect(large.holds).toBe(0);
  });

  test("[V25] [V8] one that does not read on is given up at its time", async () => {
    const large = new Large(bytes("x".repeat(1_000_000)), true, 1_000);
    const fetcher: Fetcher = (_url, init) =>
      new Promise((_, reject) => init.signal?.addEventListener("abort", () => reject(new Error("aborted"))));
    const to = destination({ timeoutMs: 50 });
    const outcome = await sendHttp(to, delivery([event({ body: large })]), POLICY, fetcher);
    expect(outcome).toMatchObject({ kind: "failed", cause: "timeout", status: null });
    expect(large.holds).toBe(0);
  });

  test.each([1, 2])(
    "[V25] bytes that are gone at reading %i break the request off: nothing short is delivered",
    async (reading) => {
      const large = new Large(bytes("x".repeat(100_000)), true, 10_000);
      large.goneFromReading = reading;
      let arrived = 0;
      const outcome = await sendHttp(destination(), delivery([event({ body: large })]), POLICY, async (url, init) => {
        await new Request(url, init).arrayBuffer();
        arrived += 1;
        return new Response(null, { status: 204 });
      });
      expect(outcome.kind).toBe("failed");
      expect(arrived).toBe(0);
      expect(large.holds).toBe(0);
    },
  );

  test("[V25] a secret that is none is an outcome, and nothing is held", async () => {
    const large = new Large(bytes("xx"), true, 1);
    const to = destination({ signingSecrets: ["whsec_!!"] });
    const outcome = await sendHttp(to, delivery([event({ body: large })]), POLICY, async () => new Response());
    expect(outcome).toMatchObject({ kind: "failed", cause: "signing-secret" });
    expect(large.holds).toBe(0);
  });
});
