/** In which part of a destination's ledger one event is [X5] [X7]: exactly one, at any time. */
import type { AsideEvent } from "../core/delivery/machine.ts";
import { passes } from "../core/filter.ts";
import { isCovered } from "../core/ledger.ts";
import type { AsideRow } from "../log/aside.ts";
import type { DeadLetter } from "../log/dead-letters.ts";
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
  const { name, row, cursor } = destination;
  const nowhere = { aside: null, letter: null, range: null };
  const aside = cursor.aside === 0 ? null : log.aside.find(name, head.seq);
  if (aside !== null) {
    const { lane } = JSON.parse(aside.event) as AsideEvent;
    return { ...nowhere, state: lane === "redrive" ? "backlog" : "retrying", aside };
  }
  const letter = log.dead.find(name, head.seq);
  if (letter !== null) return { ...nowhere, state: letter.state, letter };
  const filter = log.filters.at(name, head.seq);
  const isWanted = passes(filter, head.source, head.type);
  const range = log.dead.ranges.find(name, head.seq);
  if (range !== null && isWanted && !head.erased) return { ...nowhere, state: range.state, range };
  const isOffered = head.seq > cursor.baseSeq;
  if (!isOffered) return { ...nowhere, state: wasDelivered(log, name, head.seq) ? "delivered" : "not-offered" };
  const isSettled = isCovered(row.position, row.settledRanges, head.seq);
  if (head.erased && !wasDelivered(log, name, head.seq)) return { ...nowhere, state: isWanted ? "erased" : "filtered" };
  if (!isSettled) return { ...nowhere, state: "backlog" };
  return { ...nowhere, state: isWanted || wasDelivered(log, name, head.seq) ? "delivered" : "filtered" };
}

function wasDelivered(log: Log, name: string, seq: number): boolean {
  return log.attempts.of(name, seq).some((attempt) => attempt.outcome.startsWith("accepted"));
}
