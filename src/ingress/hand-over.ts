/** Handing one verified event to its tenant's object: in the call itself or, where it is large, as a stream beside it [V25]. */
import type { IngestCall, IngestReply, TenantBufferCalls } from "../buffer/contract.ts";
import { CHUNK_BYTES, isLargeEvent } from "../core/large-body.ts";
import { isUtf8 } from "../core/utf8.ts";

const EMPTY = new Uint8Array(0);

/** Makes the call. What the object does not want of a large body is not sent. */
export function handOver(object: TenantBufferCalls, call: IngestCall): Promise<IngestReply> {
  return isLargeEvent(call.body.byteLength, call.headers) ? streamOver(object, call) : object.ingest(call);
}

async function streamOver(object: TenantBufferCalls, call: IngestCall): Promise<IngestReply> {
  const { body } = call;
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

function ignore(): void {}
