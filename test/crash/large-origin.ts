import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";

/** One event as it arrived. */
interface Arrival {
  readonly sha256: string;
  readonly atMs: number;
}

/** One request as it arrived; looked into when the run is over, so that the origin is never what is waited for. */
interface Received {
  /** The event, where the request is that event alone (format `single`). */
  readonly eventId: string | null;
  readonly body: Buffer;
  readonly atMs: number;
}

interface BatchEvent {
  readonly id: string;
  readonly body?: string;
  readonly bodyBase64?: string;
}

/** An origin on 127.0.0.1 that takes everything of a length that was announced, and says afterwards what it was. */
export class LargeOrigin {
  readonly url: string;
  readonly #server: Server;
  readonly #received: Received[] = [];

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
      const isTaken = await origin.#take(request).catch(() => false);
      response.writeHead(isTaken ? 204 : 500).end();
    });
    return origin;
  }

  /** Each event that arrived, as often as it did, by event id. */
  arrivals(): ReadonlyMap<string, readonly Arrival[]> {
    const all = new Map<string, Arrival[]>();
    for (const { eventId, body, atMs } of this.#received) {
      const events = eventId === null ? eventsOf(body) : [[eventId, body] as const];
      for (const [id, bytes] of events) {
        const sha256 = createHash("sha256").update(bytes).digest("hex");
        all.set(id, [...(all.get(id) ?? []), { sha256, atMs }]);
      }
    }
    return all;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #take(request: IncomingMessage): Promise<boolean> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    if (request.headers["content-length"] !== String(body.length)) return false;
    const eventId = request.headers["spillway-event-id"];
    this.#received.push({ eventId: typeof eventId === "string" ? eventId : null, body, atMs: performance.now() });
    return true;
  }
}

/** The events of a batch with their exact bytes [V2]. */
function eventsOf(batch: Buffer): (readonly [id: string, bytes: Buffer])[] {
  const { events } = JSON.parse(batch.toString("utf8")) as { readonly events: readonly BatchEvent[] };
  return events.map(({ id, body = "", bodyBase64 }) => [
    id,
    bodyBase64 === undefined ? Buffer.from(body, "utf8") : Buffer.from(bodyBase64, "base64"),
  ]);
}
