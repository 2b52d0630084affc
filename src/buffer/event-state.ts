/** In which part of a destination's ledger one event is [X5] [X7]: exactly one, at any time. */
import type { AsideEvent } from "../core/delivery/machine.ts";
import { type EventFilter, passes } from "../core/filter.ts";
import { isCovered } from "../core/ledger.ts";
import type { AsideRow } from "../log/aside.ts";
import { type DeadLetter, markOf } from "../log/dead-letters.ts";
import type { DeadRange } from "../log/dead-ranges.ts";
import type { EventHead } from "../log/events.ts";
import type { Log } from "../log/log.ts";
import type { EventState } from "./contract.ts";
import type { Destination } from "./destination.ts";

/** The state, and the row that says so where there is one. */
export interface Place {
  readonly state: EventState;
  readonly aside: AsideRow | null;
  readonly letter: DeadLetter | null;
  readonly range: DeadRange | null;
}

export function placeOf(log: Log, destination: Destination, head: EventHead): Place {
  const { name, cursor } = destination;
  const nowhere = { aside: null, letter: null, range: null };
  const aside = cursor.aside === 0 ? null : log.aside.find(name, head.seq);
  if (aside !== null) {
    const { lane } = JSON.parse(aside.event) as AsideEvent;
    return { ...nowhere, state: lane === "redrive" ? "backlog" : "retrying", aside };
  }
  const letter = log.dead.find(name, head.seq);
  const mark = letter === null ? null : markOf(letter);
  if (mark !== null) return { ...nowhere, state: mark };
  if (letter !== null) return { ...nowhere, state: letter.state, letter };
  const range = log.dead.ranges.find(name, head.seq);
  if (range !== null) {
    const isDead = passes(JSON.parse(range.filter) as EventFilter | null, head.source, head.type);
    return isDead ? { ...nowhere, state: range.state, range } : { ...nowhere, state: "filtered" };
  }
  return { ...nowhere, state: restingState(log, destination, head) };
}

/** What the destination's position and its filter say of an event that has no row of its own there. */
export function restingState(log: Log, destination: Destination, head: EventHead): EventState {
  const { name, row, cursor } = destination;
  if (head.seq <= cursor.baseSeq) return "not-offered";
  if (!isCovered(row.position, row.settledRanges, head.seq)) return "backlog";
  return passes(log.filters.at(name, head.seq), head.source, head.type) ? "delivered" : "filtered";
}
