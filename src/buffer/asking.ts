/**
 * Permits for shared hosts in a run [V27]: one is asked for at a time and destination, before its batch is made; while it
 * is asked for it counts as under way, and the destination is not due.
 */
import type { Destination } from "./destination.ts";
import type { Flight, Flights } from "./flights.ts";
import { ASK_LIMIT_MS, type Permit, type Permits } from "./permits.ts";

export class Asking {
  readonly #permits: Permits;
  readonly #flights: Flights;
  readonly #clock: () => number;
  readonly #asked = new Map<Destination, Flight>();
  /** Permits that came, for a request to be begun at once. */
  readonly #lent = new Map<Destination, Permit>();

  constructor(permits: Permits, flights: Flights, clock: () => number) {
    this.#permits = permits;
    this.#flights = flights;
    this.#clock = clock;
  }

  /**
   * Whether a permit is at hand for `destination`; else one is asked for, if there is room for its request. `announce` is
   * called when there is news.
   */
  hasPermit(destination: Destination, sharedHost: string, host: string, nowMs: number, announce: () => void): boolean {
    if (this.#lent.has(destination)) return true;
    if (this.#asked.has(destination) || this.#flights.roomAt(host) <= 0) return false;
    const flight: Flight = { destination, host, exclusive: false };
    this.#asked.set(destination, flight);
    this.#flights.add(flight);
    destination.notBeforeMs = nowMs + ASK_LIMIT_MS * 2;
    void this.#permits.ask(sharedHost, destination.config.delivery.timeoutMs).then((answer) => {
      const isWanted = this.#asked.get(destination) === flight;
      if (isWanted) this.#end(destination, answer.kind === "later" ? this.#clock() + answer.afterMs : 0);
      if (answer.kind === "lent" && isWanted) this.#lent.set(destination, answer.permit);
      else if (answer.kind === "lent") answer.permit.end("unused");
      announce();
    });
    return false;
  }

  /** The permit at hand, which is the caller's from now on. */
  take(destination: Destination): Permit | null {
    const permit = this.#lent.get(destination) ?? null;
    this.#lent.delete(destination);
    return permit;
  }

  /** Nothing more may be begun in this run: the next one asks anew. */
  stop(): void {
    for (const destination of [...this.#asked.keys()]) this.#end(destination, 0);
    this.dropUnused();
  }

  /** Permits that came when nothing was to be sent any more. */
  dropUnused(): void {
    for (const permit of this.#lent.values()) permit.end("unused");
    this.#lent.clear();
  }

  #end(destination: Destination, notBeforeMs: number): void {
    const flight = this.#asked.get(destination);
    if (flight !== undefined) this.#flights.delete(flight);
    this.#asked.delete(destination);
    destination.notBeforeMs = notBeforeMs;
  }
}
