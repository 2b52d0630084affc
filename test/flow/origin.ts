/** An origin inside the test: it records the exact requests, and answers as the test tells it to. */
import { vi } from "vitest";

export interface Received {
  readonly url: string;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

export interface BatchEvent {
  readonly id: string;
  readonly seq: string;
  readonly source: string;
  readonly type: string | null;
  readonly attempt: number;
  readonly body?: string;
  readonly bodyBase64?: string;
}

export type Answer = (request: Received, events: readonly BatchEvent[]) => Response | Promise<Response>;

export class Origin {
  readonly requests: Received[] = [];
  /** Every delivered event, in order, of requests that were accepted. */
  readonly accepted: BatchEvent[] = [];
  answer: Answer = () => new Response(null, { status: 204 });

  constructor() {
    vi.spyOn(globalThis, "fetch").mockImplementation((input, init) => this.#take(input, init));
  }

  async #take(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
    const request = new Request(input, init);
    const body = new Uint8Array(await request.arrayBuffer());
    const received = { url: request.url, headers: request.headers, body };
    this.requests.push(received);
    const events = eventsOf(body);
    const response = await this.answer(received, events);
    if (response.ok) this.accepted.push(...events);
    return response;
  }

  ids(): string[] {
    return this.accepted.map((event) => event.id);
  }
}

function eventsOf(body: Uint8Array): BatchEvent[] {
  try {
    return (JSON.parse(new TextDecoder().decode(body)) as { events?: BatchEvent[] }).events ?? [];
  } catch {
    return [];
  }
}

/** The exact bytes that a batch's event stands for [V2]. */
export function bytesOf(event: BatchEvent): Uint8Array {
  if (event.bodyBase64 !== undefined) return Uint8Array.from(atob(event.bodyBase64), (c) => c.charCodeAt(0));
  return new TextEncoder().encode(event.body ?? "");
}
