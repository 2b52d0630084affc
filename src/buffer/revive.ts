/** Events that change sides outside a delivery: a dead one comes back [D6] [X2], the oldest of a destination that is off make room [R4]. */
import type { AsideEvent } from "../core/delivery/machine.ts";
import type { Log } from "../log/log.ts";
import type { TenantConfig } from "../tenants/config.ts";
import type { Destination } from "./destination.ts";
import { buryThrough } from "./give-up.ts";
import { asideChanged, counted } from "./memory.ts";

/** The share of its bound that a destination loses at a time, and at least one event [R4]. */
const SHED_SHARE = 0.01;

/**
 * Puts a dead or expired event back in the backlog of `destination`, due at once and with fresh attempts. To be called
 * in a transaction; false where the event is neither dead nor expired there.
 */
export function reopen(log: Log, destination: Destination, seq: number, nowMs: number): boolean {
  const { name } = destination;
  const letter = log.dead.find(name, seq) ?? log.dead.findRange(name, seq);
  if (letter === null || letter.state === "purged") return false;
  const attempts = "attempts" in letter ? letter.attempts : "";
  log.dead.remove(name, seq);
  const event: AsideEvent = {
    seq,
    lane: "redrive",
    failures: 0,
    charged: 0,
    firstFailureAtMs: 0,
    lastFailureAtMs: 0,
    dueAtMs: nowMs,
    waitingSinceMs: nowMs,
    busies: 0,
    reason: "redrive",
  };
  log.aside.put(name, { seq, dueAtMs: nowMs, event: JSON.stringify(event), attempts });
  const bytes = log.events.head(seq)?.sizeBytes ?? 0;
  const side = letter.state === "dead" ? { dead: -1 } : { expired: -1 };
  destination.believe(counted(asideChanged(destination.memory, 1, bytes), side));
  destination.write();
  return true;
}

/**
 * Buries the oldest events of a destination that is paused or disabled and over its bound, as one range. To be called in
 * a transaction; false where nothing could be buried.
 */
export function shed(log: Log, destination: Destination, config: TenantConfig, nowMs: number): boolean {
  const { row, live } = destination.memory;
  if (live.flights.length > 0 || row.position >= log.segments.high.seq) return false;
  const count = Math.max(1, Math.floor(config.maxBacklogEvents * SHED_SHARE));
  const throughSeq = Math.min(log.segments.high.seq, row.position + count);
  const recording = destination.recording(nowMs);
  const facts = destination.settleFacts(nowMs, 0.5);
  destination.believe(buryThrough(log, destination.memory, throughSeq, "backlog-full", recording, facts));
  destination.write();
  log.alerts.raise("backlog-full", destination.name, nowMs, "its oldest events went to the dead letters to make room");
  return true;
}
