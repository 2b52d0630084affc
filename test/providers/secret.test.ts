import { describe, expect, test } from "vitest";
import { checkParams, checkSecret, secretIsHandedOver, secretIsNeeded } from "../../src/providers/secret.ts";
import { row } from "./sources.ts";

function fault(name: string, secret: string): string | null {
  const checked = checkSecret(row(name), secret);
  return checked.ok ? null : (checked.detail ?? checked.reason);
}

describe("secrets, when they are saved", () => {
  test.each([
    ["standard-webhooks", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
    ["standard-webhooks", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
    ["stripe", "whsec_anything-at-all"],
    ["polar", "polar_whs_testsecret0123456789"],
    ["openai", "not base64 at all, sixteen bytes"],
    ["adyen", "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056"],
    ["airtable", "c2l4dGVlbiBieXRlcyBhbmQgbW9yZQ=="],
    ["discord", "79b5562e8fe654f94078b112e8a98ba7901f853ae695bed7e0e3910bad049664"],
  ])("[P1] %s takes %s", (name, secret) => expect(fault(name, secret)).toBeNull());

  test.each([
    ["standard-webhooks", "whsec_", "base64"],
    ["standard-webhooks", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS", "base64"],
    ["standard-webhooks", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwx", "base64"],
    ["standard-webhooks", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaR=", "base64"],
    ["openai", "whsec_not/base64!", "base64"],
    ["adyen", "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA05", "hexadecimal"],
    ["adyen", "zz", "hexadecimal"],
    ["discord", "79b5", "64 hexadecimal"],
    ["github", " secret-with-a-space-in-front", "white space"],
    ["github", "secret-with-a-line-end\r\n", "white space"],
    ["github", "", "empty"],
    ["github", "\t\n", "empty"],
    ["sendgrid", "not a key", "neither PEM"],
    ["wise", "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----", "RSA PRIVATE KEY"],
    ["plaid", '{"kty":"EC","crv":"P-256","x":"a","y":"b","d":"secret"}', "private key"],
    ["plaid", '{"no":"key"}', "not a JWK"],
    ["plaid", "{", "JWK"],
  ])("[P1] %s refuses %j: %s", (name, secret, words) => expect(fault(name, secret)).toContain(words));

  test("[I15] what is wrong is told without the secret", () => {
    const secret = "whsec_not-base64-but-quite-secret";
    expect(fault("standard-webhooks", secret)).not.toContain("not-base64-but-quite");
  });

  test("[P1] a secret under 16 bytes is taken with a warning", () => {
    const short = checkSecret(row("twilio"), "12345");
    expect(short.ok && short.value.warnings.join()).toContain("5 bytes");
    const long = checkSecret(row("twilio"), "0123456789abcdef");
    expect(long.ok && long.value.warnings).toEqual([]);
  });
});

describe("what else a source needs", () => {
  test("[I7] a provider that publishes its keys or hands over its secret needs none", () => {
    expect(["paypal", "aws-sns", "google-pubsub", "plaid"].map((name) => secretIsNeeded(row(name)))).toEqual([
      false,
      false,
      false,
      false,
    ]);
    expect(["stripe", "discord", "token", "asana", "monday"].map((name) => secretIsNeeded(row(name)))).toEqual([
      true,
      true,
      true,
      true,
      true,
    ]);
    expect(["asana", "notion", "clio", "stripe"].map((name) => secretIsHandedOver(row(name)))).toEqual([
      true,
      true,
      true,
      false,
    ]);
  });

  test("[P1] a fetched key signs for every customer: something must say which one", () => {
    const names = (name: string, params: Record<string, string>, hasSecret: boolean) =>
      checkParams(row(name), params, hasSecret).map((problem) => problem.name);
    expect(names("google-pubsub", {}, false)).toEqual(["email"]);
    expect(names("google-pubsub", {}, true)).toEqual([]);
    expect(names("google-pubsub", { email: "a@b" }, false)).toEqual([]);
    expect(names("aws-sns", {}, false)).toEqual(["topicArn"]);
    expect(names("paypal", {}, true)).toEqual(["webhookId"]);
    expect(names("plaid", {}, false)).toEqual(["clientId", "secret"]);
    expect(names("stripe", { surprise: "1" }, true)).toEqual(["surprise"]);
    expect(names("token", { header: "x y" }, true)).toEqual(["header"]);
    expect(names("tiktok-shop", { appKey: "" }, true)).toEqual(["appKey"]);
  });
});
