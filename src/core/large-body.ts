/**
 * Large events [I4] [V25]: a body that does not fit in one row is kept in rows of at most 1,500,000 bytes, and is read
 * piece by piece wherever it goes.
 */

/** Body and kept headers over this make an event large: the platform's rows end at 2,000,000 bytes. */
export const LARGE_EVENT_BYTES = 1_500_000;
/** Bytes in one chunk row, the last one may have fewer. */
export const CHUNK_BYTES = 1_500_000;

/** `headers`: the kept headers as they are stored. */
export function isLargeEvent(bodySizeBytes: number, headers: string): boolean {
  return bodySizeBytes + headers.length > LARGE_EVENT_BYTES;
}

/** Bytes that come one piece after another, from memory at hand or from elsewhere. */
export type Pieces = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

/** A body that is never in memory as a whole. */
export interface LargeBody {
  readonly sizeBytes: number;
  /** Its bytes are UTF-8. */
  readonly isText: boolean;
  /**
   * The bytes in order, any number of times. A piece is good until the next one is asked for. Throws where the bytes
   * are no longer stored.
   */
  pieces(): Pieces;
  /** The bytes stay until what comes back is called, though the event is erased meanwhile [X6]. */
  hold(): () => void;
}
