/** Reading a body once, as bytes, within bounds of size, memory and patience [I3] [I4]. */
import type { BodyBudget, BodyHold } from "./body-budget.ts";
import { type Deadline, EXPIRED } from "./deadline.ts";

/**
 * A body of at most this size comes in a packet or a few. It is read in one piece, which costs half of reading it
 * chunk by chunk, and has the time of one pause in all.
 */
const SMALL_BODY_BYTES = 16_384;

export type BodyRead =
  /** The bytes own their buffer, so that no larger one travels with them. Release `hold` when they are done with. */
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
export async function readBody(
  request: Request,
  declaredBytes: number | null,
  sizeBytesMax: number,
  budget: BodyBudget,
  deadline: Deadline,
): Promise<BodyRead> {
  if (declaredBytes !== null && declaredBytes > sizeBytesMax) return TOO_LARGE;
  const hold = budget.hold(declaredBytes ?? 0);
  if (hold === null) return BUSY;
  const read =
    declaredBytes !== null && declaredBytes <= SMALL_BODY_BYTES
      ? await readSmall(request, sizeBytesMax, hold, deadline)
      : await readChunks(request, declaredBytes ?? 0, sizeBytesMax, hold, deadline);
  if (read.kind !== "body") hold.release();
  return read;
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
    return BROKEN;
  }
  if (buffer === EXPIRED) return STALLED;
  if (buffer.byteLength > sizeBytesMax) return TOO_LARGE;
  return hold.growTo(buffer.byteLength) ? { kind: "body", bytes: new Uint8Array(buffer), hold } : BUSY;
}

async function readChunks(
  request: Request,
  expectedBytes: number,
  sizeBytesMax: number,
  hold: BodyHold,
  deadline: Deadline,
): Promise<BodyRead> {
  if (request.body === null) return { kind: "body", bytes: new Uint8Array(0), hold };
  const reader = request.body.getReader();
  let bytes = new Uint8Array(expectedBytes);
  let filled = 0;
  let refused: BodyRead = BROKEN;
  try {
    for (;;) {
      const step = await deadline.within(reader.read());
      if (step === EXPIRED) {
        refused = STALLED;
        break;
      }
      if (step.done) return { kind: "body", bytes: filled === bytes.length ? bytes : bytes.slice(0, filled), hold };
      const chunk: Uint8Array = step.value;
      const needed = filled + chunk.byteLength;
      if (needed > sizeBytesMax) {
        refused = TOO_LARGE;
        break;
      }
      if (needed > bytes.length) {
        const room = Math.min(sizeBytesMax, Math.max(needed, bytes.length * 2, SMALL_BODY_BYTES));
        if (!hold.growTo(room)) {
          refused = BUSY;
          break;
        }
        const longer = new Uint8Array(room);
        longer.set(bytes.subarray(0, filled));
        bytes = longer;
      }
      bytes.set(chunk, filled);
      filled = needed;
      deadline.restart();
    }
  } catch {
    // The sender went away, or sent another length than it said.
  }
  reader.cancel().catch(ignore);
  return refused;
}

/** What is no longer read needs no answer to its cancellation. */
function ignore(): void {}
