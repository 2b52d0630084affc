import type { AsideEvent } from "../../../src/core/delivery/machine.ts";

/** The rows of set-aside events, in the order in which they are due. */
export class AsideTable {
  readonly #bySeq = new Map<number, AsideEvent>();
  #byDue: AsideEvent[] = [];
  readonly #counts = { aside: 0, redrive: 0 };

  get(seq: number): AsideEvent | null {
    return this.#bySeq.get(seq) ?? null;
  }

  count(lane: AsideEvent["lane"]): number {
    return this.#counts[lane];
  }

  all(): AsideEvent[] {
    return [...this.#byDue];
  }

  first(count: number, butNot: ReadonlySet<number>): AsideEvent[] {
    const found: AsideEvent[] = [];
    for (const event of this.#byDue) {
      if (found.length === count) break;
      if (!butNot.has(event.seq)) found.push(event);
    }
    return found;
  }

  put(event: AsideEvent): void {
    this.remove(event.seq);
    this.#bySeq.set(event.seq, event);
    this.#byDue.splice(this.#indexOf(event.dueAtMs), 0, event);
    this.#counts[event.lane] += 1;
  }

  remove(seq: number): void {
    const event = this.#bySeq.get(seq);
    if (event === undefined) return;
    this.#bySeq.delete(seq);
    this.#byDue.splice(this.#byDue.indexOf(event, this.#indexOf(event.dueAtMs)), 1);
    this.#counts[event.lane] -= 1;
  }

  /** Of the first event that is due then or later. */
  #indexOf(dueAtMs: number): number {
    let low = 0;
    let high = this.#byDue.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#byDue[middle]?.dueAtMs ?? 0) < dueAtMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
