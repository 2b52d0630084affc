/** The events that a range of dead letters stands for: those its filter lets pass [L6]. One that is erased leaves it. */
import { type EventFilter, passes } from "../core/filter.ts";
import type { DeadRange } from "../log/dead-ranges.ts";
import type { EventHead } from "../log/events.ts";
import type { Log } from "../log/log.ts";

/** Heads of the dead events in `[first, last]` of a range, in order; at most 1,000, as long as a range is. */
export function deadHeads(log: Log, range: Pick<DeadRange, "filter">, first: number, last: number): EventHead[] {
  const filter = JSON.parse(range.filter) as EventFilter | null;
  const heads = log.events.heads(first - 1, last - first + 1).filter((head) => head.seq <= last);
  const kept = log.events.keptHeads(first - 1, last, last - first + 1);
  const known = new Set(heads.map((head) => head.seq));
  return [...heads, ...kept.filter((head) => !known.has(head.seq))]
    .filter((head) => passes(filter, head.source, head.type))
    .sort((a, b) => a.seq - b.seq);
}

/** How many dead events `[first, last]` of the range holds. Without a filter none needs to be looked at. */
function deadCountIn(log: Log, range: DeadRange, first: number, last: number): number {
  const isWhole = range.eventCount === range.lastSeq - range.firstSeq + 1;
  return isWhole ? last - first + 1 : deadHeads(log, range, first, last).length;
}

/** Takes one event out of the dead letters of a destination, whichever form it has there. */
export function removeDead(log: Log, destination: string, seq: number): void {
  const range = log.dead.find(destination, seq) === null ? log.dead.ranges.find(destination, seq) : null;
  log.dead.remove(destination, seq, (first, last) => (range === null ? 0 : deadCountIn(log, range, first, last)));
}
