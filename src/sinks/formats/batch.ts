import type { DeliveredEvent, Delivery } from "../delivery.ts";
import { bodyText } from "./body-text.ts";
import type { Format } from "./format.ts";

const encoder = new TextEncoder();

/** `format: "batch"`: all events in one JSON document [V2]. */
export const batch: Format = {
  eventsMax: 1_000,

  encode(delivery: Delivery) {
    const document = {
      tenant: delivery.tenant,
      destination: delivery.destination,
      batchId: delivery.batchId,
      events: delivery.events.map(eventElement),
    };
    return {
      messageId: delivery.batchId,
      body: encoder.encode(JSON.stringify(document)),
      headers: { "content-type": "application/json" },
    };
  },
};

/** One event as an element of `events`: `body` where its bytes are UTF-8, else `bodyBase64` [V2]. */
export function eventElement(event: DeliveredEvent): Record<string, unknown> {
  const text = bodyText(event.body);
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
    ...(text === null ? { bodyBase64: event.body.toBase64() } : { body: text }),
  };
}
