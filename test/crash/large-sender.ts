import { createHash, createHmac, randomUUID } from "node:crypto";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { SOURCE_SECRET } from "./sender.ts";
import type { Site } from "./site.ts";

const TRIES_MAX = 20;
const PART_BYTES = 65_536;

/** A provider that sends bodies of any size to the tenant `acme`, each until it is accepted. */
export class LargeSender {
  /** SHA-256 of each body that was accepted, by event id. */
  readonly accepted = new Map<string, string>();
  readonly #site: Site;
  /** Whether it says how long a body is before it sends it. */
  readonly #announces: boolean;

  constructor(site: Site, announces = true) {
    this.#site = site;
    this.#announces = announces;
  }

  /** Answers the event's id. */
  async post(body: Buffer): Promise<string> {
    const id = randomUUID();
    const headers = {
      "X-Event-ID": id,
      "X-Signature": createHmac("sha256", SOURCE_SECRET).update(body).digest("hex"),
      ...(this.#announces ? { "Content-Length": body.length } : {}),
    };
    for (let tries = 1; ; tries += 1) {
      const status = await this.#send(headers, body);
      if (status === 200 || status === 202) break;
      if (status !== 503 || tries === TRIES_MAX) throw new Error(`a webhook was answered ${status}`);
      await sleep(500);
    }
    this.accepted.set(`shop:${id}`, createHash("sha256").update(body).digest("hex"));
    return `shop:${id}`;
  }

  async #send(headers: Record<string, string | number>, body: Buffer): Promise<number | undefined> {
    const outgoing = request(`${this.#site.origin}/webhook/acme`, { method: "POST", headers });
    const answered = once(outgoing, "response") as Promise<[IncomingMessage]>;
    for (let from = 0; from < body.length; from += PART_BYTES) outgoing.write(body.subarray(from, from + PART_BYTES));
    outgoing.end();
    const [response] = await answered;
    response.resume();
    await once(response, "end");
    return response.statusCode;
  }
}
