import { JsonCheck } from "../../core/json-check.ts";
import type { LargeBody } from "../../core/large-body.ts";
import type { DeliveredEvent, WholeDelivery, WholeEvent } from "../delivery.ts";
import { base64, escaped, framed, unhurried } from "../pieces.ts";
import { bodyText } from "./body-text.ts";
import type { Format, LargeDelivery } from "./format.ts";

const encoder = new TextEncoder();

/**
 * `format: "cloudevents"`: CloudEvents 1.0, JSON batch [V3].
 *
 * CloudEvents wants a JSON body as a JSON value. It is put in as the very text that was sent, never parsed and written
 * again, so that no digit of a number changes on the way; what is not JSON travels as text, or as `data_base64`.
 */
export const cloudevents: Format = {
  eventsMax: 1_000,

  encode(delivery: WholeDelivery) {
    const elements = delivery.events.map((event) => element(delivery, event));
    return {
      messageId: delivery.batchId,
      body: encoder.encode(`[${elements.join(",")}]`),
      headers: HEADERS,
    };
  },

  async encodeLarge(delivery: LargeDelivery) {
    const { event, body } = delivery;
    const isJsonText = body.isText && mayBeJson(event.contentType) && (await isJsonBody(body));
    const data = dataOf(event.contentType, body.isText, isJsonText);
    const before = `[${attributesOf(delivery, event, data.contentType)},`;
    return {
      messageId: delivery.batchId,
      headers: HEADERS,
      pieces: () => {
        const pieces = body.pieces();
        if (data.form === "json") return framed(`${before}"data":`, pieces, "}]");
        if (data.form === "text") return framed(`${before}"data":"`, escaped(pieces), '"}]');
        return framed(`${before}"data_base64":"`, base64(pieces), '"}]');
      },
    };
  },
};

const HEADERS = { "content-type": "application/cloudevents-batch+json" };

function element(delivery: WholeDelivery, event: WholeEvent): string {
  const text = bodyText(event.body);
  const isJsonText = text !== null && mayBeJson(event.contentType) && isJson(text);
  const data = dataOf(event.contentType, text !== null, isJsonText);
  return `${attributesOf(delivery, event, data.contentType)},${memberOf(data.form, text, event.body)}}`;
}

function memberOf(form: Data["form"], text: string | null, body: Uint8Array): string {
  if (form === "bytes" || text === null) return `"data_base64":"${body.toBase64()}"`;
  return `"data":${form === "json" ? text : JSON.stringify(text)}`;
}

/** An element up to its data, without the closing brace. */
function attributesOf(
  delivery: { readonly tenant: string; readonly destination: string },
  event: DeliveredEvent,
  contentType: string,
): string {
  const attributes = {
    specversion: "1.0",
    id: event.eventId,
    source: `/webhook/${delivery.tenant}/${event.source}`,
    type: event.type === null || event.type === "" ? `webhook.${event.provider}` : event.type,
    time: new Date(event.receivedAtMs).toISOString(),
    datacontenttype: contentType,
    // Extension attributes: lower case letters and digits only.
    spillwaytenant: delivery.tenant,
    spillwaydestination: delivery.destination,
    spillwayprovider: event.provider,
    spillwayseq: String(event.seq),
    spillwayattempt: event.attempt,
    ...(event.replay ? { spillwayreplay: true } : {}),
  };
  return JSON.stringify(attributes).slice(0, -1);
}

interface Data {
  readonly contentType: string;
  readonly form: "json" | "text" | "bytes";
}

/** `isJsonText` is known only where the content type says JSON, or nothing. */
function dataOf(contentType: string | null, isText: boolean, isJsonText: boolean): Data {
  if (contentType === null) {
    return isJsonText
      ? { contentType: "application/json", form: "json" }
      : { contentType: "application/octet-stream", form: "bytes" };
  }
  if (!isText) return { contentType, form: "bytes" };
  if (!saysJson(contentType)) return { contentType, form: "text" };
  return { contentType, form: isJsonText ? "json" : "bytes" };
}

function mayBeJson(contentType: string | null): boolean {
  return contentType === null || saysJson(contentType);
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

async function isJsonBody(body: LargeBody): Promise<boolean> {
  const check = new JsonCheck();
  for await (const piece of unhurried(body.pieces())) if (!check.push(piece)) return false;
  return check.end();
}
