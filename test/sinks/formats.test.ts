import { type CloudEvent, HTTP } from "cloudevents";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bytes, delivery, event, sent } from "./delivery.ts";

const BOM = "\ufeff";

/** Bodies that a careless relay changes. */
const BODIES: readonly (readonly [string, Uint8Array])[] = [
  ["JSON", bytes('{"id":"evt_1","amount":12345678901234567890}')],
  ["white space and CR LF", bytes('{ "a" : 1.0 }\r\n\r\n')],
  ["a byte order mark", bytes(`${BOM}{"a":1}`)],
  ["two byte order marks", bytes(BOM + BOM)],
  ["NUL and control characters", bytes("a\u0000b\u0001\u001f\u007f")],
  ["emoji, line separators, quotes", bytes('"\\"\u2028\u2029 \u{1f600} é"')],
  ["no bytes", new Uint8Array()],
  ["bytes that are not UTF-8", Uint8Array.of(0x7b, 0xff, 0xfe, 0x00, 0x7d)],
  ["a surrogate in UTF-8 clothes", Uint8Array.of(0xed, 0xa0, 0x80)],
  ["a cut character", Uint8Array.of(0x61, 0xe2, 0x82)],
];

interface BatchElement {
  readonly body?: string;
  readonly bodyBase64?: string;
}

function elementsOf(text: string): readonly BatchElement[] {
  return (JSON.parse(text) as { events: readonly BatchElement[] }).events;
}

function bytesOf(element: BatchElement | undefined): Uint8Array {
  if (element?.body !== undefined) return bytes(element.body);
  return Uint8Array.fromBase64(element?.bodyBase64 ?? "missing");
}

describe("[V2] format batch", () => {
  test("[V2] sends the document of the contract, member by member", async () => {
    const second = event({
      eventId: "gh:2",
      seq: 1043,
      type: null,
      contentType: null,
      attempt: 3,
      replay: true,
      body: Uint8Array.of(255),
    });
    const request = await sent({}, delivery([event({ headers: { "x-a": "b" } }), second]));
    expect(request.init.method).toBe("POST");
    expect(request.url).toBe("https://origin.example.com/hooks");
    expect(request.headers.get("content-type")).toBe("application/json");
    expect(request.headers.get("user-agent")).toMatch(/^Spillway\/\d+\.\d+\.\d+$/);
    expect(JSON.parse(request.text)).toStrictEqual({
      tenant: "acme",
      destination: "origin",
      batchId: "batch_1",
      events: [
        {
          id: "stripe:evt_1",
          seq: "1042",
          source: "stripe",
          provider: "stripe",
          type: "invoice.paid",
          receivedAt: "2026-11-29T22:05:01.123Z",
          attempt: 1,
          contentType: "application/json",
          headers: { "x-a": "b" },
          body: '{"id":"evt_1"}',
        },
        {
          id: "gh:2",
          seq: "1043",
          source: "stripe",
          provider: "stripe",
          type: null,
          receivedAt: "2026-11-29T22:05:01.123Z",
          attempt: 3,
          replay: true,
          contentType: null,
          headers: {},
          bodyBase64: "/w==",
        },
      ],
    });
  });

  test.each(BODIES)("[V2] [I3] a body with %s comes out byte for byte", async (_name, body) => {
    const request = await sent({}, delivery([event({ body }), event({ eventId: "after" })]));
    const [element, after] = elementsOf(request.text);
    expect(bytesOf(element)).toStrictEqual(body);
    expect(bytesOf(after)).toStrictEqual(event().body);
  });

  test("[V2] [I3] any bytes come out as they are, as text exactly where they are UTF-8", async () => {
    const anyBytes = fc.oneof(fc.uint8Array({ maxLength: 64 }), fc.string({ unit: "binary" }).map(bytes));
    await fc.assert(
      fc.asyncProperty(anyBytes, async (body) => {
        const request = await sent({}, delivery([event({ body })]));
        const [element] = elementsOf(request.text);
        expect(bytesOf(element)).toStrictEqual(Uint8Array.from(body));
        const isUtf8 =
          bytes(new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(body)).toHex() === body.toHex();
        expect(element?.body !== undefined).toBe(isUtf8);
      }),
    );
  });
});

describe("[V3] format single", () => {
  test("[V3] sends the exact bytes, and the rest in headers", async () => {
    const one = event({
      contentType: "text/plain; charset=latin1",
      headers: { "stripe-version": "2026-10-01" },
      attempt: 2,
    });
    const request = await sent({ format: "single" }, delivery([one], { hops: 1 }));
    expect(request.text).toBe('{"id":"evt_1"}');
    expect(Object.fromEntries(request.headers)).toMatchObject({
      "content-type": "text/plain; charset=latin1",
      "stripe-version": "2026-10-01",
      "spillway-event-id": "stripe:evt_1",
      "spillway-tenant": "acme",
      "spillway-destination": "origin",
      "spillway-source": "stripe",
      "spillway-provider": "stripe",
      "spillway-type": "invoice.paid",
      "spillway-received-at": "2026-11-29T22:05:01.123Z",
      "spillway-seq": "1042",
      "spillway-attempt": "2",
      "spillway-hops": "2",
      "webhook-id": "stripe:evt_1",
    });
    expect(request.headers.has("spillway-replay")).toBe(false);
  });

  test.each(BODIES)("[V3] [I3] a body with %s is sent byte for byte", async (_name, body) => {
    expect((await sent({ format: "single" }, delivery([event({ body })]))).body).toStrictEqual(body);
  });

  test("[V3] no content type and no type stay none; a replay says so", async () => {
    const request = await sent(
      { format: "single" },
      delivery([event({ contentType: null, type: null, replay: true })]),
    );
    expect(request.headers.has("content-type")).toBe(false);
    expect(request.headers.has("spillway-type")).toBe(false);
    expect(request.headers.get("spillway-replay")).toBe("true");
  });

  test("[V3] a type of any characters can be read back", async () => {
    const type = "zażółć 100%\r\nx: y\ud83d\ude00";
    const request = await sent({ format: "single" }, delivery([event({ type })]));
    expect(decodeURIComponent(request.headers.get("spillway-type") ?? "")).toBe(type);
  });

  test("[V3] [V28] kept headers never replace ours, nor those of the connection", async () => {
    const headers = {
      "webhook-id": "theirs",
      "webhook-signature": "v1,theirs",
      "spillway-tenant": "other",
      "spillway-replay": "true",
      "x-signature": "theirs",
      authorization: "Bearer theirs",
      host: "other.example.com",
      connection: "x-drop",
      "content-length": "1",
      "transfer-encoding": "chunked",
      "user-agent": "theirs",
      "content-encoding": "gzip",
      "x-github-event": "push",
    };
    const request = await sent({ format: "single", bearerToken: "ours" }, delivery([event({ headers })]));
    const got = Object.fromEntries(request.headers);
    expect(got).toMatchObject({
      "webhook-id": "stripe:evt_1",
      "spillway-tenant": "acme",
      authorization: "Bearer ours",
      "content-encoding": "gzip",
      "x-github-event": "push",
    });
    expect(got["user-agent"]).toMatch(/^Spillway/);
    expect(JSON.stringify(got)).not.toContain("theirs");
    for (const name of ["host", "connection", "transfer-encoding", "spillway-replay"])
      expect(got).not.toHaveProperty(name);
  });

  test("[V3] a header that no request can carry does not keep the event back", async () => {
    const request = await sent(
      { format: "single" },
      delivery([event({ headers: { "x bad": "1", "x-bad": "a\r\nb", "x-good": "2" } })]),
    );
    expect(request.headers.get("x-good")).toBe("2");
    expect(request.headers.has("x-bad")).toBe(false);
  });
});

describe("[V3] format cloudevents", () => {
  /** As a receiver does it: the official SDK reads the request. */
  async function read(...events: Parameters<typeof event>[0][]): Promise<readonly CloudEvent<unknown>[]> {
    const request = await sent({ format: "cloudevents" }, delivery(events.map((changes) => event(changes))));
    expect(request.headers.get("content-type")).toBe("application/cloudevents-batch+json");
    const message = HTTP.toEvent({ headers: Object.fromEntries(request.headers), body: request.text });
    return [message].flat() as CloudEvent<unknown>[];
  }

  test("[V3] the official SDK reads every attribute", async () => {
    const [first, second] = await read({ attempt: 2 }, { eventId: "gh:2", seq: 7, type: null, replay: true });
    expect(first?.validate()).toBe(true);
    expect(first?.toJSON()).toMatchObject({
      specversion: "1.0",
      id: "stripe:evt_1",
      source: "/webhook/acme/stripe",
      type: "invoice.paid",
      time: "2026-11-29T22:05:01.123Z",
      datacontenttype: "application/json",
      spillwaytenant: "acme",
      spillwaydestination: "origin",
      spillwayprovider: "stripe",
      spillwayseq: "1042",
      spillwayattempt: 2,
      data: { id: "evt_1" },
    });
    expect(second?.validate()).toBe(true);
    expect(second).toMatchObject({ id: "gh:2", type: "webhook.stripe", spillwayreplay: true });
  });

  test("[V3] [I3] [V29] a JSON body is put in word for word, digits of long numbers included", async () => {
    const body = '{ "n": 12345678901234567890,\r\n "f": 1.0, "u": "\\u00e9" }';
    const request = await sent({ format: "cloudevents" }, delivery([event({ body: bytes(body) })]));
    expect(request.text).toContain(`"data":${body}}`);
  });

  test.each([
    ["text/plain", "hello\r\n"],
    ["application/x-www-form-urlencoded", "a=b&payload=%7B%7D"],
    ["application/xml", `${BOM}<a/>`],
  ])("[V3] a body of %s is a text", async (contentType, body) => {
    const [first] = await read({ contentType, body: bytes(body) });
    expect(first?.data).toBe(body);
    expect(first?.datacontenttype).toBe(contentType);
  });

  test.each([
    ["application/json", bytes(`${BOM}{"a":1}`)],
    ["application/json; charset=utf-8", bytes('{"a":1},{"id":"forged"}')],
    ["application/vnd.acme+json", bytes('{"a":')],
    ["application/json", new Uint8Array()],
    ["text/plain", Uint8Array.of(0xff, 0)],
    [null, bytes("neither JSON nor named")],
  ])("[V3] what is said to be %s and cannot be one goes as bytes", async (contentType, body) => {
    const events = await read({ contentType, body }, { eventId: "after" });
    expect(events.map(({ id }) => id)).toStrictEqual(["stripe:evt_1", "after"]);
    expect(events[0]?.data_base64).toBe(body.toBase64());
    expect(events[0]?.datacontenttype).toBe(contentType ?? "application/octet-stream");
  });

  test("[V3] a nameless body that is JSON is JSON", async () => {
    const [first] = await read({ contentType: null, body: bytes('{"a":[1]}') });
    expect(first?.data).toStrictEqual({ a: [1] });
  });
});
