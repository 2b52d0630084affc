import type { IdTrust } from "../core/event.ts";
import { BODY_DIGEST_BYTES, EVENT_KEY_BYTES, eventKey } from "../core/event-key.ts";
import { digest } from "../providers/crypto.ts";

/** SHA-256 of the exact bytes of a body. */
export function bodyDigest(body: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  return digest("SHA-256", body);
}

/**
 * The digests an ingest call carries, in one piece [D7] [D8]: 16 bytes for the event id, 8 for the body, and where the
 * signature does not cover the id, 16 for the id with the body's suffix.
 */
export function ingestKeys(eventId: string, trust: IdTrust, bodySha256: Uint8Array): Uint8Array {
  const isSuffixed = trust === "unsigned";
  const bodyPart = bodySha256.subarray(0, BODY_DIGEST_BYTES);
  const keys = new Uint8Array(EVENT_KEY_BYTES + BODY_DIGEST_BYTES + (isSuffixed ? EVENT_KEY_BYTES : 0));
  keys.set(eventKey(eventId));
  keys.set(bodyPart, EVENT_KEY_BYTES);
  if (isSuffixed) keys.set(eventKey(`${eventId}~${bodyPart.toHex()}`), EVENT_KEY_BYTES + BODY_DIGEST_BYTES);
  return keys;
}
