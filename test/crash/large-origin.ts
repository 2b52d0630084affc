import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server } from "node:http";

/** One event as it arrived. */
export interface Arrived {
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly atMs: number;
}

/** An origin on 127.0.0.1 that takes everything and keeps of each event only what its bytes were. */
export class LargeOrigin {
  readonly url: string;
  /** Each event, as often as it came, by event id. */
  readonly arrived = new Map<string, Arrived[]>();
  readonly #server: Server;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.url = `http://127.0.0.1:${port}/events`;
  }

  static async start(): Promise<LargeOrigin> {
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("the origin has no port");
    const origin = new LargeOrigin(server, address.port);
    server.on("request", async (request, response) => {
      try {
        await origin.#take(request);
        response.writeHead(204).end();
      } catch {
        response.writeHead(500).end();
      }
    });
    return origin;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #take(request: IncomingMessage): Promise<void> {
    const single = request.headers["spillway-event-id"];
    if (typeof single === "string") {
      const hash = createHash("sha256");
      let sizeBytes = 0;
      for await (const chunk of request as AsyncIterable<Buffer>) {
        hash.update(chunk);
        sizeBytes += chunk.length;
      }
      checkLength(request.headers, sizeBytes);
      this.#note(single, hash.digest("hex"), sizeBytes);
      return;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const text = Buffer.concat(chunks);
    checkLength(request.headers, text.length);
    for (const event of (JSON.parse(text.toString("utf8")) as { events: BatchEvent[] }).events) {
      const body =
        event.bodyBase64 === undefined
          ? Buffer.from(event.body ?? "", "utf8")
          : Buffer.from(event.bodyBase64, "base64");
      this.#note(event.id, createHash("sha256").update(body).digest("hex"), body.length);
    }
  }

  #note(id: string, sha256: string, sizeBytes: number): void {
    const all = this.arrived.get(id) ?? [];
    all.push({ sha256, sizeBytes, atMs: performance.now() });
    this.arrived.set(id, all);
  }
}

interface BatchEvent {
  readonly id: string;
  readonly body?: string;
  readonly bodyBase64?: string;
}

/** A large body is not sent chunked: its length is known before it is sent [V25]. */
function checkLength(headers: IncomingHttpHeaders, sizeBytes: number): void {
  if (headers["content-length"] !== String(sizeBytes)) throw new Error("the length is not the one that was announced");
}
