/**
 * A message that the queue gave up on [V19]. The queue may have tried for longer than the event was kept here: what the
 * message holds is then put back under its number, key and all, so that the dead letter can be looked at and redriven.
 */
import { eventKey } from "../core/event-key.ts";
import type { EventHead } from "../log/events.ts";
import type { Log } from "../log/log.ts";
import type { TenantConfig } from "../tenants/config.ts";
import type { ExhaustedCall } from "./contract.ts";
import { bodyDigestOf } from "./event-key.ts";
import { keySegment } from "./open-segments.ts";

interface LostEvent {
  readonly event: NonNullable<ExhaustedCall["event"]>;
  readonly key: Uint8Array;
  readonly bodyDigest: Uint8Array;
}

/** What is needed to put an event back; null where its message does not hold it. */
export async function lostEvent({ event }: ExhaustedCall): Promise<LostEvent | null> {
  if (event === undefined) return null;
  return { event, key: eventKey(event.eventId), bodyDigest: await bodyDigestOf(event.body) };
}

/** Puts it back among the copied-out events; null where it was never stored here. Within the caller's transaction. */
export function reinstate(log: Log, config: TenantConfig, lost: LostEvent, nowMs: number): EventHead | null {
  const { event, key, bodyDigest } = lost;
  const { seq, receivedAtMs, body } = event;
  if (!Number.isSafeInteger(seq) || seq < 1 || seq > log.segments.high.seq) return null;
  if (!log.events.has(seq)) {
    const headers = JSON.stringify(event.headers);
    const stored = { ...event, headers: headers === "{}" ? "" : headers };
    log.events.revive({ ...stored, sizeBytes: body.byteLength, offeredBytes: 0, body });
  }
  // The id may have come again since, as another event: that one keeps its key.
  if (log.keys.find(key) === null) log.keys.insert(keySegment(log, config, nowMs), key, seq, receivedAtMs, bodyDigest);
  return log.events.head(seq);
}
