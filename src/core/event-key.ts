/**
 * The key an event is found by [D8]. Computed at once and not by WebCrypto, whose promise costs several times what the
 * digest of so short a text does; and so it can be made within a transaction.
 */
import { sha256 } from "@noble/hashes/sha2.js";

export const EVENT_KEY_BYTES = 16;
/** What is kept of a body's digest beside the key [D7]. */
export const BODY_DIGEST_BYTES = 8;

const encoder = new TextEncoder();

/** The first 16 bytes of the SHA-256 of the id's UTF-8 bytes. */
export function eventKey(eventId: string): Uint8Array<ArrayBuffer> {
  return sha256(utf8Of(eventId)).slice(0, EVENT_KEY_BYTES);
}

/** Ids are ASCII unless someone asks for one that cannot be there: a loop is cheaper than the way into the runtime. */
function utf8Of(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code > 127) return encoder.encode(text);
    bytes[index] = code;
  }
  return bytes;
}
