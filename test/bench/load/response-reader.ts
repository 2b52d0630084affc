const HEAD_END = Buffer.from("\r\n\r\n");
const CHUNKED_END = Buffer.from("0\r\n\r\n");

/**
 * Finds the end of one HTTP/1.1 response at a time, and its status. It reads no more of it than that, for the
 * processor time of the client is taken from the server under test.
 */
export class ResponseReader {
  #pending: Buffer | null = null;

  /** Takes what arrived; the status once the response is complete, else null. One response is outstanding at most. */
  push(chunk: Buffer): number | null {
    const bytes = this.#pending === null ? chunk : Buffer.concat([this.#pending, chunk]);
    if (!isComplete(bytes)) {
      this.#pending = bytes;
      return null;
    }
    this.#pending = null;
    return Number(bytes.toString("latin1", 9, 12));
  }
}

function isComplete(bytes: Buffer): boolean {
  const headEnd = bytes.indexOf(HEAD_END);
  if (headEnd < 0) return false;
  const head = bytes.toString("latin1", 0, headEnd).toLowerCase();
  const lengthAt = head.indexOf("\r\ncontent-length:");
  if (lengthAt >= 0) {
    return bytes.length >= headEnd + 4 + Number.parseInt(head.slice(lengthAt + "\r\ncontent-length:".length), 10);
  }
  return !head.includes("\r\ntransfer-encoding: chunked") || bytes.subarray(-CHUNKED_END.length).equals(CHUNKED_END);
}
