import type { EventView, TenantStats } from "../src/buffer/contract.ts";
import { StartFailure } from "./failure.ts";
import type { Settings } from "./state.ts";
import type { Webhook } from "./webhooks.ts";

export const TENANT = "demo";
export const DESTINATION = "origin";

/** What a sender sees of an answer. */
export interface Answer {
  readonly status: number;
  /** `buffered`, `deduplicated`, …; null where the provider is answered in another form. */
  readonly word: string | null;
  readonly eventId: string | null;
  readonly retryAfterSeconds: number | null;
  readonly text: string;
}

/** The running Spillway, seen from outside: over HTTP, as senders and operators do. */
export class Spillway {
  readonly #url: URL;
  readonly #adminToken: string;

  constructor(url: URL, adminToken: string) {
    this.#url = url;
    this.#adminToken = adminToken;
  }

  addressOf(path: string): string {
    return new URL(path, this.#url).href;
  }

  async post(webhook: Webhook): Promise<Answer> {
    const address = this.addressOf(`/webhook/${TENANT}/${webhook.source}`);
    const response = await fetch(address, { method: "POST", headers: webhook.headers, body: webhook.body });
    const text = await response.text();
    const said = parseObject(text);
    const retryAfter = response.headers.get("retry-after");
    return {
      status: response.status,
      word: stringOf(said.status) ?? stringOf(said.code),
      eventId: stringOf(said.eventId),
      retryAfterSeconds: retryAfter === null ? null : Number(retryAfter),
      text,
    };
  }

  /** Creates the tenant, or gives it this configuration; the origin's address changes with each start. */
  async configure(settings: Settings, originUrl: string): Promise<void> {
    await this.#admin("PUT", "", {
      sources: {
        stripe: { provider: "stripe", secrets: [settings.stripeSecret] },
        github: { provider: "github", secrets: [settings.githubSecret] },
        shopify: { provider: "shopify", secrets: [settings.shopifySecret] },
        slack: { provider: "slack", secrets: [settings.slackSecret] },
        internal: { provider: "generic", secrets: [settings.internalSecret] },
      },
      rateLimit: { events: 60, windowSeconds: 4 },
      destinations: {
        [DESTINATION]: {
          kind: "http",
          url: originUrl,
          bearerToken: settings.bearerToken,
          signingSecrets: [settings.signingSecret],
          // Everything much quicker than in earnest, so that a minute is enough to see it.
          batch: { maxEvents: 50, flushDelayMs: 300 },
          timeoutMs: 2_000,
          retry: { maxAttempts: 3, baseMs: 500, maxMs: 1_000 },
          circuitBreaker: { openMs: 1_000, openMsMax: 1_500 },
        },
      },
    });
  }

  async stats(): Promise<TenantStats> {
    return (await this.#admin("GET", "/stats")) as TenantStats;
  }

  async event(eventId: string): Promise<EventView> {
    return (await this.#admin("GET", `/events/${encodeURIComponent(eventId)}`)) as EventView;
  }

  async redrive(eventId: string): Promise<void> {
    await this.#admin("POST", "/dead-letters/redrive", { destination: DESTINATION, ids: [eventId] });
  }

  async #admin(method: string, path: string, body?: unknown): Promise<unknown> {
    const response = await fetch(this.addressOf(`/admin/tenants/${TENANT}${path}`), {
      method,
      headers: { authorization: `Bearer ${this.#adminToken}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (response.ok) return parseObject(text);
    throw new StartFailure(
      `The admin API answered ${response.status} to ${method} /admin/tenants/${TENANT}${path}: ${text}`,
      "Stored state of another version may be in the way: delete the folder .spillway and start again.",
    );
  }
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

function stringOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
