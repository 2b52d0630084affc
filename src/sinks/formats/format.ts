import type { Delivery, HttpDestination } from "../delivery.ts";
import { batch } from "./batch.ts";
import { cloudevents } from "./cloudevents.ts";
import { single } from "./single.ts";

/** What a format makes of a delivery; the request's signature and credentials are added to it afterwards. */
export interface Payload {
  /** What `webhook-id` says, before percent-encoding [D8]. */
  readonly messageId: string;
  readonly body: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
}

/** Turns events into the bytes of one request. A further format is one file with this shape and a line in `formats`. */
export interface Format {
  /** The most events that one request can carry. */
  readonly eventsMax: number;
  encode(delivery: Delivery): Payload;
}

export const formats: Readonly<Record<HttpDestination["format"], Format>> = { batch, single, cloudevents };
