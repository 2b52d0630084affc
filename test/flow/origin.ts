/** An origin inside the test: it records the exact requests, and answers as the test tells it to. */
import { vi } from "vitest";

export interface Received {
  readonly url: string;
  readonly headers: Headers;
  readonly body: Uint8Array;
  /** Ends when the sender gives up on the answer. */
  readonly signal: AbortSignal | null;
}

export interface BatchEvent {
  readonly id: string;
  readonly seq: string;
  readonly source: string;
  readonly type: string | null;
  readonly attempt: number;
  readonly receivedAt: string;
  readonly body?: string;
  readonly bodyBase64?: string;
}

export type Answer = (request: Received, events: readonly BatchEvent[]) => Response | Promise<Response>;

/** One request, as it ended. */
export interface Exchange {
  readonly url: string;
  readonly atMs: number;
  readonly ids: readonly string[];
  readonly attempts: readonly number[];
  readonly batchId: string;
  /** null: no answer came. */
  readonly status: number | null;
}

export class Origin {
  readonly requests: Received[] = [];
  readonly exchanges: Exchange[] = [];
  /** Every delivered event, in order, of requests that were accepted. */
  readonly accepted: BatchEvent[] = [];
  answer: Answer = () => new Response(null, { status: 204 });

  constructor() {
    vi.spyOn(globalThis, "fetch").mockImplementation((input, init) => this.#take(input, init));
  }

  async #take(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
    const { signal = null, ...rest } = init ?? {};
    const request = new Request(input, rest);
    const body = new Uint8Array(await request.arrayBuffer());
    const received = { url: request.url, headers: request.headers, body, signal };
    this.requests.push(received);
    const events = eventsOf(body);
    const note = (status: number | null): void => {
      this.exchanges.push({
        url: request.url,
        atMs: Date.now(),
        ids: events.map((event) => event.id),
        attempts: events.map((event) => event.attempt),
        batchId: request.headers.get("webhook-id") ?? "",
        status,
      });
    };
    try {
      const response = await this.answer(received, events);
      note(response.status);
      if (response.ok) this.accepted.push(...events);
      return response;
    } catch (error) {
      note(null);
      throw error;
    }
  }

  ids(): string[] {
    return this.accepted.map((event) => event.id);
  }

  /** Waits, in real time, until this many requests have come. */
  async reached(count: number): Promise<void> {
    for (let turn = 0; this.requests.length < count; turn += 1) {
      if (turn > 2_000) throw new Error(`the origin was not asked ${count} times`);
      await scheduler.wait(5);
    }
  }

  /** How often each event was accepted. */
  counts(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const { id } of this.accepted) counts.set(id, (counts.get(id) ?? 0) + 1);
    return counts;
  }

  /** The requests that held this event. */
  exchangesOf(id: string): Exchange[] {
    return this.exchanges.filter((exchange) => exchange.ids.includes(id));
  }
}

/** An answer that never comes: it ends only when the sender gives up. */
export function hang(request: Received): Promise<Response> {
  return new Promise((_, reject) => {
    request.signal?.addEventListener("abort", () => reject(new Error("aborted")));
  });
}

/** An answer that comes when the test says so. Made in the test, as what is made in one object cannot be ended from another. */
export function gate(): { readonly answer: Promise<Response>; readonly open: (response: Response) => void } {
  let open: (response: Response) => void = () => {};
  const answer = new Promise<Response>((resolve) => {
    open = resolve;
  });
  return { answer, open: (response) => open(response) };
}

/** A connection that breaks before there is an answer. */
export function drop(): Promise<Response> {
  return Promise.reject(new TypeError("Network connection lost."));
}

export function status(code: number, body: string | null = null, headers: Record<string, string> = {}): Response {
  return new Response(body, { status: code, headers });
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
