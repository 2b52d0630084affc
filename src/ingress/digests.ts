import type { IdTrust } from "../core/event.ts";
import { utf8 } from "../providers/bytes.ts";
import { digest } from "../providers/crypto.ts";

const KEY_BYTES = 16;
const BODY_DIGEST_BYTES = 8;

/** SHA-256 of the exact bytes of a body. */
export function bodyDigest(body: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  return digest("SHA-256", body);
}

/**
 * The digests an ingest call carries, in one piece [D7] [D8]: 16 bytes for the event id, 8 for the body, and where the
 * signature does not cover the id, 16 for the id with the body's suffix.
 */
export async function ingestKeys(eventId: string, trust: IdTrust, bodySha256: Uint8Array): Promise<Uint8Array> {
  const idDigest = await digest("SHA-256", utf8(eventId));
  const isSuffixed = trust === "unsigned";
  const keys = new Uint8Array(KEY_BYTES + BODY_DIGEST_BYTES + (isSuffixed ? KEY_BYTES : 0));
  keys.set(idDigest.subarray(0, KEY_BYTES));
  const bodyPart = bodySha256.subarray(0, BODY_DIGEST_BYTES);
  keys.set(bodyPart, KEY_BYTES);
  if (isSuffixed) {
    const suffixed = await digest("SHA-256", utf8(`${eventId}~${bodyPart.toHex()}`));
    keys.set(suffixed.subarray(0, KEY_BYTES), KEY_BYTES + BODY_DIGEST_BYTES);
  }
  return keys;
}
