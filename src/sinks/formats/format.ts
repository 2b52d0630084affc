import type { LargeBody, Pieces } from "../../core/large-body.ts";
import type { DeliveredEvent, HttpDestination, WholeDelivery } from "../delivery.ts";
import { batch } from "./batch.ts";
import { cloudevents } from "./cloudevents.ts";
import { single } from "./single.ts";

/** What a format makes of a delivery; the request's signature and credentials are added to it afterwards. */
interface Payload {
  /** What `webhook-id` says, before percent-encoding [D8]. */
  readonly messageId: string;
  readonly body: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
}

/** The same for one large event: its body comes piece by piece, twice [V25]. */
interface LargePayload {
  readonly messageId: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The same bytes each time. A piece is good until the next is asked for. */
  readonly pieces: () => Pieces;
}

/** One large event, alone in its request. */
export interface LargeDelivery {
  readonly tenant: string;
  readonly destination: string;
  readonly batchId: string;
  readonly event: DeliveredEvent;
  readonly body: LargeBody;
}

/** Turns events into the bytes of one request. A further format is one file with this shape and a line in `formats`. */
export interface Format {
  /** The most events that one request can carry. */
  readonly eventsMax: number;
  encode(delivery: WholeDelivery): Payload;
  /** The bytes that `encode` would give, were the body in memory. */
  encodeLarge(delivery: LargeDelivery): LargePayload | Promise<LargePayload>;
}

export const formats: Readonly<Record<HttpDestination["format"], Format>> = { batch, single, cloudevents };
