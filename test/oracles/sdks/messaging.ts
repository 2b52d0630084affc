import { createHash } from "node:crypto";
import { type Oracle, READS_TEXT, type Received, sdk, TAKES_THE_FUTURE } from "../oracle.ts";

interface Twilio {
  getExpectedTwilioSignature(token: string, url: string, form: object): string;
  validateRequest(token: string, signature: string | undefined, url: string, form: object): boolean;
  validateRequestWithBody(token: string, signature: string | undefined, url: string, body: string): boolean;
}

type HubSpot = (options: {
  signature: string | undefined;
  clientSecret: string;
  requestBody: string;
  url?: string;
  method?: string;
  timestamp?: number;
  signatureVersion: "v1" | "v2" | "v3";
}) => boolean;

/** Messaging, customers and the providers that sign the address. */
export const messagingOracles: readonly Oracle[] = [
  {
    provider: "slack",
    package: "@slack/bolt",
    accepts({ text, headers }, signingSecret) {
      const { verifySlackRequest } = sdk<{ verifySlackRequest(options: object): void }>("@slack/bolt");
      verifySlackRequest({
        signingSecret,
        body: text,
        headers: {
          "x-slack-signature": headers["x-slack-signature"],
          "x-slack-request-timestamp": Number(headers["x-slack-request-timestamp"]),
        },
      });
      return true;
    },
    differs: { ...READS_TEXT, ...TAKES_THE_FUTURE },
  },
  {
    provider: "twilio",
    package: "twilio",
    sign(secret, { url, body }) {
      const signature = twilio().getExpectedTwilioSignature(secret, url, formOf(Buffer.from(body).toString()));
      return {
        headers: { "content-type": "application/x-www-form-urlencoded", "x-twilio-signature": signature },
      };
    },
    accepts: (request, secret) =>
      request.url.includes("bodySHA256=")
        ? twilioForms.acceptsJson(request, secret)
        : twilioForms.acceptsForm(request, secret),
  },
  {
    provider: "line",
    package: "@line/bot-sdk",
    accepts({ body, headers }, secret) {
      const { validateSignature } = sdk<{
        validateSignature(body: Buffer, secret: string, signature: string | undefined): boolean;
      }>("@line/bot-sdk");
      return validateSignature(body, secret, headers["x-line-signature"]);
    },
  },
  {
    provider: "getstream",
    package: "stream-chat",
    accepts({ body, headers }, secret) {
      const { StreamChat } = sdk<{
        StreamChat: new (
          key: string,
          secret: string,
        ) => {
          verifyWebhook(body: Buffer, signature: string | undefined): boolean;
        };
      }>("stream-chat");
      return new StreamChat("key", secret).verifyWebhook(body, headers["x-signature"]);
    },
  },
  {
    provider: "square",
    package: "square",
    accepts({ text, headers, url }, signatureKey) {
      const { WebhooksHelper } = sdk<{ WebhooksHelper: { verifySignature(request: object): Promise<boolean> } }>(
        "square",
      );
      return WebhooksHelper.verifySignature({
        requestBody: text,
        signatureHeader: headers["x-square-hmacsha256-signature"],
        signatureKey,
        notificationUrl: url,
      });
    },
    differs: READS_TEXT,
  },
  {
    provider: "hubspot-v1",
    package: "@hubspot/api-client",
    accepts: ({ text, headers }, clientSecret) =>
      hubspot()({
        signature: headers["x-hubspot-signature"],
        clientSecret,
        requestBody: text,
        signatureVersion: "v1",
      }),
    differs: READS_TEXT,
  },
  {
    provider: "hubspot-v2",
    package: "@hubspot/api-client",
    accepts: ({ method, text, headers, url }, clientSecret) =>
      hubspot()({
        signature: headers["x-hubspot-signature"],
        clientSecret,
        requestBody: text,
        url,
        method,
        signatureVersion: "v2",
      }),
    differs: READS_TEXT,
  },
  hubspotV3("hubspot-v3"),
  hubspotV3("hubspot"),
];

function hubspotV3(provider: string): Oracle {
  return {
    provider,
    package: "@hubspot/api-client",
    accepts: ({ method, text, headers, url }, clientSecret) =>
      hubspot()({
        signature: headers["x-hubspot-signature-v3"],
        clientSecret,
        requestBody: text,
        url,
        method,
        timestamp: Number(headers["x-hubspot-request-timestamp"]),
        signatureVersion: "v3",
      }),
    differs: { ...READS_TEXT, ...TAKES_THE_FUTURE },
  };
}

/** The other forms in which Twilio signs and is judged; `twilio.test.ts` goes through them. */
export const twilioForms = {
  formOf,
  sign: (secret: string, url: string, form: object): string => twilio().getExpectedTwilioSignature(secret, url, form),
  acceptsForm: ({ url, text, headers }: Received, secret: string): boolean =>
    twilio().validateRequest(secret, headers["x-twilio-signature"], url, formOf(text)),
  acceptsJson: ({ url, text, headers }: Received, secret: string): boolean =>
    twilio().validateRequestWithBody(secret, headers["x-twilio-signature"], url, text),
  bodyHash: (body: string): string => createHash("sha256").update(body).digest("hex"),
};

/** A form as web frameworks hand it to the package: repeated names become lists. */
function formOf(text: string): Record<string, string | string[]> {
  const form: Record<string, string | string[]> = {};
  const fields = new URLSearchParams(text);
  for (const name of fields.keys()) {
    const values = fields.getAll(name);
    form[name] = values.length > 1 ? values : (values[0] ?? "");
  }
  return form;
}

const twilio = (): Twilio => sdk<Twilio>("twilio/lib/webhooks/webhooks");
const hubspot = (): HubSpot => sdk<{ Signature: { isValid: HubSpot } }>("@hubspot/api-client").Signature.isValid;
