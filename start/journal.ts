import { createHash } from "node:crypto";
import type { Arrival } from "./origin.ts";
import type { Webhook } from "./webhooks.ts";

/** A promise that Spillway made: it took this webhook, so these bytes must come out. */
interface Promised {
  readonly webhook: Webhook;
  /** As the answer named it; null where the provider's form of answer has no room for it. */
  readonly eventId: string | null;
}

/**
 * What was promised, and what came of it. Bodies are told apart by their SHA-256, so "arrived" means: exactly these
 * bytes. Each webhook of the demonstration has a body of its own.
 */
export class Journal {
  readonly #promised = new Map<string, Promised>();
  readonly #refused = new Map<string, Webhook>();
  readonly #arrivedIds = new Map<string, readonly string[]>();

  /** Spillway answered 2xx for a new event. */
  promise(webhook: Webhook, eventId: string | null): void {
    this.#promised.set(digest(webhook.body), { webhook, eventId });
  }

  /** Spillway refused it: it must not come out, unless the sender tries again and is accepted. */
  refuse(webhook: Webhook): void {
    this.#refused.set(digest(webhook.body), webhook);
  }

  arrive(arrival: Arrival): void {
    const key = digest(arrival.body);
    this.#arrivedIds.set(key, [...(this.#arrivedIds.get(key) ?? []), arrival.id]);
  }

  get promisedCount(): number {
    return this.#promised.size;
  }

  /** How many of the promised events have arrived at least once. */
  get arrivedCount(): number {
    return [...this.#promised.keys()].filter((key) => this.#arrivedIds.has(key)).length;
  }

  /** Arrivals beyond the first of their event. */
  get repeatCount(): number {
    return [...this.#arrivedIds.values()].reduce((sum, ids) => sum + ids.length - 1, 0);
  }

  hasArrived(webhook: Webhook): boolean {
    return this.#arrivedIds.has(digest(webhook.body));
  }

  /** Everything that is not as it was promised, in words; empty when all is well. */
  complaints(): readonly string[] {
    const complaints: string[] = [];
    for (const [key, { webhook, eventId }] of this.#promised) {
      const name = eventId ?? `${webhook.source} ${webhook.type}`;
      const ids = this.#arrivedIds.get(key);
      if (ids === undefined) complaints.push(`${name} was accepted and did not arrive with the bytes that were sent`);
      else if (new Set(ids).size > 1) complaints.push(`${name} arrived under several ids: ${ids.join(", ")}`);
      else if (eventId !== null && ids[0] !== eventId) complaints.push(`${name} arrived as ${ids[0]}`);
    }
    for (const [key, webhook] of this.#refused) {
      if (!this.#promised.has(key) && this.#arrivedIds.has(key)) {
        complaints.push(`a ${webhook.source} ${webhook.type} was refused and arrived all the same`);
      }
    }
    return complaints;
  }
}

function digest(body: Uint8Array): string {
  return createHash("sha256").update(body).digest("hex");
}
