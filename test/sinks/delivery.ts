import {
  type DeliveredEvent,
  type Delivery,
  type Fetcher,
  type HttpDestination,
  sendHttp,
} from "../../src/sinks/http.ts";

export const NOW_MS = Date.UTC(2026, 10, 29, 22, 5, 1, 123);
export const SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
export const POLICY = { allowInsecure: false, ownHosts: [] };

const encoder = new TextEncoder();

export function bytes(text: string): Uint8Array {
  return encoder.encode(text);
}

export function event(changes: Partial<DeliveredEvent> = {}): DeliveredEvent {
  return {
    seq: 1042,
    eventId: "stripe:evt_1",
    source: "stripe",
    provider: "stripe",
    type: "invoice.paid",
    receivedAtMs: NOW_MS,
    contentType: "application/json",
    headers: {},
    body: bytes('{"id":"evt_1"}'),
    bodySizeBytes: 14,
    hops: 0,
    attempt: 1,
    replay: false,
    ...changes,
  };
}

export function destination(changes: Partial<HttpDestination> = {}): HttpDestination {
  return {
    url: "https://origin.example.com/hooks",
    bearerToken: null,
    signingSecrets: [SECRET],
    signature: "standard",
    format: "batch",
    timeoutMs: 10_000,
    retryAfterMaxSeconds: 43_200,
    ...changes,
  };
}

export function delivery(events: readonly DeliveredEvent[] = [event()], changes: Partial<Delivery> = {}): Delivery {
  return { tenant: "acme", destination: "origin", batchId: "batch_1", nowMs: NOW_MS, events, hops: 0, ...changes };
}

/** A request as it left, its body read. */
export interface SentRequest {
  readonly url: string;
  readonly init: RequestInit;
  readonly headers: Headers;
  readonly body: Uint8Array;
  readonly text: string;
}

/** Sends with a destination that answers 204, and gives what it was sent. */
export async function sent(to: Partial<HttpDestination> = {}, what: Delivery = delivery()): Promise<SentRequest> {
  const requests: SentRequest[] = [];
  const outcome = await sendHttp(destination(to), what, POLICY, async (url, init) => {
    const request = new Request(url, init);
    const body = new Uint8Array(await request.arrayBuffer());
    requests.push({ url, init, headers: request.headers, body, text: new TextDecoder().decode(body) });
    return new Response(null, { status: 204 });
  });
  const [request] = requests;
  if (request === undefined) throw new Error(`nothing was sent: ${JSON.stringify(outcome)}`);
  return request;
}

/** The outcome of a batch of these ids when the destination gives this answer. */
export function answered(
  response: Response | Fetcher,
  ids: readonly string[] = ["a", "b"],
  to: Partial<HttpDestination> = {},
) {
  const fetcher: Fetcher = typeof response === "function" ? response : async () => response;
  const events = ids.map((eventId, index) => event({ eventId, seq: index + 1 }));
  return sendHttp(destination(to), delivery(events), POLICY, fetcher);
}
