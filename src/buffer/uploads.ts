/**
 * Taking in the bodies of large events [V25]. A body comes as a stream and is staged chunk by chunk, between the commits of
 * other events; the last act is one commit that stores its event [I12]. What did not get so far is removed, here or at the
 * next start, and never counts.
 */
import { CHUNK_BYTES } from "../core/large-body.ts";
import type { Log } from "../log/log.ts";
import type { TenantConfig } from "../tenants/config.ts";
import type { IngestAnswer, LargeIngestCall } from "./contract.ts";
import type { Intake } from "./intake.ts";
import { bodySegment } from "./open-segments.ts";

/** Bodies that come in at a time; each holds a chunk of memory. Others wait. */
const AT_ONCE_MAX = 4;
/** A body that has not come in by then is given up. */
const LIMIT_MS = 60_000;

const NOT_STORED: IngestAnswer = { kind: "unavailable", code: "not-stored", retryAfterSeconds: 30 };

interface UploadParts {
  readonly log: Log;
  readonly intake: Intake;
  readonly config: () => TenantConfig;
  readonly clock: () => number;
  readonly newId: () => string;
}

export class Uploads {
  readonly #parts: UploadParts;
  /** Events whose bodies are coming in, by their keys. */
  readonly #running = new Set<string>();
  #waiting: (() => void)[] = [];
  #isClosed = false;

  constructor(parts: UploadParts) {
    this.#parts = parts;
  }

  /** The tenant is deleted, or its memory made anew: nothing more is written. */
  close(): void {
    this.#isClosed = true;
  }

  /** Stores one large event; answers once it is on disk. Whatever `body` is not needed for is cancelled. Never throws. */
  async take(call: LargeIngestCall, body: ReadableStream<Uint8Array>, isTaken: boolean): Promise<IngestAnswer> {
    const key = call.keys.toHex();
    // A copy of an event that is coming in waits for it: it is a duplicate then, and stages nothing.
    while (this.#running.has(key) || this.#running.size >= AT_ONCE_MAX) await this.#ended();
    this.#running.add(key);
    try {
      return await this.#take(call, body, isTaken);
    } catch (error) {
      console.error(
        JSON.stringify({ event: "not-stored", reason: error instanceof Error ? error.message : "unknown" }),
      );
      return NOT_STORED;
    } finally {
      if (!body.locked) body.cancel().catch(() => {});
      this.#running.delete(key);
      for (const resume of this.#waiting.splice(0)) resume();
    }
  }

  #ended(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  async #take(call: LargeIngestCall, body: ReadableStream<Uint8Array>, isTaken: boolean): Promise<IngestAnswer> {
    const { intake, clock, newId } = this.#parts;
    if (this.#isClosed) return NOT_STORED;
    const foreseen = intake.foresee(call, isTaken, clock());
    if (foreseen === "known") return intake.accept(call, isTaken);
    if (foreseen !== "needed") return foreseen;
    const upload = newId();
    try {
      const isWhole = await this.#stage(upload, call.bodySizeBytes, body);
      if (!isWhole || this.#isClosed) return NOT_STORED;
      return await intake.accept({ ...call, upload: { upload, isText: call.isText } }, isTaken);
    } finally {
      this.#discard(upload);
    }
  }

  /** Writes the body down as it comes; false where it is not of the size that was said. */
  async #stage(upload: string, sizeBytes: number, body: ReadableStream<Uint8Array>): Promise<boolean> {
    const reader = body.getReader({ mode: "byob" });
    const timer = setTimeout(() => void reader.cancel("it took too long").catch(() => {}), LIMIT_MS);
    // One buffer for all chunks: it goes to the stream and comes back filled.
    let buffer = new ArrayBuffer(Math.min(CHUNK_BYTES, sizeBytes));
    let staged = 0;
    let segmentId = 0;
    try {
      for (let index = 0; staged < sizeBytes; index += 1) {
        const wanted = Math.min(CHUNK_BYTES, sizeBytes - staged);
        const { value } = await reader.readAtLeast(wanted, new Uint8Array(buffer, 0, wanted));
        if (value === undefined || value.byteLength < wanted || this.#isClosed) return false;
        segmentId = this.#write(upload, segmentId, index, value);
        staged += wanted;
        buffer = value.buffer as ArrayBuffer;
      }
      const { done } = await reader.read(new Uint8Array(1));
      return done;
    } finally {
      clearTimeout(timer);
      reader.cancel().catch(() => {});
      // Given back at once, for the next body that comes.
      if (!buffer.detached) buffer.transfer(0);
    }
  }

  /** One chunk, in a transaction of its own; the first opens the upload. Answers the segment it is staged in. */
  #write(upload: string, segmentId: number, index: number, bytes: Uint8Array): number {
    const { log, config, clock } = this.#parts;
    return log.transaction(() => {
      let stagedIn = segmentId;
      if (index === 0) {
        const segment = bodySegment(log, config(), clock());
        log.chunks.begin(upload, segment);
        stagedIn = segment.id;
      }
      log.chunks.stage(upload, stagedIn, index, bytes);
      return stagedIn;
    });
  }

  /** Removes what was staged and did not become an event. */
  #discard(upload: string): void {
    if (this.#isClosed) return;
    const { log } = this.#parts;
    try {
      log.transaction(() => log.chunks.discard(upload));
    } catch {
      // It goes at the next start.
    }
  }
}
