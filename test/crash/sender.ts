import { createHmac, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Site } from "./site.ts";

export const SOURCE_SECRET = "crash-secret-0123456789abcdef";

/** What came of one request: the status, or null when the connection broke before an answer. */
export async function sendEvent(site: Site, tenant: string, id: string): Promise<number | null> {
  const body = JSON.stringify({ id, type: "order.paid", note: "n".repeat(500) });
  try {
    const response = await fetch(`${site.origin}/webhook/${tenant}`, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        "X-Event-ID": id,
        "X-Signature": createHmac("sha256", SOURCE_SECRET).update(body).digest("hex"),
      },
      body,
    });
    await response.arrayBuffer();
    return response.status;
  } catch {
    return null;
  }
}

/** Senders that behave as providers do: a webhook that was not acknowledged is sent again, unchanged. */
export class Senders {
  /** Ids that were answered with 200 or 202. */
  readonly acknowledged = new Set<string>();
  readonly #site: Site;
  readonly #tenant: string;
  #isStopping = false;
  #loops: Promise<void>[] = [];

  constructor(site: Site, tenant: string) {
    this.#site = site;
    this.#tenant = tenant;
  }

  start(count: number): void {
    this.#loops = Array.from({ length: count }, () => this.#loop());
  }

  /** Every sender finishes the event it is at. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.#loops);
  }

  async #loop(): Promise<void> {
    while (!this.#isStopping) {
      const id = randomUUID();
      while (!(await this.#isAcknowledged(id))) await sleep(20);
      this.acknowledged.add(id);
    }
  }

  async #isAcknowledged(id: string): Promise<boolean> {
    const status = await sendEvent(this.#site, this.#tenant, id);
    return status === 200 || status === 202;
  }
}
