import type { ProviderRow } from "../row.ts";
import { ANY_2XX, DAY_SECONDS, HOUR_SECONDS, idWithBody, noId, ONLY_200, retriesFor, signedId } from "./forms.ts";

const BODY = "{body}";

/** Signatures with a private RSA key. */
export const rsaRows: readonly ProviderRow[] = [
  {
    name: "wise",
    title: "Wise",
    page: "https://docs.wise.com/guides/developer/webhooks/event-handling",
    note: "The key is published, one each for production and sandbox.",
    setup: { addAt: "Settings › Developer tools › Webhooks", secret: "the public key of that page (PEM or base64)" },
    scheme: {
      kind: "public-key",
      algorithm: "rsa-sha256",
      key: "public-key",
      signature: { from: "header:x-signature-sha256", encoding: "base64" },
      signed: BODY,
    },
    identity: idWithBody("header:x-delivery-id", ["json:/event_type"]),
    keep: ["x-test-notification"],
    handshakes: [],
    answer: ANY_2XX,
    timeLimitMs: 5_000,
    timeLimitIs: "assumed",
    retry: { ...retriesFor(14 * DAY_SECONDS, 25), is: "assumed" },
  },
  {
    name: "fireblocks",
    title: "Fireblocks, webhooks v1",
    page: "https://developers.fireblocks.com/reference/validating-webhooks",
    note: "The header Fireblocks-Signature; the detached JWS of webhooks v2 is not covered.",
    setup: { addAt: "Developer Center › Webhooks", secret: "the public key of that page, of your region (PEM)" },
    scheme: {
      kind: "public-key",
      algorithm: "rsa-sha512",
      key: "public-key",
      signature: { from: "header:fireblocks-signature", encoding: "base64" },
      signed: BODY,
    },
    identity: noId(["json:/type"]),
    handshakes: [],
    answer: ONLY_200,
    timeLimitMs: 10_000,
    timeLimitIs: "assumed",
    retry: retriesFor(31_660, 10),
  },
  {
    name: "wechat-pay",
    title: "WeChat Pay, APIv3",
    page: "https://pay.weixin.qq.com/doc/global/v3/en/4012357149",
    note: "The resource inside is encrypted for the origin to open. Give the platform key of Wechatpay-Serial.",
    setup: { addAt: "notify_url of each request", secret: "the platform's public key or certificate (PEM)" },
    scheme: {
      kind: "public-key",
      algorithm: "rsa-sha256",
      key: "public-key",
      signature: { from: "header:wechatpay-signature", encoding: "base64" },
      time: { from: "header:wechatpay-timestamp", unit: "seconds", toleranceSeconds: 300 },
      signed: "{time}\n{header:wechatpay-nonce}\n{body}\n",
    },
    identity: signedId("json:/id", ["json:/event_type"]),
    keep: ["wechatpay-serial"],
    handshakes: [],
    answer: {
      success: {
        status: 200,
        body: { text: '{"code":"SUCCESS","message":"OK"}', contentType: "application/json" },
      },
      overLimitStatus: 429,
    },
    timeLimitMs: 5_000,
    timeLimitIs: "assumed",
    retry: retriesFor(DAY_SECONDS),
  },
  {
    name: "paypal",
    title: "PayPal",
    page: "https://developer.paypal.com/api/rest/webhooks/rest/",
    note: "Only a checksum of the body is signed. The certificate comes from PayPal's own host unless one is configured.",
    setup: { addAt: "Apps & Credentials › Webhooks", secret: "none; the webhook's id goes into params.webhookId" },
    scheme: {
      kind: "public-key",
      algorithm: "rsa-sha256",
      key: "public-key",
      certificateFrom: {
        ref: "header:paypal-cert-url",
        allowed: "https://api(?:\\.sandbox)?\\.paypal\\.com/v1/notifications/certs/[A-Za-z0-9_-]{1,200}",
      },
      signature: { from: "header:paypal-transmission-sig", encoding: "base64" },
      requires: ["header:paypal-transmission-id", "header:paypal-transmission-time", "param:webhookId"],
      signed: "{header:paypal-transmission-id}|{header:paypal-transmission-time}|{param:webhookId}|{body-crc32}",
    },
    params: [{ name: "webhookId", needed: "always", about: "the webhook's id, which is part of what is signed" }],
    identity: idWithBody("json:/id", ["json:/event_type"]),
    keep: ["paypal-transmission-id", "paypal-transmission-time"],
    handshakes: [],
    answer: ANY_2XX,
    timeLimitMs: 10_000,
    timeLimitIs: "assumed",
    retry: retriesFor(3 * DAY_SECONDS, 25),
  },
  {
    name: "aws-sns",
    title: "Amazon SNS",
    page: "https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message-verify-message-signature.html",
    note:
      "Every AWS customer's topics are signed with the same keys: params.topicArn says which topic may send. " +
      "Raw message delivery is not signed and is refused.",
    setup: {
      addAt: "the topic's subscriptions, protocol HTTPS",
      secret: "none; the topic's ARN goes into params.topicArn",
    },
    scheme: {
      kind: "public-key",
      algorithm: {
        by: "json:/SignatureVersion",
        is: { "1": "rsa-sha1", "2": "rsa-sha256" },
      },
      key: "public-key",
      certificateFrom: {
        ref: "json:/SigningCertURL",
        allowed: "https://sns\\.[a-z0-9-]{1,40}\\.amazonaws\\.com(?:\\.cn)?/[A-Za-z0-9_-]{1,100}\\.pem",
      },
      signature: { from: "json:/Signature", encoding: "base64" },
      requires: ["json:/MessageId", "json:/Type", "json:/Timestamp"],
      paramIs: { "json:/TopicArn": "topicArn" },
      signed:
        "{line:/Message}{line:/MessageId}{line:/Subject}{line:/SubscribeURL}{line:/Timestamp}{line:/Token}" +
        "{line:/TopicArn}{line:/Type}",
    },
    params: [{ name: "topicArn", needed: "without-secret", about: "the ARN of the topic that may send" }],
    identity: signedId("json:/MessageId", ["header:x-amz-sns-message-type", "json:/Type"]),
    handshakes: [
      {
        kind: "confirm-subscription",
        when: { ref: "json:/Type", is: "SubscriptionConfirmation" },
        url: "json:/SubscribeURL",
        allowed:
          "https://sns\\.[a-z0-9-]{1,40}\\.amazonaws\\.com(?:\\.cn)?/\\?Action=ConfirmSubscription&[\\x21-\\x7e]{1,2000}",
      },
    ],
    answer: ANY_2XX,
    timeLimitMs: 15_000,
    timeLimitIs: "published",
    retry: retriesFor(HOUR_SECONDS, 50),
  },
];
