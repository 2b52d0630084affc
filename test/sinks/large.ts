/** A large body as the sinks get it, in pieces of a size that the test chooses. */
import type { LargeBody, Pieces } from "../../src/core/large-body.ts";

export class Large implements LargeBody {
  readonly sizeBytes: number;
  readonly isText: boolean;
  readonly #bytes: Uint8Array;
  readonly #pieceSize: number;
  /** How often it was read from the beginning. */
  readings = 0;
  /** How many hold it now. */
  holds = 0;
  /** Of this reading on, its bytes are gone. */
  goneFromReading = Number.POSITIVE_INFINITY;

  constructor(bytes: Uint8Array, isText: boolean, pieceSize = bytes.length) {
    this.sizeBytes = bytes.length;
    this.isText = isText;
    this.#bytes = bytes;
    this.#pieceSize = Math.max(1, pieceSize);
  }

  *pieces(): Generator<Uint8Array> {
    this.readings += 1;
    // One buffer for all pieces, as a piece is good only until the next is asked for.
    const buffer = new Uint8Array(this.#pieceSize);
    for (let from = 0; from < this.#bytes.length; from += this.#pieceSize) {
      if (this.readings >= this.goneFromReading && from > 0) throw new Error("no longer stored");
      const piece = this.#bytes.subarray(from, from + this.#pieceSize);
      buffer.set(piece);
      yield buffer.subarray(0, piece.length);
    }
  }

  hold(): () => void {
    this.holds += 1;
    return () => {
      this.holds -= 1;
    };
  }
}

/** All pieces in one. */
export async function whole(pieces: Pieces): Promise<Uint8Array> {
  const found: number[] = [];
  for await (const piece of pieces) for (const byte of piece) found.push(byte);
  return Uint8Array.from(found);
}
