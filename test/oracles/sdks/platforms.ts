import {
  NO_EMPTY_BODY,
  NOW_SECONDS,
  type Oracle,
  READS_JSON,
  READS_TEXT,
  REWRITES_JSON,
  sdk,
  sdkFile,
  TAKES_ANY_TIME,
  TAKES_THE_FUTURE,
} from "../oracle.ts";

type VerifyBody = (body: string | Buffer, headers: object, secret: string) => void | Promise<void>;

/** Code, commerce, content and identity. */
export const platformOracles: readonly Oracle[] = [
  {
    provider: "github",
    package: "@octokit/webhooks-methods",
    async accepts({ text, headers }, secret) {
      const { verify } = sdkFile<{ verify(secret: string, body: string, signature: string): Promise<boolean> }>(
        "@octokit/webhooks-methods/dist-node/index.js",
      );
      return verify(secret, text, headers["x-hub-signature-256"] ?? "");
    },
    differs: { ...READS_TEXT, ...NO_EMPTY_BODY },
  },
  {
    provider: "linear",
    package: "@linear/sdk",
    signer: { body: `{"action":"create","type":"Issue","webhookTimestamp":${NOW_SECONDS * 1000}}` },
    accepts({ body, headers }, secret) {
      const { LinearWebhookClient } = sdkFile<{
        LinearWebhookClient: new (secret: string) => { verify(body: Buffer, signature: string): boolean };
      }>("@linear/sdk/dist/webhooks/index.mjs");
      return new LinearWebhookClient(secret).verify(body, headers["linear-signature"] ?? "");
    },
    differs: READS_JSON,
  },
  {
    provider: "shopify",
    package: "@shopify/shopify-api",
    headers: shopifyHeaders("x-shopify-"),
    accepts: shopify,
    differs: { ...READS_TEXT, ...NO_EMPTY_BODY },
  },
  {
    provider: "shopify-events",
    package: "@shopify/shopify-api",
    headers: shopifyHeaders("shopify-"),
    accepts: shopify,
    differs: { ...READS_TEXT, ...NO_EMPTY_BODY },
  },
  {
    provider: "contentful",
    package: "@contentful/node-apps-toolkit",
    signer: { secret: "0123456789abcdef".repeat(4), otherSecret: "fedcba9876543210".repeat(4) },
    accepts({ method, url, text, headers }, secret) {
      const { verifyRequest } = sdk<{ verifyRequest(secret: string, request: object, seconds: number): boolean }>(
        "@contentful/node-apps-toolkit",
      );
      return verifyRequest(secret, { method, path: new URL(url).pathname, headers, body: text }, 30);
    },
    differs: { ...READS_TEXT, ...TAKES_THE_FUTURE },
  },
  {
    provider: "sanity",
    package: "@sanity/webhook",
    accepts({ text, headers }, secret) {
      const { isValidSignature } = sdk<{
        isValidSignature(body: string, signature: string, secret: string): Promise<boolean>;
      }>("@sanity/webhook");
      return isValidSignature(text, headers["sanity-webhook-signature"] ?? "", secret);
    },
    differs: { ...READS_TEXT, ...NO_EMPTY_BODY },
  },
  {
    provider: "webflow",
    package: "webflow-api",
    accepts({ text, headers }, secret) {
      const { WebflowClient } = sdk<{
        WebflowClient: new (options: object) => { webhooks: { verifySignature(request: object): Promise<boolean> } };
      }>("webflow-api");
      return new WebflowClient({ accessToken: "test" }).webhooks.verifySignature({ headers, body: text, secret });
    },
    differs: { ...READS_TEXT, ...TAKES_ANY_TIME },
  },
  cloudinary("cloudinary", "sha1"),
  cloudinary("cloudinary-sha256", "sha256"),
  {
    provider: "mux",
    package: "@mux/mux-node",
    async accepts({ text, headers }, secret) {
      const Mux = sdk<{ default: new (options: object) => { webhooks: { verifySignature: VerifyBody } } }>(
        "@mux/mux-node",
      );
      await new Mux.default({ tokenId: "t", tokenSecret: "s" }).webhooks.verifySignature(text, headers, secret);
      return true;
    },
    differs: { ...READS_TEXT, ...TAKES_THE_FUTURE },
  },
  {
    provider: "notion",
    package: "@notionhq/client",
    accepts({ body, headers }, verificationToken) {
      const { verifyWebhookSignature } = sdk<{ verifyWebhookSignature(request: object): Promise<boolean> }>(
        "@notionhq/client",
      );
      return verifyWebhookSignature({ body, signature: headers["x-notion-signature"], verificationToken });
    },
  },
  {
    provider: "box",
    package: "box-node-sdk",
    headers: { "box-signature-version": "1", "box-signature-algorithm": "HmacSHA256" },
    accepts({ text, headers }, secret) {
      const { WebhooksManager } = sdk<{
        WebhooksManager: {
          validateMessage(body: string, headers: object, primaryKey: string): Promise<boolean>;
        };
      }>("box-node-sdk/lib/managers/webhooks");
      return WebhooksManager.validateMessage(text, headers, secret);
    },
    differs: READS_TEXT,
  },
  {
    provider: "workos",
    package: "@workos-inc/node",
    async accepts({ text, headers }, secret) {
      const { WorkOS } = sdk<{
        WorkOS: new (key: string) => { webhooks: { verifyHeader(request: object): Promise<boolean> } };
      }>("@workos-inc/node");
      const payload: unknown = JSON.parse(text);
      return new WorkOS("sk_test").webhooks.verifyHeader({ payload, sigHeader: headers["workos-signature"], secret });
    },
    differs: {
      ...READS_JSON,
      ...TAKES_THE_FUTURE,
      ...REWRITES_JSON,
    },
  },
  {
    provider: "smartcar",
    package: "smartcar",
    accepts({ text, headers }, secret) {
      const { verifyPayload } = sdk<{ verifyPayload(token: string, signature: string, body: object): boolean }>(
        "smartcar",
      );
      return verifyPayload(secret, headers["sc-signature"] ?? "", JSON.parse(text) as object);
    },
    differs: {
      ...READS_JSON,
      ...REWRITES_JSON,
    },
  },
  {
    provider: "pusher",
    package: "pusher",
    accepts({ text, headers }, secret) {
      const Pusher = sdk<new (options: object) => { webhook(request: object): { isValid(): boolean } }>("pusher");
      const pusher = new Pusher({ appId: "1", key: "key-1", secret, cluster: "eu" });
      const sent = { ...headers, "x-pusher-key": "key-1", "content-type": "application/json" };
      return pusher.webhook({ headers: sent, rawBody: text }).isValid();
    },
    differs: READS_JSON,
  },
  {
    provider: "hookdeck",
    package: "@hookdeck/sdk",
    async accepts({ text, headers }, signingSecret) {
      const { verifyWebhookSignature } = sdk<{
        verifyWebhookSignature(request: object): Promise<{ isValidSignature: boolean }>;
      }>("@hookdeck/sdk/webhooks/helpers");
      return (await verifyWebhookSignature({ headers, rawBody: text, signingSecret })).isValidSignature;
    },
    differs: READS_TEXT,
  },
  {
    provider: "hook0",
    package: "hook0-client",
    accepts({ body, headers }, secret) {
      const { verifyWebhookSignature } = sdk<{
        verifyWebhookSignature(
          signature: string,
          body: Buffer,
          headers: Headers,
          secret: string,
          tolerance: number,
          now: Date,
        ): boolean;
      }>("hook0-client");
      const now = new Date(Date.now());
      return verifyWebhookSignature(headers["x-hook0-signature"] ?? "", body, new Headers(headers), secret, 300, now);
    },
  },
  {
    provider: "elevenlabs",
    package: "@elevenlabs/elevenlabs-js",
    async accepts({ text, headers }, secret) {
      const { ElevenLabsClient } = sdk<{
        ElevenLabsClient: new (
          options: object,
        ) => {
          webhooks: { constructEvent(body: string, signature: string | undefined, secret: string): Promise<unknown> };
        };
      }>("@elevenlabs/elevenlabs-js");
      const { webhooks } = new ElevenLabsClient({ apiKey: "test" });
      await webhooks.constructEvent(text, headers["elevenlabs-signature"], secret);
      return true;
    },
    differs: { ...READS_JSON, ...TAKES_THE_FUTURE },
  },
  {
    provider: "retell",
    package: "retell-sdk",
    accepts({ text, headers }, secret) {
      const { verify } = sdk<{
        verify(body: string, secret: string, signature: string): Promise<boolean> | boolean;
      }>("retell-sdk/lib/webhook_auth");
      return verify(text, secret, headers["x-retell-signature"] ?? "");
    },
    differs: READS_TEXT,
  },
];

/** The headers without which the package takes no request, whatever its signature. */
function shopifyHeaders(prefix: "x-shopify-" | "shopify-"): NonNullable<Oracle["headers"]> {
  return {
    [`${prefix}topic`]: "orders/create",
    [`${prefix}shop-domain`]: "example.myshopify.com",
    [`${prefix}api-version`]: "2026-10",
    [`${prefix}webhook-id`]: "b54557e4-bdd9-4b37-8a5f-bf7d70bcd043",
    [`${prefix}event-id`]: "98880550-7158-44d4-b7cd-2c97c8a091b5",
  };
}

async function shopify({ text, headers }: Parameters<Oracle["accepts"]>[0], secret: string): Promise<boolean> {
  sdk("@shopify/shopify-api/adapters/node");
  const { shopifyApi, LogSeverity } = sdk<{
    shopifyApi(options: object): { webhooks: { validate(request: object): Promise<{ valid: boolean }> } };
    LogSeverity: { Error: number };
  }>("@shopify/shopify-api");
  const api = shopifyApi({
    apiKey: "key",
    apiSecretKey: secret,
    apiVersion: "2026-10",
    hostName: "app.example.com",
    isEmbeddedApp: true,
    logger: { level: LogSeverity.Error },
  });
  const rawRequest = { method: "POST", url: "/in/tok", headers };
  return (await api.webhooks.validate({ rawBody: text, rawRequest, rawResponse: {} })).valid;
}

function cloudinary(provider: string, hash: "sha1" | "sha256"): Oracle {
  return {
    provider,
    package: "cloudinary",
    accepts({ text, headers }, secret) {
      const { v2 } = sdk<{
        v2: {
          config(options: object): void;
          utils: { verifyNotificationSignature(body: string, seconds: number, signature: string | undefined): boolean };
        };
      }>("cloudinary");
      v2.config({ cloud_name: "demo", api_key: "1", api_secret: secret, signature_algorithm: hash });
      const seconds = Number(headers["x-cld-timestamp"]);
      return v2.utils.verifyNotificationSignature(text, seconds, headers["x-cld-signature"]);
    },
    differs: { ...READS_TEXT, ...TAKES_THE_FUTURE },
  };
}
