/** Whether an object has nothing to do, so that the sweep may forget it until it says that this is over [V20](f). */
import type { Log } from "../log/log.ts";
import type { Roster } from "./roster.ts";

const IDLE_MS = 3_600_000;

/** Nothing had arrived for an hour before now. */
export function hadBeenIdle(log: Log, nowMs: number): boolean {
  return nowMs - log.segments.high.receivedAtMs >= IDLE_MS;
}

/** Nothing arrived for an hour, and nothing waits. */
export function isIdle(log: Log, roster: Roster, nowMs: number): boolean {
  return hadBeenIdle(log, nowMs) && roster.all.every((destination) => destination.backlogEvents() === 0);
}
