/** What an object has under way to the hosts of its destinations, permits asked for included [V13]. */
import type { Destination } from "./destination.ts";

export interface Flight {
  readonly destination: Destination;
  readonly host: string;
  /** Nothing goes beside it [V26]. */
  readonly exclusive: boolean;
}

/** Requests at once from one object: the platform holds more back, and their timers would start too early [V13]. */
export const IN_FLIGHT_MAX = 6;
const IN_FLIGHT_PER_HOST_MAX = 5;

export class Flights {
  readonly #flights = new Set<Flight>();

  get count(): number {
    return this.#flights.size;
  }

  add(flight: Flight): void {
    this.#flights.add(flight);
  }

  delete(flight: Flight): void {
    this.#flights.delete(flight);
  }

  /** How many more may go to `host` now. */
  roomAt(host: string): number {
    const all = [...this.#flights];
    if (all.some((flight) => flight.exclusive)) return 0;
    const toHost = all.filter((flight) => flight.host === host).length;
    return Math.min(IN_FLIGHT_MAX - all.length, IN_FLIGHT_PER_HOST_MAX - toHost);
  }

  /** How many each destination has, by its name. */
  perDestination(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const { destination } of this.#flights) counts.set(destination.name, (counts.get(destination.name) ?? 0) + 1);
    return counts;
  }
}
