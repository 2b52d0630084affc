/** The small model: in which place of the ledger an event may be after a command, given where it was [X5]. */
import type { EventState, TenantStats } from "../../../src/buffer/contract.ts";
import type { Command } from "./commands.ts";

/** Where every event is at every destination. */
export type States = ReadonlyMap<string, Readonly<Record<string, EventState>>>;

type Ledger = TenantStats["destinations"][string];

const PLACES = ["delivered", "backlog", "dead", "filtered", "purged", "expired", "erased"] as const;
export type Place = (typeof PLACES)[number] | "not-offered";

/** `retrying` is part of the backlog. */
export function placeOf(state: EventState | undefined): Place {
  return state === "retrying" ? "backlog" : (state ?? "not-offered");
}

/** What a command that names events is about. */
export interface Meant {
  readonly id: string;
  readonly isErased: boolean;
}

/** Where a command moves an event by itself, while no run is on; the place it was in where it moves nothing. */
export function placeAfter(command: Command, meant: Meant | null, id: string, name: string, before: Place): Place {
  if (meant === null || meant.id !== id) return before;
  if ("destination" in command && command.destination !== null && command.destination !== name) return before;
  const becomes = (place: Place, ...from: readonly Place[]): Place => (from.includes(before) ? place : before);
  switch (command.kind) {
    case "duplicate":
      return meant.isErased ? before : becomes("backlog", "dead", "expired");
    case "redrive":
      return becomes("backlog", "dead");
    case "purge":
      return becomes("purged", "dead");
    case "replay":
      if (meant.isErased) return before;
      return command.destination === null
        ? becomes("backlog", "delivered")
        : becomes("backlog", "delivered", "filtered", "not-offered");
    case "erase":
      // A destination that has begun with the oldest since meets what is erased already by itself.
      return meant.isErased ? before : becomes("erased", "backlog", "dead");
    case "give-up":
      return becomes(meant.isErased ? "erased" : "dead", "backlog");
    default:
      return before;
  }
}

/** The moves that a kind of command may cause by itself; what a run does is allowed wherever one may be on. */
const MOVES: Readonly<Record<string, readonly string[]>> = {
  run: ["backlog>delivered", "backlog>dead", "backlog>filtered", "dead>expired"],
  duplicate: ["dead>backlog", "expired>backlog"],
  redrive: ["dead>backlog"],
  purge: ["dead>purged"],
  replay: ["delivered>backlog", "filtered>backlog", "not-offered>backlog"],
  // Of those that the filter passes over an erased one is found to be so by the run.
  erase: ["backlog>erased", "dead>erased", "backlog>filtered"],
  "give-up": ["backlog>dead"],
};

/** Whether the command lets a run go on, so that events may be on their way through several places. */
export function hasRun(command: Command): boolean {
  return ["run", "time", "in-flight"].includes(command.kind) || ("at" in command && command.at === "all");
}

/** All moves that may be seen once a command with a run is over, `jobs` being on from before; they follow from each other: dead → backlog → delivered. */
export function movesOf(command: Command, jobs: Iterable<string>): ReadonlySet<string> {
  const during = command.kind === "in-flight" ? command.during.map((each) => each.kind) : [];
  const moves = new Set(["run", command.kind, ...during, ...jobs].flatMap((kind) => MOVES[kind] ?? []));
  for (let size = -1; size !== moves.size; ) {
    size = moves.size;
    for (const first of [...moves]) {
      for (const second of [...moves]) {
        const [from, via] = first.split(">");
        const [start, to] = second.split(">");
        if (via === start) moves.add(`${from}>${to}`);
      }
    }
  }
  return moves;
}

/** Each part of the ledger is as many events as are there, and together they are all. @throws Error if not */
export function checkLedger(name: string, ledger: Ledger, states: States): void {
  const counts = new Map<Place, number>();
  for (const of of states.values()) {
    const place = placeOf(of[name]);
    counts.set(place, (counts.get(place) ?? 0) + 1);
  }
  for (const place of PLACES) {
    const count = counts.get(place) ?? 0;
    if (count !== ledger[place])
      throw new Error(`${name}: ${place} is ${ledger[place]}, and ${count} events are there`);
  }
  checkSum(name, ledger);
}

/** The ledger adds up, and no part of it is below zero. @throws Error if not */
export function checkSum(name: string, ledger: Ledger): void {
  const sum = PLACES.reduce((total, place) => total + ledger[place], 0);
  if (sum !== ledger.offered || PLACES.some((place) => ledger[place] < 0)) {
    throw new Error(`${name} is out of balance: ${JSON.stringify(ledger)}`);
  }
}
