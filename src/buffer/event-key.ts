/** Finds an event by its id: the first 16 bytes of the id's SHA-256 are its key [D8]. */
import { BODY_DIGEST_BYTES, eventKey } from "../core/event-key.ts";
import type { Log } from "../log/log.ts";

/**
 * The sequence number of the event with this id, or null. An id that came again after its window is stored with `~` and
 * a time behind it, under the key of the id without them; one whose id the signature does not cover has its own.
 */
export function findSeq(log: Log, eventId: string): number | null {
  const found = log.keys.find(eventKey(eventId));
  if (found !== null) return found.seq;
  const again = /^(.+)~\d{10,16}$/.exec(eventId)?.[1];
  const base = again === undefined ? null : log.keys.find(eventKey(again));
  return base !== null && log.events.meta(base.seq)?.eventId === eventId ? base.seq : null;
}

/** The first 8 bytes of a body's SHA-256, as they stand beside its key [D7]. */
export async function bodyDigestOf(body: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", body), 0, BODY_DIGEST_BYTES);
}
