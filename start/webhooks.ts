import { createHmac, randomUUID } from "node:crypto";
import { sign as githubSign } from "@octokit/webhooks-methods";
import Stripe from "stripe";
import type { Settings } from "./state.ts";

/** A request as a provider would make it: these bytes, under these headers. */
export interface Webhook {
  /** The id of the source in the tenant's configuration. */
  readonly source: "stripe" | "github" | "shopify" | "slack" | "internal";
  /** What the provider calls the event. */
  readonly type: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** Makes webhooks signed as their providers sign them, with the secrets that the tenant is configured with. */
export class Senders {
  readonly #settings: Settings;
  readonly #stripe = new Stripe("sk_test_unused");

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /** Signed by Stripe's own library. `sentAgoSeconds`: how old the signature claims to be. */
  async stripe(type: string, id = uniqueId("evt_"), sentAgoSeconds = 0): Promise<Webhook> {
    const payload = JSON.stringify(
      { id, object: "event", type, data: { object: { amount: 4200, currency: "eur" } } },
      null,
      2,
    );
    const signature = await this.#stripe.webhooks.generateTestHeaderStringAsync({
      payload,
      secret: this.#settings.stripeSecret,
      timestamp: nowSeconds() - sentAgoSeconds,
    });
    return webhook("stripe", type, payload, { "stripe-signature": signature });
  }

  /** Signed by GitHub's own library. */
  async github(type: string, secret = this.#settings.githubSecret): Promise<Webhook> {
    const payload = JSON.stringify({
      ref: "refs/heads/main",
      after: randomUUID(),
      repository: { full_name: "acme/shop" },
    });
    return webhook("github", type, payload, {
      "x-github-event": type,
      "x-github-delivery": randomUUID(),
      "x-hub-signature-256": await githubSign(secret, payload),
    });
  }

  /** Documented formula: base64 of HMAC-SHA256 over the body. */
  shopify(type: string): Webhook {
    const payload = JSON.stringify({ id: Date.now(), note: `order ${randomUUID()}`, total_price: "42.00" });
    return webhook("shopify", type, payload, {
      "x-shopify-topic": type,
      "x-shopify-shop-domain": "acme.myshopify.com",
      "x-shopify-event-id": randomUUID(),
      "x-shopify-webhook-id": randomUUID(),
      "x-shopify-hmac-sha256": hmac(this.#settings.shopifySecret, payload, "base64"),
    });
  }

  /** Documented formula: hex of HMAC-SHA256 over `v0:<timestamp>:<body>`. */
  slack(type: string): Webhook {
    const event = { type, user: "U061F7AUR", text: "hello" };
    return this.#slackRequest(type, { type: "event_callback", team_id: "T061EG9R6", event_id: uniqueId("Ev"), event });
  }

  /** Slack's question whether this address is ours; the answer is the challenge. */
  slackChallenge(challenge: string): Webhook {
    return this.#slackRequest("url_verification", { type: "url_verification", challenge, token: "unused" });
  }

  /** A service of one's own, which signs the body with hex HMAC-SHA256. */
  internal(
    type: string,
    body: string | Uint8Array = JSON.stringify({ n: randomUUID() }),
    id = uniqueId("job-"),
  ): Webhook {
    const contentType = typeof body === "string" ? "application/json" : "application/octet-stream";
    return webhook("internal", type, body, {
      "content-type": contentType,
      "x-event-id": id,
      "x-event-type": type,
      "x-signature": hmac(this.#settings.internalSecret, body, "hex"),
    });
  }

  #slackRequest(type: string, content: Readonly<Record<string, unknown>>): Webhook {
    const payload = JSON.stringify(content);
    const timestamp = String(nowSeconds());
    return webhook("slack", type, payload, {
      "x-slack-request-timestamp": timestamp,
      "x-slack-signature": `v0=${hmac(this.#settings.slackSecret, `v0:${timestamp}:${payload}`, "hex")}`,
    });
  }
}

/** Hex or base64 HMAC-SHA256, the secret's text being the key. */
export function hmac(secret: string, content: string | Uint8Array, encoding: "hex" | "base64"): string {
  return createHmac("sha256", secret).update(content).digest(encoding);
}

function webhook(
  source: Webhook["source"],
  type: string,
  body: string | Uint8Array,
  headers: Readonly<Record<string, string>>,
): Webhook {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  return { source, type, headers: { "content-type": "application/json", ...headers }, body: bytes };
}

function uniqueId(prefix: string): string {
  return prefix + randomUUID().replaceAll("-", "").slice(0, 20);
}

function nowSeconds(): number {
  return Math.floor(Date.now() / 1_000);
}
