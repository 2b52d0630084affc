import { joinedBytes } from "../core/joined-bytes.ts";

/** What was read of a destination's answer [V8]. */
export interface AnswerBody {
  readonly bytes: Uint8Array;
  /** There was more than is read; the rest has been cancelled. */
  readonly truncated: boolean;
}

const READ_BYTES_MAX = 256 * 1024;
const EXCERPT_BYTES_MAX = 8 * 1024;

/** A UTF-16 unit never takes more than this in UTF-8. */
const UTF8_BYTES_PER_UNIT_MAX = 3;

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/**
 * Reads at most 256 KiB of an answer and cancels what follows, so that the connection is free again. Rejects when the
 * connection breaks, or the request is aborted, while there is more to come.
 */
export async function readAnswer(response: Response): Promise<AnswerBody> {
  if (response.body === null) return { bytes: new Uint8Array(), truncated: false };
  if (isShort(response.headers)) return { bytes: new Uint8Array(await response.arrayBuffer()), truncated: false };
  const reader = response.body.getReader();
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { bytes: joinedBytes(chunks, sizeBytes), truncated: false };
    const room = READ_BYTES_MAX - sizeBytes;
    if (value.length > room) {
      chunks.push(value.subarray(0, room));
      // Not awaited: a destination that never ends is not given the time to confirm it.
      reader.cancel().catch(() => {});
      return { bytes: joinedBytes(chunks, READ_BYTES_MAX), truncated: true };
    }
    chunks.push(value);
    sizeBytes += value.length;
  }
}

/** Whether the answer says how long it is and may be read as a whole; a compressed one may be longer than it says. */
function isShort(headers: Headers): boolean {
  const length = headers.get("content-length");
  return length !== null && Number(length) <= READ_BYTES_MAX && !headers.has("content-encoding");
}

/**
 * What a person needs to see of an answer, at most 8 KiB: where a redirect points to (without its query), what
 * `Retry-After` said word for word, then the beginning of the body.
 */
export function excerptOf(headers: Headers, bytes: Uint8Array): string {
  const location = headers.get("location");
  const retryAfter = headers.get("retry-after");
  const head = [
    location === null ? "" : `Location: ${location.replace(/[?#].*$/s, "")}\n`,
    retryAfter === null ? "" : `Retry-After: ${retryAfter}\n`,
  ].join("");
  const prefix = head === "" ? "" : `${head.slice(0, 1_024)}\n`;
  const text = prefix + decoder.decode(bytes.subarray(0, EXCERPT_BYTES_MAX));
  if (text.length * UTF8_BYTES_PER_UNIT_MAX <= EXCERPT_BYTES_MAX) return text;
  // Bytes that are not UTF-8 grow when they are decoded: the text is measured again, and never cut inside a character.
  return text.slice(0, encoder.encodeInto(text, new Uint8Array(EXCERPT_BYTES_MAX)).read);
}
