import { type Oracle, READS_JSON, READS_TEXT, sdk, TAKES_THE_FUTURE } from "../oracle.ts";

interface StripeWebhooks {
  generateTestHeaderString(options: { payload: string; secret: string; timestamp: number }): string;
  signature: {
    verifyHeader(body: Buffer | string, header: string | undefined, secret: string, toleranceSeconds: number): boolean;
  };
}

interface Razorpay {
  validateWebhookSignature(body: string | Buffer, signature: string | undefined, secret: string): boolean;
}

interface Braintree {
  new (
    options: object,
  ): {
    webhookNotification: { parse(signature: string, payload: string): Promise<unknown> };
  };
}

/** Payment providers. */
export const paymentOracles: readonly Oracle[] = [
  {
    provider: "stripe",
    package: "stripe",
    sign(secret, { body, seconds }) {
      const payload = Buffer.from(body).toString();
      return {
        headers: { "stripe-signature": stripe().generateTestHeaderString({ payload, secret, timestamp: seconds }) },
      };
    },
    accepts: ({ body, headers }, secret) =>
      stripe().signature.verifyHeader(body, headers["stripe-signature"], secret, 300),
    differs: { ...READS_TEXT, ...TAKES_THE_FUTURE },
  },
  {
    provider: "paddle",
    package: "@paddle/paddle-node-sdk",
    toleranceSeconds: 5,
    accepts({ text, headers }, secret) {
      const { Paddle } = sdk<{
        Paddle: new (
          key: string,
        ) => {
          webhooks: { isSignatureValid(body: string, secret: string, signature: string): Promise<boolean> };
        };
      }>("@paddle/paddle-node-sdk");
      return new Paddle("test").webhooks.isSignatureValid(text, secret, headers["paddle-signature"] ?? "");
    },
    differs: { ...READS_TEXT, ...TAKES_THE_FUTURE },
  },
  {
    provider: "razorpay",
    package: "razorpay",
    accepts: ({ text, headers }, secret) =>
      sdk<Razorpay>("razorpay").validateWebhookSignature(text, headers["x-razorpay-signature"], secret),
    differs: READS_TEXT,
  },
  {
    provider: "coinbase-commerce",
    package: "coinbase-commerce-node",
    accepts({ text, headers }, secret) {
      const { Webhook } = sdk<{
        Webhook: { verifySigHeader(body: string, signature: string | undefined, secret: string): boolean };
      }>("coinbase-commerce-node");
      return Webhook.verifySigHeader(text, headers["x-cc-webhook-signature"], secret);
    },
    differs: READS_TEXT,
  },
  {
    provider: "gocardless",
    package: "gocardless-nodejs",
    accepts({ body, headers }, secret) {
      const { verifySignature } = sdk<{
        verifySignature(body: Buffer | string, secret: string, signature: string | undefined): void;
      }>("gocardless-nodejs/webhooks");
      verifySignature(body, secret, headers["webhook-signature"]);
      return true;
    },
  },
  {
    provider: "orb",
    package: "orb-billing",
    accepts({ text, headers }, secret) {
      const Orb = sdk<{
        default: new (
          options: object,
        ) => {
          webhooks: { verifySignature(body: string, headers: object, secret: string): void };
        };
      }>("orb-billing").default;
      new Orb({ apiKey: "test" }).webhooks.verifySignature(text, headers, secret);
      return true;
    },
    differs: READS_TEXT,
  },
  {
    provider: "solidgate",
    package: "@solidgate/node-sdk",
    accepts({ text, headers }, secret) {
      const { Api } = sdk<{
        Api: new (publicKey: string, secretKey: string) => { _generateSignature(body: string): string };
      }>("@solidgate/node-sdk");
      return new Api("wh_pk_1", secret)._generateSignature(text) === headers.signature;
    },
    differs: READS_TEXT,
  },
  {
    provider: "fintoc",
    package: "fintoc",
    accepts({ body, headers }, secret) {
      const { WebhookSignature } = sdk<{
        WebhookSignature: { verifyHeader(body: Buffer, header: string | undefined, secret: string): void };
      }>("fintoc");
      WebhookSignature.verifyHeader(body, headers["fintoc-signature"], secret);
      return true;
    },
    differs: READS_TEXT,
  },
  {
    provider: "cashfree",
    package: "cashfree-pg",
    accepts({ text, headers }, secret) {
      const { Cashfree, CFEnvironment } = sdk<{
        Cashfree: new (
          environment: unknown,
          id: string,
          secret: string,
        ) => {
          PGVerifyWebhookSignature(signature: string | undefined, body: string, time: string | undefined): unknown;
        };
        CFEnvironment: { SANDBOX: unknown };
      }>("cashfree-pg");
      const cashfree = new Cashfree(CFEnvironment.SANDBOX, "app", secret);
      cashfree.PGVerifyWebhookSignature(headers["x-webhook-signature"], text, headers["x-webhook-timestamp"]);
      return true;
    },
    differs: READS_JSON,
  },
  {
    provider: "adyen-platform",
    package: "@adyen/api-library",
    accepts({ text, headers }, secret) {
      const { hmacValidator: Validator } = sdk<{ hmacValidator: AdyenValidatorClass }>("@adyen/api-library");
      return new Validator().validateHMACSignature(secret, headers.hmacsignature ?? "", text);
    },
    differs: READS_TEXT,
  },
  {
    provider: "adyen",
    package: "@adyen/api-library",
    accepts({ text }, secret) {
      const { hmacValidator: Validator } = sdk<{ hmacValidator: AdyenValidatorClass }>("@adyen/api-library");
      const { notificationItems } = JSON.parse(text) as {
        notificationItems: readonly { readonly NotificationRequestItem: object }[];
      };
      const validator = new Validator();
      return notificationItems.every((item) => validator.validateHMAC(item.NotificationRequestItem, secret));
    },
  },
  {
    provider: "braintree",
    package: "braintree",
    signer: { params: { publicKey: "public-1" } },
    async accepts({ text, params }, secret) {
      const { BraintreeGateway, Environment } = sdk<{
        BraintreeGateway: Braintree;
        Environment: { Sandbox: unknown };
      }>("braintree");
      const gateway = new BraintreeGateway({
        environment: Environment.Sandbox,
        merchantId: "merchant",
        publicKey: params.publicKey,
        privateKey: secret,
      });
      const form = new URLSearchParams(text);
      await gateway.webhookNotification.parse(form.get("bt_signature") ?? "", form.get("bt_payload") ?? "");
      return true;
    },
  },
];

interface AdyenValidatorClass {
  new (): {
    validateHMAC(item: object, key: string): boolean;
    validateHMACSignature(key: string, signature: string, body: string): boolean;
  };
}

function stripe(): StripeWebhooks {
  const Stripe = sdk<new (key: string) => { webhooks: StripeWebhooks }>("stripe");
  return new Stripe("sk_test_1").webhooks;
}
