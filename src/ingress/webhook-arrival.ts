import type { Arrival } from "../providers/arrival.ts";

/** A request as providers see it. The URL is parsed only for those that look at it: most schemes never do. */
export class WebhookArrival implements Arrival {
  readonly method: string;
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer>;
  readonly receivedAtMs: number;
  readonly #address: string;
  #url: URL | null = null;

  constructor(request: Request, body: Uint8Array<ArrayBuffer>, receivedAtMs: number) {
    this.method = request.method;
    this.headers = request.headers;
    this.body = body;
    this.receivedAtMs = receivedAtMs;
    this.#address = request.url;
  }

  get url(): URL {
    this.#url ??= new URL(this.#address);
    return this.#url;
  }
}
