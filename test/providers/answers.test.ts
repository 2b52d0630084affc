import { describe, expect, test } from "vitest";
import { longestRetrySeconds, overLimitAction } from "../../src/providers/answers.ts";
import { providerNames } from "../../src/providers/catalogue.ts";
import { carriesSignature, keptHeaders } from "../../src/providers/headers.ts";
import { row, source } from "./sources.ts";

describe("over the rate limit", () => {
  test.each([
    ["generic", "reject"],
    ["generic-timestamped", "reject"],
    ["token", "reject"],
    ["stripe", "reject"],
    ["square", "reject"],
    ["google-pubsub", "reject"],
    ["customerio", "reject"],
    ["github", "absorb"],
    ["shopify", "absorb"],
    ["slack", "absorb"],
    ["woocommerce", "absorb"],
    ["okta", "absorb"],
    ["lemonsqueezy", "absorb"],
    ["asana", "absorb"],
    ["sentry", "absorb"],
  ] as const)("[R3] %s: %s, unless the operator decides", (name, action) => {
    expect(overLimitAction(row(name), "auto")).toBe(action);
    expect(overLimitAction(row(name), "reject")).toBe("reject");
    expect(overLimitAction(row(name), "absorb")).toBe("absorb");
  });

  test("[R3] [P4] only a sender that comes back for an hour and does not hold it against the hook is refused", () => {
    for (const name of providerNames()) {
      const { retry } = row(name);
      const refused = overLimitAction(row(name), "auto") === "reject";
      expect([name, refused]).toEqual([
        name,
        retry.forSeconds >= 3_600 && retry.afterOverLimit && !retry.overLimitDisables,
      ]);
      if (retry.overLimitDisables) expect([name, row(name).answer.overLimitStatus]).toEqual([name, 503]);
    }
  });

  test("[D3] the table knows how long each provider may still repeat an event", () => {
    expect(longestRetrySeconds(row("stripe"))).toBe(259_200);
    expect(longestRetrySeconds(row("adyen"))).toBe(2_592_000);
    expect(longestRetrySeconds(row("whatsapp"))).toBe(604_800);
    expect(longestRetrySeconds(row("github"))).toBe(0);
  });
});

describe("headers", () => {
  const from = source(["s"]);

  test("[I1] a source is found by its own signature header", () => {
    const at = (name: string, headers: Record<string, string>) =>
      carriesSignature(row(name), from, new Headers(headers));
    expect(at("stripe", { "stripe-signature": "x" })).toBe(true);
    expect(at("github", { "stripe-signature": "x" })).toBe(false);
    expect(at("docusign", { "x-docusign-signature-3": "x" })).toBe(true);
    expect(at("box", { "box-signature-secondary": "x" })).toBe(true);
    expect(at("token", { authorization: "Bearer x" })).toBe(true);
    expect(at("token", { authorization: "Digest x" })).toBe(false);
    expect(at("ebay", { "x-ebay-signature": "x" })).toBe(true);
  });

  test("[I1] the header that an operator chose for a token counts", () => {
    const chosen = source(["s"], { params: { header: "X-Acme" } });
    expect(carriesSignature(row("token"), chosen, new Headers({ "x-acme": "s" }))).toBe(true);
    expect(carriesSignature(row("token"), chosen, new Headers({ "x-webhook-token": "s" }))).toBe(false);
  });

  test("[I1] signatures in the body and tokens in the URL show nothing: they need the source's name", () => {
    const all = new Headers({ authorization: "x", "x-signature": "x", "content-type": "application/json" });
    for (const name of [
      "adyen",
      "mailgun",
      "braintree",
      "microsoft-graph",
      "meraki",
      "mailchimp",
      "strava",
      "aws-sns",
    ]) {
      expect([name, carriesSignature(row(name), from, all)]).toEqual([name, false]);
    }
  });

  test("[I14] id, type and time are kept, signatures, cookies and credentials are not", () => {
    const headers = new Headers({
      "content-type": "application/json",
      "content-encoding": "gzip",
      "webhook-id": "m1",
      "webhook-timestamp": "1",
      "webhook-signature": "v1,x",
      cookie: "a=b",
      authorization: "Bearer x",
      "cf-connecting-ip": "192.0.2.1",
      "x-mine": "1",
    });
    expect(keptHeaders(row("standard-webhooks"), [], headers)).toEqual({
      "content-type": "application/json",
      "content-encoding": "gzip",
      "webhook-id": "m1",
      "webhook-timestamp": "1",
    });
    expect(keptHeaders(row("standard-webhooks"), ["X-Mine", "Webhook-Signature", "__proto__"], headers)).toMatchObject({
      "x-mine": "1",
      "webhook-signature": "v1,x",
    });
  });

  test("[I14] no row keeps a credential of its own accord", () => {
    const names = ["authorization", "cookie", "cf-connecting-ip", "x-forwarded-for", "x-gitlab-token", "x-signature"];
    const headers = new Headers(names.map((name) => [name, "x"] as [string, string]));
    for (const name of providerNames()) expect([name, keptHeaders(row(name), [], headers)]).toEqual([name, {}]);
  });
});
