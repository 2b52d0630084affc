import type { Pieces } from "../core/large-body.ts";

/** A request that is ready to leave. */
export interface Outgoing {
  readonly headers: Headers;
  /** To be asked for once. */
  readonly body: () => Uint8Array | ReadableStream;
  /** The exchange is over, whatever came of it: nothing more is read. */
  readonly end: () => void;
}

export function wholeRequest(headers: Headers, body: Uint8Array): Outgoing {
  return { headers, body: () => body, end: () => {} };
}

/**
 * A request whose body is read while it is sent, of a length that is known [V25]. Bytes that cannot be read any more
 * break the request off. `release` is called once it is over.
 */
export function streamedRequest(
  headers: Headers,
  sizeBytes: number,
  pieces: () => Pieces,
  release: () => void,
): Outgoing {
  const { readable, writable } = new FixedLengthStream(sizeBytes);
  const writer = writable.getWriter();
  const send = async (): Promise<void> => {
    try {
      // A write resolves when the piece was taken: it may be overwritten then.
      for await (const piece of pieces()) await writer.write(piece);
      await writer.close();
    } catch (error) {
      await writer.abort(error).catch(() => {});
    }
  };
  return {
    headers,
    body: () => {
      void send();
      return readable;
    },
    end: () => {
      // The destination may have answered before it had all of it: nobody waits for ever to write the rest.
      writer.abort().catch(() => {});
      release();
    },
  };
}
