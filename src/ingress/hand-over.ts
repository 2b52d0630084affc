/** Handing one verified event to its tenant's object: in the call itself or, where it is large, as a stream beside it [V25]. */
import type { IngestAnswer, IngestCall, TenantBufferCalls } from "../buffer/contract.ts";
import { CHUNK_BYTES, isLargeEvent } from "../core/large-body.ts";

const EMPTY = new Uint8Array(0);
/** Decoded at a time, so that no text of the whole body's size is made. */
const DECODE_BYTES = 65_536;

/** Makes the call. What the object does not want of a large body is not sent. */
export async function handOver(object: TenantBufferCalls, call: IngestCall): Promise<IngestAnswer> {
  const { body } = call;
  if (!isLargeEvent(body.byteLength, call.headers)) return object.ingest(call);
  const { readable, writable } = new FixedLengthStream(body.byteLength);
  const writer = writable.getWriter();
  void write(writer, body);
  try {
    const large = { ...call, body: EMPTY, bodySizeBytes: body.byteLength, isText: isUtf8(body) };
    return await object.ingestLarge(large, readable);
  } finally {
    // It may have answered without reading it all: a duplicate is known by its id.
    writer.abort().catch(ignore);
  }
}

/** Never rejects: the call itself tells when its stream broke. */
async function write(writer: WritableStreamDefaultWriter, body: Uint8Array): Promise<void> {
  const sizeBytes = body.byteLength;
  try {
    for (let from = 0; from < sizeBytes; from += CHUNK_BYTES) {
      await writer.write(body.subarray(from, from + CHUNK_BYTES));
    }
    await writer.close();
  } catch {
    // Nobody reads on.
  }
}

/** Whether turning the bytes to text and back gives the same bytes [I3]. */
export function isUtf8(bytes: Uint8Array): boolean {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  try {
    for (let from = 0; from < bytes.length; from += DECODE_BYTES) {
      decoder.decode(bytes.subarray(from, from + DECODE_BYTES), { stream: true });
    }
    decoder.decode();
    return true;
  } catch {
    return false;
  }
}

function ignore(): void {}
