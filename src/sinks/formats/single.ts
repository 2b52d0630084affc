import { invariant } from "../../core/assert.ts";
import type { DeliveredEvent, WholeDelivery } from "../delivery.ts";
import { headerText } from "../header-text.ts";
import type { Format, LargeDelivery } from "./format.ts";

/**
 * Kept headers that are not passed on: they describe the connection they came by, or this request has its own.
 * A header of the sender's that begins with `webhook-` or `spillway-` could be taken for ours.
 */
const NOT_PASSED_ON =
  /^(host|connection|content-length|content-type|transfer-encoding|keep-alive|te|trailer|upgrade|expect|user-agent|x-signature|x-webhook-event-id|proxy-.*|cf-.*|webhook-.*|spillway-.*)$/;

/** `format: "single"`: the event's exact bytes with its own content type, everything else in headers [V3]. */
export const single: Format = {
  eventsMax: 1,

  encode(delivery: WholeDelivery) {
    const [event] = delivery.events;
    invariant(event !== undefined && delivery.events.length === 1, "a single request carries one event");
    return { messageId: event.eventId, body: event.body, headers: headersOf(delivery, event) };
  },

  encodeLarge(delivery: LargeDelivery) {
    const { event, body } = delivery;
    return { messageId: event.eventId, headers: headersOf(delivery, event), pieces: () => body.pieces() };
  },
};

function headersOf(
  delivery: { readonly tenant: string; readonly destination: string },
  event: DeliveredEvent,
): Record<string, string> {
  return {
    ...passedOn(event),
    ...(event.contentType === null ? {} : { "content-type": event.contentType }),
    "spillway-event-id": event.eventId,
    "spillway-tenant": delivery.tenant,
    "spillway-destination": delivery.destination,
    "spillway-source": event.source,
    "spillway-provider": event.provider,
    ...(event.type === null ? {} : { "spillway-type": headerText(event.type) }),
    "spillway-received-at": new Date(event.receivedAtMs).toISOString(),
    "spillway-seq": String(event.seq),
    "spillway-attempt": String(event.attempt),
    ...(event.replay ? { "spillway-replay": "true" } : {}),
  };
}

function passedOn(event: DeliveredEvent): Record<string, string> {
  return Object.fromEntries(Object.entries(event.headers).filter(([name]) => !NOT_PASSED_ON.test(name)));
}
