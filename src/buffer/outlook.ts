/** What lies ahead of a destination: fresh events within its window, set-aside ones that are due. Reads only. */
import { type AsideEvent, freshEventsMax, freshWindow, type PlanFacts } from "../core/delivery/machine.ts";
import type { DeliverySettings } from "../core/delivery/settings.ts";
import type { Log } from "../log/log.ts";
import type { DestinationConfig } from "../tenants/config.ts";
import { leftOut } from "./left-out.ts";
import { type FreshEvents, LookAhead } from "./look-ahead.ts";
import type { Memory } from "./memory.ts";

/** Set-aside events looked at for one plan. */
const ASIDE_LOOK_AHEAD = 64;
/** A stretch that the filter passed over moves the position when it is this long, or this old. */
const PASSED_OVER_MIN = 1_000;
const PASSED_OVER_MAX_AGE_MS = 60_000;

export class Outlook {
  readonly #log: Log;
  readonly #name: string;
  readonly #ahead: LookAhead;
  #config: DestinationConfig;

  constructor(log: Log, name: string, config: DestinationConfig) {
    this.#log = log;
    this.#name = name;
    this.#config = config;
    this.#ahead = new LookAhead(log.events);
  }

  use(config: DestinationConfig): void {
    this.#config = config;
    this.#ahead.reset();
  }

  /** What was read ahead may be wrong: it is read again. */
  reset(): void {
    this.#ahead.reset();
  }

  /** `single` sends one event a request, whatever the batch settings say [V3]. */
  get settings(): DeliverySettings {
    const { delivery, format } = this.#config;
    return format === "single" ? { ...delivery, batch: { ...delivery.batch, maxEvents: 1 } } : delivery;
  }

  /** When a stretch that the filter passed over moves the position: a long or an old one, and nothing else is waiting. */
  passedOverDueMs(memory: Memory, fresh: FreshEvents): number | null {
    if (fresh.headsAhead > 0 || fresh.passedOverSinceMs === null) return null;
    const { fromSeq, toSeq } = freshWindow(memory.row, memory.live);
    if (fresh.scannedToSeq < fromSeq) return null;
    // A gap in front of what was dealt with already: the events behind it must not wait for it.
    if (toSeq !== null && fresh.scannedToSeq >= toSeq) return fresh.passedOverSinceMs;
    const isLong = fresh.scannedToSeq - fromSeq + 1 >= PASSED_OVER_MIN;
    return fresh.passedOverSinceMs + (isLong ? 0 : PASSED_OVER_MAX_AGE_MS);
  }

  /** The fresh events that come next, within the machine's window. */
  fresh(memory: Memory): FreshEvents {
    const { fromSeq, toSeq } = freshWindow(memory.row, memory.live);
    const { filter } = this.#config;
    const delivery = this.settings;
    const markSeq = this.#log.segments.high.seq;
    return this.#ahead.fresh(
      fromSeq,
      toSeq === null ? markSeq : Math.min(toSeq, markSeq),
      filter,
      freshEventsMax(memory.row, delivery),
      delivery.batch.maxBytes,
      leftOut(this.#log, memory.cursor),
    );
  }

  /** What the machine wants to know when it plans. */
  facts(memory: Memory, fresh: FreshEvents, nowMs: number, otherDestinationsWaiting: boolean): PlanFacts {
    const [first] = fresh.heads;
    return {
      nowMs,
      settings: this.settings,
      fresh: first === undefined ? null : { firstReceivedAtMs: first.receivedAtMs, full: fresh.full },
      asideDue: memory.cursor.aside === 0 ? [] : this.#asideDue(memory),
      otherDestinationsWaiting,
    };
  }

  #asideDue(memory: Memory): AsideEvent[] {
    const inFlight = new Set(
      memory.live.flights
        .filter((flight) => !flight.inLog)
        .flatMap((flight) => flight.events.map((event) => event.seq)),
    );
    return this.#log.aside
      .due(this.#name, ASIDE_LOOK_AHEAD)
      .filter((row) => !inFlight.has(row.seq))
      .map((row) => JSON.parse(row.event) as AsideEvent);
  }
}
