import type { DeliveredEvent, WholeDelivery, WholeEvent } from "../delivery.ts";
import { base64, escaped, framed } from "../pieces.ts";
import { bodyText } from "./body-text.ts";
import type { Format, LargeDelivery } from "./format.ts";

const encoder = new TextEncoder();

/** `format: "batch"`: all events in one JSON document [V2]. */
export const batch: Format = {
  eventsMax: 1_000,

  encode(delivery: WholeDelivery) {
    return {
      messageId: delivery.batchId,
      body: encoder.encode(documentOf(delivery, delivery.events.map(eventElement))),
      headers: HEADERS,
    };
  },

  encodeLarge(delivery: LargeDelivery) {
    const { event, body } = delivery;
    // The body is the last member of the last element: it goes in before the closing brackets.
    const document = documentOf(delivery, [eventHead(event)]).slice(0, -END.length);
    const name = body.isText ? "body" : "bodyBase64";
    const value = body.isText ? escaped : base64;
    return {
      messageId: delivery.batchId,
      headers: HEADERS,
      pieces: () => framed(`${document},"${name}":"`, value(body.pieces()), `"${END}`),
    };
  },
};

const HEADERS = { "content-type": "application/json" };
const END = "}]}";

function documentOf(
  delivery: { readonly tenant: string; readonly destination: string; readonly batchId: string },
  events: readonly unknown[],
): string {
  const { tenant, destination, batchId } = delivery;
  return JSON.stringify({ tenant, destination, batchId, events });
}

/** One event as an element of `events`: `body` where its bytes are UTF-8, else `bodyBase64` [V2]. */
export function eventElement(event: WholeEvent): Record<string, unknown> {
  const text = bodyText(event.body);
  return { ...eventHead(event), ...(text === null ? { bodyBase64: event.body.toBase64() } : { body: text }) };
}

/** All of the element but the body, which comes last. */
export function eventHead(event: DeliveredEvent): Record<string, unknown> {
  return {
    id: event.eventId,
    seq: String(event.seq),
    source: event.source,
    provider: event.provider,
    type: event.type,
    receivedAt: new Date(event.receivedAtMs).toISOString(),
    attempt: event.attempt,
    ...(event.replay ? { replay: true } : {}),
    contentType: event.contentType,
    headers: event.headers,
  };
}
