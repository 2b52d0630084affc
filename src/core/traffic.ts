/** How many requests came within the last five minutes, and how many of them were turned away [O9]. In memory only. */

const SLICE_MS = 30_000;
const SLICE_COUNT = 10;

interface Slice {
  readonly index: number;
  requests: number;
  rejected: number;
}

export class Traffic {
  #slices: Slice[] = [];

  note(requests: number, rejected: number, nowMs: number): void {
    const index = Math.floor(nowMs / SLICE_MS);
    let slice = this.#slices.find((each) => each.index === index);
    if (slice === undefined) {
      slice = { index, requests: 0, rejected: 0 };
      // A clock that went back leaves slices of the future; they go as well.
      this.#slices = [...this.#slices.filter((each) => each.index < index && each.index > index - SLICE_COUNT), slice];
    }
    slice.requests += requests;
    slice.rejected += rejected;
  }

  /** The last five minutes, to half a minute. */
  sum(nowMs: number): { readonly requests: number; readonly rejected: number } {
    const index = Math.floor(nowMs / SLICE_MS);
    let requests = 0;
    let rejected = 0;
    for (const slice of this.#slices) {
      if (slice.index > index || slice.index <= index - SLICE_COUNT) continue;
      requests += slice.requests;
      rejected += slice.rejected;
    }
    return { requests, rejected };
  }
}
