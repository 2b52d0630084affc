import type { DeliveredEvent, Delivery } from "../delivery.ts";
import { bodyText } from "./body-text.ts";
import type { Format } from "./format.ts";

const encoder = new TextEncoder();

/**
 * `format: "cloudevents"`: CloudEvents 1.0, JSON batch [V3].
 *
 * CloudEvents wants a JSON body as a JSON value. It is put in as the very text that was sent, never parsed and written
 * again, so that no digit of a number changes on the way; what is not JSON travels as text, or as `data_base64`.
 */
export const cloudevents: Format = {
  eventsMax: 1_000,

  encode(delivery: Delivery) {
    const elements = delivery.events.map((event) => element(delivery, event));
    return {
      messageId: delivery.batchId,
      body: encoder.encode(`[${elements.join(",")}]`),
      headers: { "content-type": "application/cloudevents-batch+json" },
    };
  },
};

function element(delivery: Delivery, event: DeliveredEvent): string {
  const data = dataOf(event);
  const attributes = {
    specversion: "1.0",
    id: event.eventId,
    source: `/webhook/${delivery.tenant}/${event.source}`,
    type: event.type === null || event.type === "" ? `webhook.${event.provider}` : event.type,
    time: new Date(event.receivedAtMs).toISOString(),
    datacontenttype: data.contentType,
    // Extension attributes: lower case letters and digits only.
    spillwaytenant: delivery.tenant,
    spillwaydestination: delivery.destination,
    spillwayprovider: event.provider,
    spillwayseq: String(event.seq),
    spillwayattempt: event.attempt,
    ...(event.replay ? { spillwayreplay: true } : {}),
  };
  return `${JSON.stringify(attributes).slice(0, -1)},${data.member}}`;
}

function dataOf(event: DeliveredEvent): { readonly contentType: string; readonly member: string } {
  const text = bodyText(event.body);
  const contentType = event.contentType ?? (text !== null && isJson(text) ? "application/json" : null);
  if (text !== null && contentType !== null) {
    if (!saysJson(contentType)) return { contentType, member: `"data":${JSON.stringify(text)}` };
    if (isJson(text)) return { contentType, member: `"data":${text}` };
  }
  return {
    contentType: contentType ?? "application/octet-stream",
    member: `"data_base64":"${event.body.toBase64()}"`,
  };
}

/** `application/json`, `text/json`, and anything `+json` (the CloudEvents JSON format, section 3.1). */
function saysJson(contentType: string): boolean {
  const mediaType = contentType.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  return /^[^/]+\/([^/]+\+)?json$/.test(mediaType);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
