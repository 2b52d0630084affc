import { expect, test } from "vitest";
import { utf8 } from "../../src/providers/bytes.ts";
import { generic, SECRET, Site, signatureOf, signed } from "./fakes.ts";

const tenant = { sources: { internal: generic() } };

async function siteWith(input: unknown = tenant, version = 1): Promise<Site> {
  const site = new Site();
  await site.configure("acme", input, version);
  return site;
}

/** Bodies that a careless reader would change. */
const bodies: readonly (readonly [string, Uint8Array<ArrayBuffer>])[] = [
  ["nothing at all", new Uint8Array(0)],
  ["bytes that are no UTF-8", Uint8Array.of(0xff, 0xfe, 0x00, 0xc3, 0x28, 0x80)],
  ["a BOM", utf8('\ufeff{"a":1}')],
  ["CR LF and white space around", utf8(' \r\n{"a":\r\n1}\r\n ')],
  ["NUL bytes", Uint8Array.of(0, 0, 0)],
  ["something compressed", Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0)],
  ["100 KB", Uint8Array.from({ length: 100_000 }, (_, index) => (index * 131) % 256)],
];

test.each(bodies)("[I3] %s reaches the object exactly, in a buffer of its own", async (_, body) => {
  const site = await siteWith();
  const response = await site.send(
    "/webhook/acme",
    await signed(body, { "content-encoding": "gzip", "content-type": "text/odd; charset=utf-16" }),
  );
  expect(response.status).toBe(202);
  const [call] = site.object("acme").calls;
  expect(call?.body).toEqual(body);
  expect(call?.body.buffer.byteLength).toBe(body.length);
  expect(call).toMatchObject({ contentType: "text/odd; charset=utf-16", headers: '{"content-encoding":"gzip"}' });
});

test("[I14] kept are content, id and type headers and those asked for; the signature and cookies are not", async () => {
  const site = await siteWith({ sources: { internal: { ...generic(), forwardHeaders: ["X-Trace"] } } });
  await site.send(
    "/webhook/acme",
    await signed("{}", {
      "content-type": "application/json",
      "x-event-id": "one",
      "x-event-type": "order.paid",
      "x-trace": "t-1",
      cookie: "session=1",
      authorization: "Bearer x",
      "cf-connecting-ip": "192.0.2.1",
    }),
  );
  const [call] = site.object("acme").calls;
  expect(call?.contentType).toBe("application/json");
  expect(JSON.parse(call?.headers ?? "")).toEqual({
    "x-event-id": "one",
    "x-event-type": "order.paid",
    "x-trace": "t-1",
  });
  expect(call?.type).toBe("order.paid");
});

test("[D7] [D8] the call carries the digests of id, body and suffixed id", async () => {
  const site = await siteWith();
  const body = utf8('{"a":1}');
  await site.send("/webhook/acme", await signed(body, { "x-event-id": "one" }));
  await site.send("/webhook/acme", await signed(body));
  const sha256 = async (bytes: BufferSource) => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const text = (value: string) => utf8(value);
  const bodyDigest = await sha256(body);
  const [named, unnamed] = site.object("acme").calls;
  expect(named?.trust).toBe("unsigned");
  expect(named?.keys.toHex()).toBe(
    [
      (await sha256(text("internal:one"))).subarray(0, 16).toHex(),
      bodyDigest.subarray(0, 8).toHex(),
      (await sha256(text(`internal:one~${bodyDigest.subarray(0, 8).toHex()}`))).subarray(0, 16).toHex(),
    ].join(""),
  );
  expect(unnamed).toMatchObject({ trust: "content", eventId: `internal:sha256-${bodyDigest.toHex()}` });
  expect(unnamed?.keys.byteLength).toBe(24);
});

test("[R3] the call says what is to become of events over the limit", async () => {
  const site = await siteWith({
    sources: { internal: generic(), hub: { provider: "github", secrets: [SECRET] } },
  });
  await site.send("/webhook/acme/internal", await signed("{}"));
  const mac = await signatureOf("{}");
  await site.send("/webhook/acme/hub", { body: "{}", headers: { "x-hub-signature-256": `sha256=${mac}` } });
  expect(site.object("acme").calls.map((call) => [call.provider, call.overLimit])).toEqual([
    ["generic", "reject"],
    ["github", "absorb"],
  ]);
});

test("[I10] with a fixed clock signatures are judged by that time", async () => {
  const clockMs = 1_767_225_600_000;
  const site = new Site({ fixedClockMs: clockMs });
  await site.configure("acme", { sources: { pay: { provider: "stripe", secrets: [SECRET] } } });
  const time = clockMs / 1_000;
  const body = '{"id":"evt_1","type":"invoice.paid"}';
  const header = `t=${time},v1=${await signatureOf(`${time}.${body}`)}`;
  const response = await site.send("/webhook/acme", { body, headers: { "stripe-signature": header } });
  expect(await response.json()).toEqual({ status: "buffered", eventId: "pay:evt_1" });
});
