import { NO_EMPTY_BODY, type Oracle, READS_JSON, READS_TEXT, sdk } from "../oracle.ts";

/** Standard Webhooks and those who use it. */

interface Verifier {
  sign(id: string, time: Date, payload: string): string;
  verify(payload: string | Buffer, headers: Readonly<Record<string, string>>): unknown;
}
type VerifierClass = new (secret: string) => Verifier;

const standard = (): VerifierClass => sdk<{ Webhook: VerifierClass }>("standardwebhooks").Webhook;
const svix = (): VerifierClass => sdk<{ Webhook: VerifierClass }>("svix").Webhook;

/** Signed and judged by the library that the provider's page tells its users to verify with. */
function byLibrary(provider: string, name: "standardwebhooks" | "svix"): Oracle {
  const library = name === "svix" ? svix : standard;
  const prefix = name === "svix" ? "svix" : "webhook";
  return {
    provider,
    package: name,
    sign(secret, { body, seconds }) {
      const id = "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W";
      const signature = new (library())(secret).sign(id, new Date(seconds * 1000), Buffer.from(body).toString());
      return {
        headers: {
          [`${prefix}-id`]: id,
          [`${prefix}-timestamp`]: String(seconds),
          [`${prefix}-signature`]: signature,
        },
      };
    },
    accepts({ body, headers }, secret) {
      new (library())(secret).verify(body, headers);
      return true;
    },
    differs: name === "svix" ? READS_JSON : READS_TEXT,
  };
}

interface ClientWithSignature {
  webhooks: { verifySignature(body: string, headers: object, secret: string): void | Promise<void> };
}

export const standardOracles: readonly Oracle[] = [
  byLibrary("standard-webhooks", "standardwebhooks"),
  byLibrary("gitlab", "standardwebhooks"),
  byLibrary("supabase", "standardwebhooks"),
  byLibrary("bigcommerce", "standardwebhooks"),
  byLibrary("svix", "svix"),
  byLibrary("clerk", "svix"),
  {
    provider: "resend",
    package: "resend",
    accepts({ headers, text }, secret) {
      const { Resend } = sdk<{ Resend: new (key: string) => { webhooks: { verify(request: object): unknown } } }>(
        "resend",
      );
      new Resend("re_test").webhooks.verify({
        payload: text,
        headers: {
          id: headers["svix-id"],
          timestamp: headers["svix-timestamp"],
          signature: headers["svix-signature"],
        },
        webhookSecret: secret,
      });
      return true;
    },
    differs: READS_TEXT,
  },
  {
    provider: "polar",
    package: "@polar-sh/sdk",
    accepts({ headers, text }, secret) {
      const { validateEvent, WebhookVerificationError } = sdk<{
        validateEvent(body: string, headers: object, secret: string): unknown;
        WebhookVerificationError: new () => Error;
      }>("@polar-sh/sdk/webhooks");
      try {
        validateEvent(text, headers, secret);
      } catch (error) {
        // A genuine event of a kind that this version of the package does not know.
        if (error instanceof WebhookVerificationError || !/Unknown event type|validat/i.test(String(error)))
          throw error;
      }
      return true;
    },
    differs: READS_TEXT,
  },
  {
    provider: "openai",
    package: "openai",
    async accepts({ headers, text }, secret) {
      const OpenAI = sdk<{ default: new (options: object) => ClientWithSignature }>("openai").default;
      await new OpenAI({ apiKey: "sk-test" }).webhooks.verifySignature(text, headers, secret);
      return true;
    },
    differs: READS_TEXT,
  },
  {
    provider: "lithic",
    package: "lithic",
    async accepts({ headers, text }, secret) {
      const Lithic = sdk<{ default: new (options: object) => ClientWithSignature }>("lithic").default;
      await new Lithic({ apiKey: "test" }).webhooks.verifySignature(text, headers, secret);
      return true;
    },
    differs: READS_TEXT,
  },
  {
    provider: "replicate",
    package: "replicate",
    accepts({ headers, text }, secret) {
      const { validateWebhook } = sdk<{ validateWebhook(request: object): Promise<boolean> }>("replicate");
      const [id, timestamp, signature] = ["id", "timestamp", "signature"].map((name) => headers[`webhook-${name}`]);
      return validateWebhook({ id, timestamp, signature, body: text, secret });
    },
    differs: {
      ...READS_TEXT,
      ...NO_EMPTY_BODY,
      "too old": "the package leaves the time to its caller",
      "from the future": "the package leaves the time to its caller",
    },
  },
  {
    provider: "liveblocks",
    package: "@liveblocks/node",
    signer: {
      body: '{"type":"storageUpdated","data":{"projectId":"p1","roomId":"room-1","updatedAt":"2026-11-29T00:00:00Z"}}',
    },
    accepts({ headers, text }, secret) {
      const { WebhookHandler } = sdk<{
        WebhookHandler: new (secret: string) => { verifyRequest(request: object): unknown };
      }>("@liveblocks/node");
      new WebhookHandler(secret).verifyRequest({ headers, rawBody: text });
      return true;
    },
    differs: READS_JSON,
  },
];
