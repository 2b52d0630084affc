/** Reading a body once, as bytes, within bounds of size, memory and patience [I3] [I4]. */
import { type BodyBudget, type BodyHold, LARGE_BODY_BYTES, SMALL_BODY_BYTES } from "./body-budget.ts";
import { type Deadline, EXPIRED } from "./deadline.ts";

/** Read at a time, or the whole of a body that is shorter. */
const PIECE_BYTES = 65_536;
/**
 * The same where a body is large already, of which there are few at a time [I4]: each reading leaves some KB to the
 * garbage collector, which for a body of 25 MiB came to 1 MB.
 */
const LARGE_PIECE_BYTES = 262_144;

/**
 * A body of unknown length is read into a buffer that doubles up to here, and is then made as large as the limit: while
 * a buffer grows there are two of it, and what it leaves is too small for the next.
 */
const GROWING_BYTES_MAX = 4_000_000;

type BodyRead =
  /** The bytes own their buffer, so that no larger one travels with them, unless they are a large body's. Release `hold` when they are done with. */
  | { readonly kind: "body"; readonly bytes: Uint8Array<ArrayBuffer>; readonly hold: BodyHold }
  | { readonly kind: "too-large" | "stalled" | "broken" | "busy" };

const TOO_LARGE: BodyRead = { kind: "too-large" };
const STALLED: BodyRead = { kind: "stalled" };
const BROKEN: BodyRead = { kind: "broken" };
const BUSY: BodyRead = { kind: "busy" };

/** What `Content-Length` says, or null where it says nothing usable. */
export function declaredLength(headers: Headers): number | null {
  const text = headers.get("content-length");
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/**
 * Reads the whole body. `declaredBytes` is what the sender says and is not believed: the size is checked again while
 * reading. `deadline` is how long no byte may come, and begins anew with each that does.
 */
export function readBody(
  request: Request,
  declaredBytes: number | null,
  sizeBytesMax: number,
  budget: BodyBudget,
  deadline: Deadline,
): BodyRead | Promise<BodyRead> {
  if (declaredBytes !== null && declaredBytes > sizeBytesMax) return TOO_LARGE;
  const hold = budget.hold(declaredBytes ?? 0);
  if (hold === null) return BUSY;
  return declaredBytes !== null && declaredBytes <= SMALL_BODY_BYTES
    ? readSmall(request, sizeBytesMax, hold, deadline)
    : readChunks(request, declaredBytes ?? 0, sizeBytesMax, hold, deadline);
}

/** Nothing came of it: the room that was held for the body is given back. */
function without(hold: BodyHold, refused: BodyRead): BodyRead {
  hold.release();
  return refused;
}

async function readSmall(
  request: Request,
  sizeBytesMax: number,
  hold: BodyHold,
  deadline: Deadline,
): Promise<BodyRead> {
  let buffer: ArrayBuffer | typeof EXPIRED;
  try {
    buffer = await deadline.within(request.arrayBuffer());
  } catch {
    return without(hold, BROKEN);
  }
  if (buffer === EXPIRED) return without(hold, STALLED);
  if (buffer.byteLength > sizeBytesMax) return without(hold, TOO_LARGE);
  if (!hold.growTo(buffer.byteLength)) return without(hold, BUSY);
  return { kind: "body", bytes: new Uint8Array(buffer), hold };
}

async function readChunks(
  request: Request,
  expectedBytes: number,
  sizeBytesMax: number,
  hold: BodyHold,
  deadline: Deadline,
): Promise<BodyRead> {
  if (request.body === null) return { kind: "body", bytes: new Uint8Array(0), hold };
  const pieces = piecesOf(request.body, Math.min(expectedBytes || PIECE_BYTES, PIECE_BYTES));
  let bytes = new Uint8Array(expectedBytes);
  let filled = 0;
  let refused: BodyRead = BROKEN;
  try {
    for (;;) {
      const step = await deadline.within(pieces.next(filled > LARGE_BODY_BYTES));
      if (step === EXPIRED) {
        refused = STALLED;
        break;
      }
      if (step === null) {
        pieces.end();
        return { kind: "body", bytes: ownBytes(bytes, filled), hold };
      }
      const needed = filled + step.byteLength;
      if (needed > sizeBytesMax) {
        refused = TOO_LARGE;
        break;
      }
      if (needed > bytes.length) {
        const doubled = Math.max(needed, bytes.length * 2, SMALL_BODY_BYTES);
        const room = bytes.length > GROWING_BYTES_MAX ? sizeBytesMax : Math.min(sizeBytesMax, doubled);
        if (!hold.growTo(room)) {
          refused = BUSY;
          break;
        }
        // Moves what is there and gives its memory back at once.
        bytes = new Uint8Array(bytes.buffer.transfer(room));
      }
      bytes.set(step, filled);
      filled = needed;
      deadline.restart();
    }
  } catch {
    // The sender went away, or sent another length than it said.
  }
  pieces.end();
  return without(hold, refused);
}

/** The bytes alone in their buffer; a large body is spared the copy, for it goes on as a stream. */
function ownBytes(bytes: Uint8Array<ArrayBuffer>, filled: number): Uint8Array<ArrayBuffer> {
  if (filled === bytes.length) return bytes;
  return filled > LARGE_BODY_BYTES ? bytes.subarray(0, filled) : bytes.slice(0, filled);
}

interface BodyPieces {
  /** null: that was all. A piece is good until the next is asked for. `isLarge`: much has come, and more may at a time. */
  next(isLarge: boolean): Promise<Uint8Array | null>;
  /** Nothing more is wanted. */
  end(): void;
}

/** What a body brings, in one buffer that is filled again and again where the stream can do that. */
function piecesOf(body: ReadableStream<Uint8Array>, pieceBytes: number): BodyPieces {
  let buffer = new ArrayBuffer(pieceBytes);
  let reader: ReadableStreamBYOBReader;
  try {
    reader = body.getReader({ mode: "byob" });
  } catch {
    return piecesAsTheyCome(body.getReader());
  }
  return {
    next: async (isLarge) => {
      if (isLarge && buffer.byteLength < LARGE_PIECE_BYTES) buffer = replaced(buffer, LARGE_PIECE_BYTES);
      const { value, done } = await reader.read(new Uint8Array(buffer));
      if (done || value === undefined) return null;
      buffer = value.buffer;
      return value;
    },
    end: () => {
      reader.cancel().catch(ignore);
      // While the stream is still filling it, it is the stream's to give back.
      if (!buffer.detached) buffer.transfer(0);
    },
  };
}

/** Another buffer for the next piece; the memory of the one before is given back at once. */
function replaced(buffer: ArrayBuffer, sizeBytes: number): ArrayBuffer {
  buffer.transfer(0);
  return new ArrayBuffer(sizeBytes);
}

function piecesAsTheyCome(reader: ReadableStreamDefaultReader<Uint8Array>): BodyPieces {
  return {
    next: async () => (await reader.read()).value ?? null,
    end: () => void reader.cancel().catch(ignore),
  };
}

/** What is no longer read needs no answer to its cancellation. */
function ignore(): void {}
