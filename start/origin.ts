import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";
import type { Settings } from "./state.ts";

/** An event as it came out at the other end. */
export interface Arrival {
  readonly id: string;
  readonly source: string;
  readonly type: string | null;
  readonly attempt: number;
  readonly body: Uint8Array;
}

/** What the origin did with one request; shown as it happens. */
export interface OriginReport {
  readonly status: number;
  readonly what: "processed" | "crashed" | "bad-signature";
  readonly arrivals: readonly Arrival[];
}

interface BatchElement {
  readonly id: string;
  readonly source: string;
  readonly type: string | null;
  readonly attempt: number;
  readonly body?: string;
  readonly bodyBase64?: string;
}

/**
 * An application that takes batches from Spillway: verifies each with the stock `standardwebhooks` library, processes
 * all of it or nothing, and can be taken down or given a bug.
 */
export class DemoOrigin {
  readonly #verifier: Webhook;
  readonly #authorization: string;
  readonly #onReport: (report: OriginReport) => void;
  #server: Server | null = null;
  #port = 0;
  /** The bug: an event that makes the application crash. */
  #isPoison: (arrival: Arrival) => boolean = () => false;

  constructor(settings: Settings, onReport: (report: OriginReport) => void) {
    this.#verifier = new Webhook(settings.signingSecret);
    this.#authorization = `Bearer ${settings.bearerToken}`;
    this.#onReport = onReport;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/internal/webhooks/batch`;
  }

  /** Listens; after `stop` on the same port again. */
  async start(): Promise<void> {
    const server = createServer((request, response) => void this.#answer(request, response));
    server.listen(this.#port, "127.0.0.1");
    await once(server, "listening");
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  /** Nothing listens any more, as after a crash of the machine. */
  async stop(): Promise<void> {
    const server = this.#server;
    if (server === null) return;
    this.#server = null;
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  }

  plantBug(isPoison: (arrival: Arrival) => boolean): void {
    this.#isPoison = isPoison;
  }

  fixBug(): void {
    this.#isPoison = () => false;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const report = this.#process(request, await readBody(request));
    this.#onReport(report);
    response.writeHead(report.status, { "content-type": "application/json" }).end("{}");
  }

  #process(request: IncomingMessage, payload: string): OriginReport {
    let batch: { readonly events: readonly BatchElement[] };
    try {
      if (request.headers.authorization !== this.#authorization) throw new Error("another token");
      batch = this.#verifier.verify(payload, headersOf(request)) as typeof batch;
    } catch {
      return { status: 401, what: "bad-signature", arrivals: [] };
    }
    const arrivals = batch.events.map(arrivalOf);
    if (arrivals.some(this.#isPoison)) return { status: 500, what: "crashed", arrivals };
    return { status: 200, what: "processed", arrivals };
  }
}

function arrivalOf(element: BatchElement): Arrival {
  const { id, source, type, attempt, body, bodyBase64 } = element;
  const bytes = body === undefined ? Buffer.from(bodyBase64 ?? "", "base64") : Buffer.from(body, "utf8");
  return { id, source, type, attempt, body: bytes };
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

function headersOf(request: IncomingMessage): Record<string, string> {
  return Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
}
