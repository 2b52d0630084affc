/** Since when the oldest event of a destination waits, for the alert of it [O9]; the log is read only when it may matter. */
import { OLDEST_EVENT_MS } from "../core/alert-rules.ts";
import type { AsideEvent } from "../core/delivery/machine.ts";
import type { Log } from "../log/log.ts";
import type { Destination } from "./destination.ts";

interface Known {
  /** No event has waited since before then. */
  readonly sinceMs: number;
  /** What it was read for; null: it was not read, nothing waited at that time. */
  readonly position: number | null;
  readonly aside: number;
  readonly readAtMs: number;
}

/** While the alert is near, the log is asked again after this at the earliest. */
const READ_AGAIN_MS = 10_000;

export class OldestEvent {
  readonly #log: Log;
  readonly #known = new Map<string, Known>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** The time, or one before it where it cannot matter yet; null: nothing waits. */
  sinceMs(destination: Destination, nowMs: number): number | null {
    const { name, row, cursor } = destination;
    if (destination.backlogEvents() === 0) {
      this.#known.set(name, { sinceMs: nowMs, position: null, aside: 0, readAtMs: 0 });
      return null;
    }
    const known = this.#known.get(name);
    if (known !== undefined) {
      const isFar = nowMs - known.sinceMs < OLDEST_EVENT_MS;
      const isSame = known.position === row.position && known.aside === cursor.aside;
      const isFresh = known.position !== null && nowMs - known.readAtMs < READ_AGAIN_MS;
      if (isFar || isSame || isFresh) return known.sinceMs;
    }
    const sinceMs = this.#read(destination, nowMs);
    this.#known.set(name, { sinceMs, position: row.position, aside: cursor.aside, readAtMs: nowMs });
    return sinceMs;
  }

  #read({ name, row, cursor }: Destination, nowMs: number): number {
    const { events, aside } = this.#log;
    const fresh = events.heads(row.position, 1)[0]?.receivedAtMs ?? nowMs;
    const asideSeq = cursor.aside === 0 ? null : aside.oldestSeq(name);
    const asideRow = asideSeq === null ? null : aside.find(name, asideSeq);
    // A redriven event waits since it was put back, however old it is.
    const waiting = asideRow === null ? nowMs : (JSON.parse(asideRow.event) as AsideEvent).waitingSinceMs;
    return Math.min(fresh, waiting);
  }
}
