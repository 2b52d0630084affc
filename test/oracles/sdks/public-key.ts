import { createHash, createPublicKey } from "node:crypto";
import {
  freshSdk,
  type Oracle,
  READS_JSON,
  READS_TEXT,
  REWRITES_JSON,
  type Received,
  sdk,
  TAKES_ANY_TIME,
} from "../oracle.ts";

interface SnsValidator {
  new (): { validate(message: string, done: (error: Error | null) => void): void };
}

interface SendGrid {
  EventWebhook: new () => {
    convertPublicKeyToECDSA(key: string): object;
    verifySignature(key: object, body: Buffer | string, signature: string, timestamp: string): boolean;
  };
}

interface Jose {
  importJWK(jwk: object, algorithm: string): Promise<CryptoKey>;
  jwtVerify(token: string, key: CryptoKey, options: object): Promise<{ payload: { request_body_sha256?: string } }>;
}

interface GoogleAuth {
  OAuth2Client: new () => {
    verifySignedJwtWithCertsAsync(
      token: string,
      keys: Readonly<Record<string, string>>,
      audience: string,
      issuers: readonly string[],
    ): Promise<{ getPayload(): { email?: string; email_verified?: boolean } | undefined }>;
  };
}

/** Public keys and signed tokens. */
export const publicKeyOracles: readonly Oracle[] = [
  {
    provider: "discord",
    package: "discord-interactions",
    accepts({ body, headers }, key) {
      const { verifyKey } = sdk<{
        verifyKey(body: Buffer, signature: string, timestamp: string, key: string): Promise<boolean>;
      }>("discord-interactions");
      return verifyKey(body, headers["x-signature-ed25519"] ?? "", headers["x-signature-timestamp"] ?? "", key);
    },
  },
  {
    provider: "telnyx",
    package: "telnyx",
    async accepts({ text, headers }, key) {
      const { TelnyxWebhook } = sdk<{
        TelnyxWebhook: new (key: string) => { verify(body: string, headers: object): Promise<void> };
      }>("telnyx/lib/webhooks");
      await new TelnyxWebhook(key).verify(text, headers);
      return true;
    },
    differs: READS_TEXT,
  },
  {
    provider: "sendgrid",
    package: "@sendgrid/eventwebhook",
    accepts({ body, headers }, key) {
      const { EventWebhook } = sdk<SendGrid>("@sendgrid/eventwebhook");
      const webhook = new EventWebhook();
      return webhook.verifySignature(
        webhook.convertPublicKeyToECDSA(key),
        body,
        headers["x-twilio-email-event-webhook-signature"] ?? "",
        headers["x-twilio-email-event-webhook-timestamp"] ?? "",
      );
    },
    differs: { ...READS_TEXT, ...TAKES_ANY_TIME },
  },
  {
    provider: "plaid",
    package: "jose",
    async accepts({ body, headers }, key) {
      const { importJWK, jwtVerify } = sdk<Jose>("jose");
      const token = headers["plaid-verification"] ?? "";
      const options = { algorithms: ["ES256"], maxTokenAge: "5 min" };
      const { payload } = await jwtVerify(token, await importJWK(JSON.parse(key) as object, "ES256"), options);
      return payload.request_body_sha256 === createHash("sha256").update(body).digest("hex");
    },
  },
  {
    provider: "google-pubsub",
    package: "google-auth-library",
    signer: { params: { email: "p@x", audience: "a" } },
    async accepts({ headers, params }, key) {
      const { OAuth2Client } = sdk<GoogleAuth>("google-auth-library");
      const token = (headers.authorization ?? "").replace(/^Bearer /, "");
      const issuers = ["https://accounts.google.com", "accounts.google.com"];
      const ticket = await new OAuth2Client().verifySignedJwtWithCertsAsync(
        token,
        { k1: key },
        params.audience ?? "",
        issuers,
      );
      const claims = ticket.getPayload();
      return claims !== undefined && claims.email === params.email && claims.email_verified === true;
    },
  },
  {
    provider: "monday",
    package: "jsonwebtoken",
    accepts({ headers }, secret) {
      const { verify } = sdk<{ verify(token: string, secret: string, options: object): unknown }>("jsonwebtoken");
      verify(headers.authorization ?? "", secret, { algorithms: ["HS256"] });
      return true;
    },
  },
  {
    provider: "ebay",
    package: "event-notification-nodejs-sdk",
    async accepts({ text, headers }, key) {
      // The package asks eBay for the key; here it gets the test's.
      const client = sdk<{ getPublicKey: () => Promise<{ key: string }> }>("event-notification-nodejs-sdk/lib/client");
      client.getPublicKey = () => Promise.resolve({ key });
      const { validateSignature } = sdk<{
        validateSignature(message: object, signature: string, config: object): Promise<boolean>;
      }>("event-notification-nodejs-sdk/lib/validator");
      return validateSignature(JSON.parse(text) as object, headers["x-ebay-signature"] ?? "", {});
    },
    differs: { ...READS_JSON, ...REWRITES_JSON },
  },
  {
    provider: "aws-sns",
    package: "sns-validator",
    accepts: ({ text }, key) => snsAccepts(text, key),
  },
];

/** The package fetches the certificate itself; here it gets the key from the test in place of the network. */
function snsAccepts(text: Received["text"], key: string): Promise<boolean> {
  const https = sdk<{ get: unknown }>("node:https");
  const original = https.get;
  const pem = createPublicKey(key).export({ type: "spki", format: "pem" });
  https.get = (_url: string, answered: (response: object) => void) => {
    const response = {
      statusCode: 200,
      on(event: string, handle: (data: Buffer) => void) {
        if (event === "data") handle(Buffer.from(pem));
        if (event === "end") handle(Buffer.alloc(0));
        return response;
      },
    };
    answered(response);
    return { on: () => undefined };
  };
  const Validator = freshSdk<SnsValidator>("sns-validator");
  return new Promise((resolve) => {
    new Validator().validate(text, (error) => resolve(error === null));
  }).finally(() => {
    https.get = original;
  }) as Promise<boolean>;
}
