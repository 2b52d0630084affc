/** What was decided where a provider's documentation is silent. */
import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { providerRow } from "../../src/providers/catalogue.ts";
import { identify } from "../../src/providers/identify.ts";
import { verify } from "../../src/providers/verify.ts";
import { arrival, row, source } from "./sources.ts";

test("[P8] the URL that was signed is publicUrl, followed by the request's query where publicUrl has none", async () => {
  const square = row("square");
  const body = "{}";
  const sign = (url: string) =>
    createHmac("sha256", "square-secret-0123456789")
      .update(url + body)
      .digest("base64");
  const from = source(["square-secret-0123456789"], { publicUrl: "https://hooks.example.com/webhook/acme/square" });
  const at = (signed: string) => ({
    ...arrival({ "x-square-hmacsha256-signature": sign(signed) }, body),
    url: new URL("https://worker.example.net/webhook/acme/square?a=1"),
  });
  expect((await verify(square, from, at("https://hooks.example.com/webhook/acme/square?a=1"))).kind).toBe("genuine");
  expect((await verify(square, from, at("https://worker.example.net/webhook/acme/square?a=1"))).kind).toBe("rejected");
});

test("[P9] where no age limit is documented there is none, until toleranceSeconds sets one", () => {
  for (const name of ["discord", "sendgrid", "sanity", "cashfree"]) {
    expect(JSON.stringify(providerRow(name)), name).not.toMatch(/"toleranceSeconds":\d/);
  }
  expect(JSON.stringify(providerRow("stripe"))).toMatch(/"toleranceSeconds":300/);
});

test("[D7] a request of several items is told by all its bytes, whichever of them its source names it by", () => {
  const body = '{"events":[{"id":"EV1"},{"id":"EV2"}]}';
  for (const eventId of [null, { pointer: "/events/0/id" }]) {
    const identity = identify(row("gocardless"), source([], { eventId }), arrival({}, body), "00");
    expect(identity).toMatchObject({ eventId: "src:EV1", trust: "unsigned" });
  }
});

test("[D9] an id that several events share counts only together with the body", async () => {
  for (const [name, body] of [
    ["paystack", '{"event":"charge.success","data":{"id":1}}'],
    ["netlify", '{"id":"d1","state":"ready"}'],
  ] as const) {
    expect([name, identify(row(name), source([]), arrival({}, body), "00").trust]).toEqual([name, "unsigned"]);
  }
});
