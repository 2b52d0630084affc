/** An event on its way into the log: the call it came with, and where its bytes are. */
import type { NewEvent, UploadedBody } from "../log/events.ts";
import type { IngestCall } from "./contract.ts";

/** A call on its way into the log; of a large event without its bytes, or with the upload they were staged in [I12]. */
export type Arrived = IngestCall & { readonly upload?: UploadedBody; readonly bodySizeBytes?: number };

/** The bytes, or where they were staged; null: they were not sent along [V25]. */
export function bodyOf(call: Arrived): Uint8Array | UploadedBody | null {
  return call.upload ?? (call.bodySizeBytes === undefined ? call.body : null);
}

export function sizeOf(call: Arrived): number {
  return call.bodySizeBytes ?? call.body.byteLength;
}

export function newEvent(
  call: Arrived,
  body: Uint8Array | UploadedBody,
  eventId: string,
  seq: number,
  receivedAtMs: number,
  offeredBytes: number,
): NewEvent {
  return {
    seq,
    receivedAtMs,
    sizeBytes: sizeOf(call),
    offeredBytes,
    source: call.source,
    provider: call.provider,
    eventId,
    type: call.type,
    contentType: call.contentType,
    headers: call.headers,
    hops: call.hops,
    body,
  };
}
