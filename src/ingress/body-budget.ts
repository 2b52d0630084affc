import { LARGE_EVENT_BYTES } from "../core/large-body.ts";

/** A body over this continues in further rows of the log, and few of them are read at a time [I4]. */
export const LARGE_BODY_BYTES = LARGE_EVENT_BYTES;

/**
 * A body of at most this size comes in a packet or a few. It is read in one piece, which costs half of reading it
 * chunk by chunk, and has the time of one pause in all.
 */
export const SMALL_BODY_BYTES = 16_384;

const HELD_BYTES_MAX = 64_000_000;
/** Kept for small bodies: nobody's large ones, however slowly they come, keep an ordinary webhook out [I19]. */
const SMALL_RESERVE_BYTES = 8_000_000;
const LARGE_COUNT_MAX = 2;

/** What an isolate holds of bodies at a time, so that its 128 MB of memory are never in danger [I4]. */
export class BodyBudget {
  #heldBytes = 0;
  #largeCount = 0;

  /** Room for a body of `sizeBytes`, or null where there is none now. It counts until it is released. */
  hold(sizeBytes: number): BodyHold | null {
    return this.#take(sizeBytes, 0) ? new BodyHold(this, sizeBytes) : null;
  }

  /** Used by the hold itself: the body turned out to have `sizeBytes` instead of `before`. */
  resize(sizeBytes: number, before: number): boolean {
    return this.#take(sizeBytes, before);
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  #take(sizeBytes: number, before: number): boolean {
    const largeCount = this.#largeCount + Number(sizeBytes > LARGE_BODY_BYTES) - Number(before > LARGE_BODY_BYTES);
    const heldBytes = this.#heldBytes + sizeBytes - before;
    if (sizeBytes > before) {
      const heldMax = sizeBytes > SMALL_BODY_BYTES ? HELD_BYTES_MAX - SMALL_RESERVE_BYTES : HELD_BYTES_MAX;
      if (heldBytes > heldMax || largeCount > Math.max(LARGE_COUNT_MAX, this.#largeCount)) return false;
    }
    this.#heldBytes = heldBytes;
    this.#largeCount = largeCount;
    return true;
  }
}

/** One body's share of the budget. */
export class BodyHold {
  readonly #budget: BodyBudget;
  #sizeBytes: number;

  constructor(budget: BodyBudget, sizeBytes: number) {
    this.#budget = budget;
    this.#sizeBytes = sizeBytes;
  }

  /** The body is longer than thought; false: there is no room for that now, and nothing has changed. */
  growTo(sizeBytes: number): boolean {
    if (sizeBytes <= this.#sizeBytes) return true;
    if (!this.#budget.resize(sizeBytes, this.#sizeBytes)) return false;
    this.#sizeBytes = sizeBytes;
    return true;
  }

  /** Gives everything back; a second call does nothing. */
  release(): void {
    this.#budget.resize(0, this.#sizeBytes);
    this.#sizeBytes = 0;
  }
}
