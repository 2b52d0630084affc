/** Events ahead of a destination's position that are dealt with already: given up by hand, erased, or unreadable. */
import type { Cursor } from "../log/cursors.ts";
import type { Log } from "../log/log.ts";

/** Each has a row among the dead letters, which outlives the object; most destinations have none, and read nothing. */
export function leftOut(log: Log, cursor: Cursor): (seq: number) => boolean {
  return cursor.settledAhead === 0 ? () => false : (seq) => log.dead.find(cursor.name, seq) !== null;
}
