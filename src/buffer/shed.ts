/** Making room at a destination that is off: its oldest events go to its dead letters [R4]. */
import type { Log } from "../log/log.ts";
import type { TenantConfig } from "../tenants/config.ts";
import type { Destination } from "./destination.ts";
import { buryThrough } from "./give-up.ts";

/** The share of its bound that a destination loses at a time, and at least one event [R4]. */
const SHED_SHARE = 0.01;

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
  destination.believe(
    buryThrough(log, destination.memory, throughSeq, "backlog-full", destination.config.filter, recording, facts),
  );
  destination.write();
  log.alerts.raise("backlog-full", destination.name, nowMs, "its oldest events went to the dead letters to make room");
  return true;
}
