import type { LargeBody } from "../core/large-body.ts";

/** A large body as a stream of bytes, read from the log as fast as it is taken; it stays until its end or cancellation. */
export function bodyStream(body: LargeBody): ReadableStream<Uint8Array> {
  const release = body.hold();
  const pieces = piecesOf(body);
  return new ReadableStream({
    type: "bytes",
    async pull(controller) {
      try {
        const next = await pieces.next();
        if (next.done !== true) return controller.enqueue(next.value);
        release();
        controller.close();
      } catch (error) {
        release();
        controller.error(error);
      }
    },
    cancel() {
      release();
    },
  });
}

async function* piecesOf(body: LargeBody): AsyncGenerator<Uint8Array> {
  yield* body.pieces();
}
