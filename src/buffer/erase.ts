/** Erasing an event [X6]: its bytes and kept headers go wherever they are; its key stays, so that a repeat is a duplicate. */
import type { EventHead } from "../log/events.ts";
import type { Log } from "../log/log.ts";
import { eraseAt } from "./moves.ts";
import type { Roster } from "./roster.ts";

/** To be called in a transaction; the destinations' rows are the caller's to write. */
export function eraseEvent(log: Log, roster: Roster, head: EventHead, nowMs: number): void {
  if (head.erased) return;
  for (const destination of roster.all) {
    eraseAt(log, destination, head);
    log.dead.forgetAttempts(destination.name, head.seq);
    log.attempts.forgetAnswers(destination.name, head.seq);
  }
  log.events.erase(head.seq, nowMs);
}
