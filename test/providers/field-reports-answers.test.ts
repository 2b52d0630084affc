import { describe, expect, test } from "vitest";
import { answerHandshake, handshakeMethods } from "../../src/providers/handshake.ts";
import { identify } from "../../src/providers/identify.ts";
import { verify } from "../../src/providers/verify.ts";
import { arrival, row, source, T } from "./sources.ts";

/** The reported cases of answers, handshakes, addresses and names; each stands for its whole kind. */

const GITHUB = source(["gh-secret-01"]);
const GENERIC = source(["generic-secret-01"]);

describe("what the sender needs to hear", () => {
  test("[FR 27] a well and a badly signed request of a review", async () => {
    const shopify = async (signature: string) =>
      (
        await verify(
          row("shopify"),
          source(["shopify-secret-01"]),
          arrival({ "x-shopify-hmac-sha256": signature }, '{"id":1}'),
        )
      ).kind;
    expect(await shopify("LbXjV7dvvgqx52K2XN8VHRn9e/PnGSLswb7Ty0ZWheo=")).toBe("rejected");
    expect(await shopify("zF5tW90c8Fy7zd0FHuwm1Gjk1CBMXF7J2m3z9JOBXOo=")).toBe("genuine");
  });

  test("[FR 28] [P4] Xero hears nothing, Adyen hears [accepted]", async () => {
    const body = '{"events":[],"firstEventSequence":0,"lastEventSequence":0,"entropy":"X"}';
    const xero = async (signature: string) =>
      (await verify(row("xero"), source(["xero-key-01"]), arrival({ "x-xero-signature": signature }, body))).kind;
    expect(await xero("NhNZfENWx52dD9OFEO25nScnPNMu3zkf8YgedWx4Ikg=")).toBe("genuine");
    expect(await xero("AAAA")).toBe("rejected");
    expect(row("xero").answer.success).toEqual({ status: 200, body: "none" });
    expect(row("adyen").answer.success).toMatchObject({ status: 200, body: { text: "[accepted]" } });
  });

  test("[FR 29] [P4] a sender that knows only 200 hears 200", () => {
    for (const name of ["lemonsqueezy", "linear", "mailgun", "xero", "paystack", "plaid", "trello", "monday", "meta"]) {
      expect([name, row(name).answer.success.status]).toEqual([name, 200]);
    }
  });

  test("[FR 34] [P4] Twilio reads the answer as instructions: an empty one", async () => {
    expect(row("twilio").answer.success).toEqual({
      status: 200,
      body: { text: "<Response/>", contentType: "text/xml; charset=utf-8" },
    });
    const body = "Body=hi&From=%2B15550001111&MessageSid=SM0001";
    const request = arrival({ "x-twilio-signature": "6m0oMkfqZYFOHpuDzTXf2PVsd94=" }, body, {
      url: "https://buf.test/webhook/tw",
    });
    expect((await verify(row("twilio"), source(["twilio-token-01"]), request)).kind).toBe("genuine");
    expect(identify(row("twilio"), source([]), request, "00").eventId).toBe("src:SM0001");
  });

  test("[FR 36] [D1] Slack's own repeat is the same event", async () => {
    const body = '{"token":"x","type":"event_callback","event_id":"Ev0001","event":{"type":"app_mention"}}';
    const headers = {
      "x-slack-request-timestamp": String(T),
      "x-slack-signature": "v0=b33b7c1b9983ddac4b120f74e9737d814b35cad71b7f314016a39cf2881ac282",
    };
    const again = { ...headers, "x-slack-retry-num": "1", "x-slack-retry-reason": "http_timeout" };
    for (const sent of [headers, again]) {
      const request = arrival(sent, body);
      expect((await verify(row("slack"), source(["slack-secret-01"]), request)).kind).toBe("genuine");
      expect(identify(row("slack"), source([]), request, "00")).toEqual({
        eventId: "src:Ev0001",
        trust: "signed",
        type: "app_mention",
      });
    }
  });
});

describe("handshakes and probes", () => {
  const zoomBody = '{"event":"endpoint.url_validation","payload":{"plainToken":"pt-0001"},"event_ts":1795910400000}';
  const zoom = (signature: string) =>
    answerHandshake(
      row("zoom"),
      source(["zoom-secret-01"]),
      arrival({ "x-zm-request-timestamp": String(T), "x-zm-signature": signature }, zoomBody),
    );

  test("[FR 30] [P10] Zoom's check is answered only when it is signed", async () => {
    const answer = await zoom("v0=6e2c55e55d2639b2d0fe2039bbe4e50fa48b1ecbcc5b8f17a2c4e16edc12dd4a");
    expect(answer).toMatchObject({ status: 200, headers: { "content-type": "application/json" } });
    expect(JSON.parse(answer?.body ?? "")).toEqual({
      plainToken: "pt-0001",
      encryptedToken: "7433d6b37c575fc3f03c9780a75a203f257009b02769e96649e2688402b80432",
    });
    expect(await zoom(`v0=${"0".repeat(64)}`)).toBeNull();
  });

  test("[FR 31] [P10] Slack's question is answered only when it is signed", async () => {
    const body = '{"token":"x","challenge":"chal-0001","type":"url_verification"}';
    const headers = {
      "x-slack-request-timestamp": String(T),
      "x-slack-signature": "v0=0824f6617e1f6db2e6bb45c974031cee85957e8fa356f2a53ed7afc5f8f60980",
    };
    const secrets = source(["slack-secret-01"]);
    const answer = await answerHandshake(row("slack"), secrets, arrival(headers, body));
    expect(answer).toMatchObject({ status: 200, body: "chal-0001" });
    expect(answer?.headers["content-type"]).toMatch(/^text\/plain/);
    expect(await answerHandshake(row("slack"), secrets, arrival({}, body))).toBeNull();
  });

  test("[FR 32] Microsoft Graph's token comes back decoded, as plain text, to its own source only", async () => {
    const url = "https://buf.test/webhook/ms?validationToken=Validation%3A+Testing+%3Cb%3E";
    const request = arrival({ "content-type": "text/plain; charset=utf-8" }, "", { url });
    expect(await answerHandshake(row("microsoft-graph"), source(["state"]), request)).toEqual({
      status: 200,
      headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" },
      body: "Validation: Testing <b>",
    });
    expect(await answerHandshake(row("github"), GITHUB, request)).toBeNull();
  });

  test("[FR 33] WooCommerce's first request is exactly one form, and nothing else", async () => {
    const form = { "content-type": "application/x-www-form-urlencoded" };
    const at = (name: string, headers: Record<string, string>, body: string) =>
      answerHandshake(row(name), source(["woo-secret-01"]), arrival(headers, body));
    expect(await at("woocommerce", form, "webhook_id=2")).toEqual({ status: 200, headers: {}, body: null });
    expect(await at("woocommerce", form, "webhook_id=2&x=1")).toBeNull();
    expect(await at("woocommerce", { "content-type": "application/json" }, "webhook_id=2")).toBeNull();
    expect(await at("woocommerce", { ...form, "x-wc-webhook-signature": "AAAA" }, "webhook_id=2")).toBeNull();
    expect(await at("github", form, "webhook_id=2")).toBeNull();
  });

  test("[FR 37] GET and HEAD are for providers that probe", async () => {
    expect(handshakeMethods(row("mailchimp"))).toEqual(["GET", "HEAD"]);
    expect(handshakeMethods(row("trello"))).toEqual(["HEAD"]);
    expect(handshakeMethods(row("github"))).toEqual([]);
    for (const method of ["HEAD", "GET"]) {
      const probe = arrival({}, "", { method });
      expect(await answerHandshake(row("mailchimp"), source(["t"]), probe)).toMatchObject({ status: 200, body: null });
    }
  });

  test("[FR 39] a CloudEvents sender asks for permission", async () => {
    const headers = { "webhook-request-origin": "eventgrid.azure.net", "webhook-request-rate": "120" };
    const request = arrival(headers, "", { method: "OPTIONS" });
    expect(handshakeMethods(row("cloudevents"))).toEqual(["OPTIONS"]);
    expect(await answerHandshake(row("cloudevents"), source(["t"]), request)).toMatchObject({
      status: 200,
      headers: { "webhook-allowed-origin": "eventgrid.azure.net" },
    });
    expect(await answerHandshake(row("github"), GITHUB, request)).toBeNull();
  });
});

describe("addresses and names", () => {
  const body = "Body=hi&From=%2B15550001111&MessageSid=SM0001";
  const signature = { "x-twilio-signature": "HvqV639ZwURLe0ylgh7/liTLDAg=" };
  const registered = source(["twilio-token-01"], { publicUrl: "https://buf.test/webhook/tw" });

  test("[FR 40] an apostrophe counts raw or escaped, and the registered address instead of the one behind a proxy", async () => {
    for (const url of ["https://buf.test/webhook/tw?n=O%27Hara", "http://inner.local:8080/webhook/tw?n=O'Hara"]) {
      expect((await verify(row("twilio"), registered, arrival(signature, body, { url }))).kind).toBe("genuine");
    }
    const other = arrival(signature, body, { url: "https://buf.test/webhook/tw?n=Other" });
    expect((await verify(row("twilio"), registered, other)).kind).toBe("rejected");
  });

  test("[FR 41] names of properties in a body reach no prototype", async () => {
    const polluted = '{"__proto__":{"admin":true},"constructor":{"prototype":{"x":1}}}';
    const request = arrival({}, polluted);
    const signed = arrival(
      { "x-hub-signature-256": "sha256=69dccc61a3afce6f39fae31ea8ea841df9da8247194c847637352ad4bbfd34e3" },
      polluted,
    );
    expect((await verify(row("github"), GITHUB, signed)).kind).toBe("genuine");
    const own = source([], { eventId: { pointer: "/toString" } });
    expect(identify(row("generic"), own, request, "00").trust).toBe("content");
    expect(({} as Record<string, unknown>).admin).toBeUndefined();
  });

  test("[FR 42] [D2] the source is part of an event's id", async () => {
    const request = arrival({}, '{"id":"evt_dup","object":"event"}');
    const first = identify(row("stripe"), source([], { id: "st" }), request, "00");
    const second = identify(row("stripe"), source([], { id: "st2" }), request, "00");
    expect([first.eventId, second.eventId]).toEqual(["st:evt_dup", "st2:evt_dup"]);
  });

  test("[FR 43] [D7] Stripe's repeats may differ in their body", async () => {
    const request = arrival({}, '{"id":"evt_1","pending_webhooks":2}');
    expect(identify(row("stripe"), source([]), request, "00").trust).toBe("signed-changing-body");
  });

  test("[FR 44] without an id the body's digest is the key, for a while", async () => {
    const identity = identify(row("generic"), GENERIC, arrival({}, '{"a":1}'), "cd");
    expect(identity).toMatchObject({ eventId: "src:sha256-cd", trust: "content" });
  });

  test("[FR 45] equal bodies under two delivery ids are two events", async () => {
    const id = async (delivery: string) =>
      identify(row("github"), GITHUB, arrival({ "x-github-delivery": delivery }, '{"event":"ping"}'), "00").eventId;
    expect(await id("d-0073")).not.toBe(await id("d-0074"));
  });
});
