import { once } from "node:events";
import { createServer, type Server } from "node:http";

/**
 * An origin on 127.0.0.1 that, while it is bad, takes one event in ten and names the others in `batchItemFailures`, so
 * that they die of it; while it is well it takes all. It notes when each event first came.
 */
export class NamingOrigin {
  readonly url: string;
  isBad = true;
  /** When each event was first taken, in ms of `performance.now()`, and how often it was taken. */
  readonly arrivedAtMs = new Map<string, number>();
  readonly takenCounts = new Map<string, number>();
  readonly #server: Server;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.url = `http://127.0.0.1:${port}/batches`;
  }

  static async start(): Promise<NamingOrigin> {
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("the origin has no port");
    const origin = new NamingOrigin(server, address.port);
    server.on("request", (request, response) => {
      const arrivedAtMs = performance.now();
      let text = "";
      request.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
      request.on("end", () => response.writeHead(200).end(JSON.stringify(origin.#take(text, arrivedAtMs))));
    });
    return origin;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #take(text: string, atMs: number): unknown {
    const { events } = JSON.parse(text) as { readonly events: readonly { readonly id: string }[] };
    const failures: { itemIdentifier: string }[] = [];
    for (const [index, { id }] of events.entries()) {
      if (this.isBad && index % 10 !== 0) failures.push({ itemIdentifier: id });
      else {
        if (!this.arrivedAtMs.has(id)) this.arrivedAtMs.set(id, atMs);
        this.takenCounts.set(id, (this.takenCounts.get(id) ?? 0) + 1);
      }
    }
    return { batchItemFailures: failures };
  }
}
