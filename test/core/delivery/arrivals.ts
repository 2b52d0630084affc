export interface Arrival {
  readonly atMs: number;
  readonly sizeBytes: number;
  readonly passes: boolean;
}

/** Events that are still to come, in the order in which they were announced where they come together. */
export class Arrivals {
  /** The next one last. */
  #waiting: Arrival[] = [];

  get nextMs(): number {
    return this.#waiting.at(-1)?.atMs ?? Number.POSITIVE_INFINITY;
  }

  announce(arrivals: readonly Arrival[]): void {
    this.#waiting = [...this.#waiting.toReversed(), ...arrivals].sort((a, b) => a.atMs - b.atMs).reverse();
  }

  /** The next one that has come by then, or undefined. */
  take(nowMs: number): Arrival | undefined {
    return this.nextMs <= nowMs ? this.#waiting.pop() : undefined;
  }
}
