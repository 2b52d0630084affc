import { createHash } from "node:crypto";
import { basic, mac, OTHER_SECRET, type Plain, SECRET, type Signer, tokenSigner } from "./signer.ts";

const sha = (hash: "sha1" | "sha256", ...parts: readonly (string | Uint8Array)[]): string => {
  const digest = createHash(hash);
  for (const part of parts) digest.update(part);
  return digest.digest("hex");
};

function plain(header: string | null, bodies: Signer["bodies"], sign: Signer["sign"], body?: string): Signer {
  const signer = { secret: SECRET, otherSecret: OTHER_SECRET, bodies, header, sign };
  return body === undefined ? signer : { ...signer, body };
}

const cloudinary = (hash: "sha1" | "sha256"): Signer =>
  plain("x-cld-signature", "any", (secret, { body, seconds }) => ({
    headers: { "x-cld-timestamp": String(seconds), "x-cld-signature": sha(hash, body, String(seconds), secret) },
  }));

const urlToken = (name: string): Signer =>
  plain(null, "any", (secret, { url }) => ({ headers: {}, url: `${url}?${name}=${encodeURIComponent(secret)}` }));

const clientState: Signer = plain(
  null,
  "json",
  (secret, { body }) => ({ headers: {}, body: inJson(body, (items) => setAll(items, "clientState", secret)) }),
  '{"value":[{"id":"n1","changeType":"created"},{"id":"n2","changeType":"updated"}]}',
);

function inJson(body: Uint8Array, change: (value: Record<string, unknown>) => void): Uint8Array {
  const value = JSON.parse(Buffer.from(body).toString()) as Record<string, unknown>;
  change(value);
  return Buffer.from(JSON.stringify(value));
}

function setAll(value: Record<string, unknown>, name: string, secret: string): void {
  for (const item of value.value as Record<string, unknown>[]) item[name] = secret;
}

function formSorted(url: string, body: Uint8Array): string {
  const fields = [...new URLSearchParams(Buffer.from(body).toString())];
  fields.sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0));
  return url + fields.map(([name, value]) => name + value).join("");
}

const sortedForm = (header: string): Signer =>
  plain(
    header,
    "form",
    (secret, { url, body }) => ({
      headers: {
        "content-type": "application/x-www-form-urlencoded",
        [header]: mac("sha1", secret, formSorted(url, body)).toString("base64"),
      },
    }),
    "To=%2B15550001111&Body=hi+there&MessageSid=SM0001&MessageStatus=sent",
  );

const adyenItem = {
  pspReference: "psp1",
  merchantAccountCode: "shop",
  merchantReference: "ref:1",
  eventCode: "CAPTURE",
  success: "true",
};

function adyen(secret: string, { body }: Plain): { headers: Record<string, string>; body: Uint8Array } {
  const signed = inJson(body, (value) => {
    for (const { NotificationRequestItem: item } of value.notificationItems as {
      NotificationRequestItem: typeof adyenItem & { amount: { value: number; currency: string } };
    }[]) {
      const text = [
        item.pspReference,
        "",
        item.merchantAccountCode,
        item.merchantReference,
        item.amount.value,
        item.amount.currency,
        item.eventCode,
        item.success,
      ].join(":");
      const hmacSignature = mac("sha256", Buffer.from(secret, "hex"), text).toString("base64");
      Object.assign(item, { additionalData: { hmacSignature } });
    }
  });
  return { headers: {}, body: signed };
}

const paymobFields = ["amount_cents", "created_at", "currency", "error_occured", "has_parent_transaction", "id"];

/** Providers that prove themselves by a token, a plain hash, or by fields inside the body. */
export const otherSigners: Readonly<Record<string, Signer>> = {
  token: tokenSigner("authorization", (secret) => `Bearer ${secret}`),
  "gitlab-token": tokenSigner("x-gitlab-token"),
  "flutterwave-v3": tokenSigner("verif-hash"),
  "buildkite-token": tokenSigner("x-buildkite-token"),
  huggingface: tokenSigner("x-webhook-secret"),
  telegram: tokenSigner("x-telegram-bot-api-secret-token"),
  mailchimp: urlToken("token"),
  strava: urlToken("token"),
  postmark: tokenSigner("authorization", basic),
  pipedrive: tokenSigner("authorization", basic),
  chargebee: tokenSigner("authorization", basic),
  recurly: tokenSigner("authorization", basic),
  ringcentral: tokenSigner("verification-token"),
  revenuecat: tokenSigner("authorization"),
  okta: tokenSigner("authorization"),
  auth0: tokenSigner("authorization"),
  deepgram: tokenSigner("dg-token"),
  cloudevents: tokenSigner("authorization", (secret) => `Bearer ${secret}`),
  "cloudflare-notifications": tokenSigner("cf-webhook-auth"),
  meraki: plain(
    null,
    "json",
    (secret, { body }) => ({
      headers: {},
      body: inJson(body, (value) => Object.assign(value, { sharedSecret: secret })),
    }),
    '{"alertId":"a1","alertTypeId":"motion_alert"}',
  ),
  "microsoft-graph": clientState,
  sharepoint: clientState,
  cloudinary: cloudinary("sha1"),
  "cloudinary-sha256": cloudinary("sha256"),
  "hubspot-v1": plain("x-hubspot-signature", "any", (secret, { body }) => ({
    headers: { "x-hubspot-signature": sha("sha256", secret, body) },
  })),
  "hubspot-v2": plain("x-hubspot-signature", "any", (secret, { url, body }) => ({
    headers: { "x-hubspot-signature": sha("sha256", secret, "POST", url, body) },
  })),
  twilio: sortedForm("x-twilio-signature"),
  mandrill: sortedForm("x-mandrill-signature"),
  adyen: {
    ...plain(
      null,
      "json",
      adyen,
      JSON.stringify({
        notificationItems: ["psp1", "psp2"].map((pspReference) => ({
          NotificationRequestItem: { ...adyenItem, pspReference, amount: { value: 1130, currency: "EUR" } },
        })),
      }),
    ),
    secret: Buffer.from(SECRET).toString("hex"),
    otherSecret: Buffer.from(OTHER_SECRET).toString("hex"),
  },
  mailgun: plain(
    null,
    "json",
    (secret, { body, seconds }) => ({
      headers: {},
      body: inJson(body, (value) => {
        const timestamp = String(seconds);
        const signature = mac("sha256", secret, timestamp, "token-1").toString("hex");
        Object.assign(value, { signature: { timestamp, token: "token-1", signature } });
      }),
    }),
    '{"event-data":{"event":"opened","id":"e1"}}',
  ),
  braintree: plain(
    null,
    "form",
    (secret, { body }) => {
      const payload = Buffer.from(body).toString("base64");
      const key = createHash("sha1").update(secret).digest();
      const form = new URLSearchParams({
        bt_signature: `other|${"0".repeat(40)}&public-1|${mac("sha1", key, payload).toString("hex")}`,
        bt_payload: payload,
      });
      return { headers: {}, body: Buffer.from(form.toString()) };
    },
    "<notification/>",
  ),
  favro: plain(
    "x-favro-webhook",
    "json",
    (secret, { url }) => ({ headers: { "x-favro-webhook": mac("sha1", secret, "payload-1", url).toString("base64") } }),
    '{"payloadId":"payload-1","action":"updated"}',
  ),
  paymob: plain(
    null,
    "json",
    (secret, { url, body }) => {
      const { obj } = JSON.parse(Buffer.from(body).toString()) as { obj: Record<string, unknown> };
      const text = paymobFields.map((name) => String(obj[name])).join("");
      return { headers: {}, url: `${url}?hmac=${mac("sha512", secret, text).toString("hex")}` };
    },
    '{"type":"TRANSACTION","obj":{"amount_cents":100,"created_at":"2026-01-01","currency":"EGP","error_occured":false,"has_parent_transaction":false,"id":12}}',
  ),
  usps: plain(
    "x-hmac",
    "json",
    (secret) => ({
      headers: { "x-hmac": mac("sha256", secret, "2026-01-01T00:00:00Z", '{"a":1}').toString("base64") },
    }),
    '{"subscriptionType":"TRACKING","timestamp":"2026-01-01T00:00:00Z","payload":"{\\"a\\":1}"}',
  ),
  "paypro-global": plain(
    null,
    "form",
    (secret, { body }) => {
      const form = new URLSearchParams(Buffer.from(body).toString());
      const values = ["ORDER_ID", "ORDER_STATUS", "ORDER_TOTAL_AMOUNT", "CUSTOMER_EMAIL"].map(
        (name) => form.get(name) ?? "",
      );
      const digest = sha(
        "sha256",
        values.join(""),
        secret,
        form.get("TEST_MODE") ?? "",
        form.get("IPN_TYPE_NAME") ?? "",
      );
      form.set("SIGNATURE", digest);
      return { headers: {}, body: Buffer.from(form.toString()) };
    },
    "ORDER_ID=1&ORDER_STATUS=Processed&ORDER_TOTAL_AMOUNT=10.00&CUSTOMER_EMAIL=a%40example.com&TEST_MODE=0&IPN_TYPE_NAME=OrderCharged",
  ),
};
