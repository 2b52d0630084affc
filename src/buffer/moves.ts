/**
 * One event changes its place in a destination's ledger by an operator's hand [X5]: redriven, replayed, purged, erased,
 * given up. Each is to be called in a transaction whose failure restores the destination's memory.
 */
import { type AsideEvent, remove } from "../core/delivery/machine.ts";
import { isCovered } from "../core/ledger.ts";
import { ERASED } from "../log/dead-letters.ts";
import type { EventHead } from "../log/events.ts";
import type { Log } from "../log/log.ts";
import { removeDead } from "./dead-range.ts";
import type { Destination } from "./destination.ts";
import { diedNow } from "./died-now.ts";
import { type Place, placeOf, restingState } from "./event-state.ts";
import { asideChanged, counted, type Memory, settledAhead } from "./memory.ts";

/**
 * Puts a dead event back in the backlog, due at once and with fresh attempts: redriven by a job [X2], or re-opened by a
 * repeat (`job` null), which brings back an expired one as well [D6].
 */
export function redriveEvent(
  log: Log,
  destination: Destination,
  head: EventHead,
  nowMs: number,
  job: string | null,
): boolean {
  const place = placeOf(log, destination, head);
  if (head.erased) {
    // There is nothing to send; one that is dead all the same is put right.
    if (place.state !== "dead") return false;
    eraseAt(log, destination, head);
    return true;
  }
  const isReopened = job === null && place.state === "expired";
  if (place.state !== "dead" && !isReopened) return false;
  removeDead(log, destination.name, head.seq);
  putBack(log, destination, head, { nowMs, job, isReplay: false, attempts: place.letter?.attempts ?? "" });
  destination.believe(counted(destination.memory, place.state === "dead" ? { dead: -1 } : { expired: -1 }));
  return true;
}

/** Sends an event again to a destination that had it delivered, filtered, or never offered [X3]. */
export function replayEvent(log: Log, destination: Destination, head: EventHead, nowMs: number, job: string): boolean {
  const { state } = placeOf(log, destination, head);
  if (head.erased || (state !== "delivered" && state !== "filtered" && state !== "not-offered")) return false;
  putBack(log, destination, head, { nowMs, job, isReplay: true, attempts: "" });
  if (state === "filtered") destination.believe(counted(destination.memory, { filtered: -1 }));
  else if (state === "delivered") destination.believe(counted(destination.memory, { delivered: -1 }));
  else destination.believe(offeredOnceMore(destination.memory));
  return true;
}

/** An event from before the destination began is offered to it now [X5]. */
function offeredOnceMore(memory: Memory): Memory {
  return { ...memory, cursor: { ...memory.cursor, offeredExtra: memory.cursor.offeredExtra + 1 } };
}

/** A dead letter goes for good; its id stays known [X4]. */
export function purgeEvent(log: Log, destination: Destination, head: EventHead): boolean {
  const place = placeOf(log, destination, head);
  if (place.letter?.state === "dead") log.dead.markPurged(destination.name, head.seq);
  else if (place.range?.state === "dead") {
    const { range } = place;
    removeDead(log, destination.name, head.seq);
    const { reason, diedAtMs, expiresAtMs } = range;
    log.dead.insert(destination.name, {
      seq: head.seq,
      state: "purged",
      reason,
      diedAtMs,
      expiresAtMs,
      charged: 0,
      attempts: "",
    });
  } else return false;
  destination.believe(counted(destination.memory, { dead: -1, purged: 1 }));
  return true;
}

/** The destination's side of an erasure: an event in backlog or dead moves to `erased`, anything else stays what it is [X6]. */
export function eraseAt(log: Log, destination: Destination, head: EventHead): void {
  const place = placeOf(log, destination, head);
  if (place.state === "dead") {
    removeDead(log, destination.name, head.seq);
    destination.believe(counted(destination.memory, { dead: -1, erased: 1 }));
  } else if (isInBacklog(place)) {
    leaveBacklog(log, destination, head, place);
    destination.believe(counted(destination.memory, { erased: 1 }));
  } else {
    if (place.state === "expired") closeExpired(log, destination, head, place);
    return;
  }
  log.dead.mark(destination.name, head.seq, "erased");
}

/** It stays expired; its row says, also when its bytes are gone, that no repeat opens it again [D6]. */
function closeExpired(log: Log, destination: Destination, { seq }: EventHead, { letter, range }: Place): void {
  const { diedAtMs, expiresAtMs } = letter ?? range ?? { diedAtMs: 0, expiresAtMs: 0 };
  removeDead(log, destination.name, seq);
  const row = { seq, state: "expired", reason: ERASED, diedAtMs, expiresAtMs, charged: 0, attempts: "" } as const;
  log.dead.insert(destination.name, row);
}

/**
 * Gives an event of the backlog up by hand [V15]. One that was erased before the destination began (`from: "oldest"`) has
 * nothing to be redriven: it ends as erased [X6].
 */
export function giveUpByHand(log: Log, destination: Destination, head: EventHead, nowMs: number): boolean {
  const place = placeOf(log, destination, head);
  if (!isInBacklog(place)) return false;
  if (head.erased) {
    eraseAt(log, destination, head);
    return true;
  }
  leaveBacklog(log, destination, head, place);
  const { deadLetterTtlSeconds } = destination;
  const history = {
    charged: place.aside === null ? 0 : (JSON.parse(place.aside.event) as AsideEvent).charged,
    attempts: place.aside?.attempts ?? "",
  };
  log.dead.insert(destination.name, diedNow(head.seq, "by-hand", { nowMs, deadLetterTtlSeconds }, history));
  destination.believe(counted(destination.memory, { dead: 1 }));
  return true;
}

/** A queue's consumer gave the event up: it was handed over, and did not arrive [V19]. */
export function buryDelivered(log: Log, destination: Destination, head: EventHead, nowMs: number): boolean {
  if (placeOf(log, destination, head).state !== "delivered") return false;
  const { deadLetterTtlSeconds } = destination;
  log.dead.insert(destination.name, diedNow(head.seq, "queue-exhausted", { nowMs, deadLetterTtlSeconds }));
  destination.believe(counted(destination.memory, { delivered: -1, dead: 1 }));
  return true;
}

function isInBacklog(place: Place): boolean {
  return place.state === "backlog" || place.state === "retrying";
}

/** Takes an event out of the backlog; what is in flight of it is finished, and its outcome dropped. */
function leaveBacklog(log: Log, destination: Destination, head: EventHead, place: Place): void {
  const { row, live } = destination.memory;
  const removed = remove(row, live, head.seq);
  let memory = { ...destination.memory, row: removed.row, live: removed.live };
  const isAhead = !isCovered(memory.row.position, memory.row.settledRanges, head.seq);
  if (place.aside !== null) {
    // Moved out of the log before, it was put back beside it: where the position passes it only now, it is ahead no more.
    const wasAhead = !isCovered(row.position, row.settledRanges, head.seq);
    log.aside.remove(destination.name, head.seq);
    memory = asideChanged(memory, -1, -head.sizeBytes);
    if (wasAhead && !isAhead) memory = settledAhead(memory, -1);
  } else if (isAhead) memory = settledAhead(memory, 1);
  destination.believe(memory);
  destination.outlook.reset();
}

interface PutBack {
  readonly nowMs: number;
  readonly job: string | null;
  readonly isReplay: boolean;
  readonly attempts: string;
}

function putBack(log: Log, destination: Destination, head: EventHead, how: PutBack): void {
  const event: AsideEvent = {
    seq: head.seq,
    lane: "redrive",
    failures: 0,
    charged: 0,
    firstFailureAtMs: 0,
    lastFailureAtMs: 0,
    dueAtMs: how.nowMs,
    waitingSinceMs: how.nowMs,
    busies: 0,
    reason: "redrive",
    ...(how.isReplay ? { replay: true } : {}),
    ...(how.job === null ? {} : { job: how.job }),
  };
  const { seq, dueAtMs } = event;
  log.aside.put(destination.name, { seq, dueAtMs, event: JSON.stringify(event), attempts: how.attempts });
  destination.believe(asideChanged(destination.memory, 1, head.sizeBytes));
  // Once it is delivered it has no row left, and nothing else would say that it was.
  if (restingState(log, destination, head) !== "delivered") log.dead.mark(destination.name, seq, "delivered");
}
