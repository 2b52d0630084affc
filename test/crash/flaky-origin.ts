import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";

/** What the origin does with one request. */
export type Mood = "accept" | "fail" | "drop";

/** One batch as it came in, in the order of arrival. */
interface Received {
  readonly ids: readonly string[];
}

/** An origin on 127.0.0.1 that takes batches, is not always well, and remembers what it accepted. */
export class FlakyOrigin {
  readonly url: string;
  /** How often each event was accepted, by event id. */
  readonly acceptedCounts = new Map<string, number>();
  readonly #server: Server;
  readonly #received: Received[] = [];
  readonly #mood: (requestIndex: number) => Mood;

  private constructor(server: Server, port: number, mood: (requestIndex: number) => Mood) {
    this.#server = server;
    this.#mood = mood;
    this.url = `http://127.0.0.1:${port}/batches`;
  }

  /** `mood` is asked once per request, with its index from 0. */
  static async start(mood: (requestIndex: number) => Mood): Promise<FlakyOrigin> {
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("the origin has no port");
    const origin = new FlakyOrigin(server, address.port, mood);
    server.on("request", (request, response) => void origin.#serve(request, response));
    return origin;
  }

  /** The ids of the last `requestCount` requests that came in, answered or not. */
  recentIds(requestCount: number): ReadonlySet<string> {
    return new Set(this.#received.slice(-requestCount).flatMap((request) => request.ids));
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = "";
    try {
      for await (const chunk of request.setEncoding("utf8")) text += chunk;
    } catch {
      return; // The runtime was killed while it sent this one.
    }
    const { events } = JSON.parse(text) as { readonly events: readonly { readonly id: string }[] };
    const ids = events.map((event) => event.id);
    const mood = this.#mood(this.#received.length);
    this.#received.push({ ids });
    if (mood === "drop") {
      request.socket.destroy();
      return;
    }
    if (mood === "fail") {
      response.writeHead(500).end("not now");
      return;
    }
    for (const id of ids) this.acceptedCounts.set(id, (this.acceptedCounts.get(id) ?? 0) + 1);
    response.writeHead(200, { "Content-Type": "application/json" }).end("{}");
  }
}
