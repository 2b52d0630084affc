/** Walking through stored events a bounded stretch at a time, so that long work never holds up what arrives [X2] [X8]. */
import { isSelected, type Selection } from "../core/selection.ts";
import type { EventHead } from "../log/events.ts";
import type { Log } from "../log/log.ts";
import { deadHeads } from "./dead-range.ts";

export interface Stretch {
  readonly heads: readonly EventHead[];
  /** Where to go on; null: the end was reached. */
  readonly nextSeq: number | null;
}

/** The next stored events from `fromSeq` on that are meant, `throughSeq` being the last; at most `rowsMax` are looked at. */
export function nextStored(
  log: Log,
  selection: Selection,
  fromSeq: number,
  throughSeq: number,
  rowsMax: number,
): Stretch {
  const inLog = log.events.heads(fromSeq - 1, rowsMax).filter((head) => head.seq <= throughSeq);
  const lastSeq = inLog.length < rowsMax ? throughSeq : (inLog.at(-1)?.seq ?? throughSeq);
  const known = new Set(inLog.map((head) => head.seq));
  const kept = log.events.keptHeads(fromSeq - 1, lastSeq, rowsMax).filter((head) => !known.has(head.seq));
  const heads = [...inLog, ...kept].sort((a, b) => a.seq - b.seq).filter((head) => isSelected(selection, head));
  return { heads, nextSeq: lastSeq >= throughSeq ? null : lastSeq + 1 };
}

/** The next dead letters of `destination` that are meant: those with rows of their own and those in ranges. */
export function nextDead(
  log: Log,
  destination: string,
  selection: Selection,
  fromSeq: number,
  throughSeq: number,
  rowsMax: number,
): Stretch {
  const letters = log.dead.list(destination, "dead", fromSeq - 1, rowsMax).filter((each) => each.seq <= throughSeq);
  const [range] = log.dead.ranges.list(destination, "dead", fromSeq - 1, 1);
  const lettersEnd = letters.length < rowsMax ? throughSeq : (letters.at(-1)?.seq ?? throughSeq);
  const rangeFirst = range === undefined ? null : Math.max(range.firstSeq, fromSeq);
  // Ranges are taken one at a time: everything before one first, then the range itself.
  const isAtRange = rangeFirst !== null && rangeFirst <= Math.min(lettersEnd, throughSeq);
  const lastSeq =
    isAtRange && range !== undefined ? Math.min(range.lastSeq, lettersEnd, rangeFirst + rowsMax - 1) : lettersEnd;
  const heads: EventHead[] = [];
  for (const letter of letters) {
    if (letter.seq > lastSeq) break;
    const head = log.events.head(letter.seq);
    if (head !== null && isSelected(selection, head, letter.reason)) heads.push(head);
  }
  if (isAtRange && range !== undefined) {
    for (const head of deadHeads(log, range, rangeFirst, Math.min(lastSeq, throughSeq))) {
      if (isSelected(selection, head, range.reason)) heads.push(head);
    }
  }
  heads.sort((a, b) => a.seq - b.seq);
  return { heads, nextSeq: lastSeq >= throughSeq ? null : lastSeq + 1 };
}
