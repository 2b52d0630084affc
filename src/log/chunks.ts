/**
 * The bodies of large events [V25], in rows of at most 1,500,000 bytes of a chunk table of their segment. They are staged
 * under an upload of their own while other events are stored, and count only once the event that names the upload is
 * committed [I12]; what is in the register of uploads counts as nothing, and goes at the next start.
 */
import type { LargeBody } from "../core/large-body.ts";
import type { Segment, Segments } from "./segments.ts";
import type { Sql } from "./sql.ts";

/** Where the chunks of copied-out events are [L1]. */
const KEPT = "kept_chunk";
/** A body of 25 MiB has 18 chunks. */
const CHUNKS_MAX = 32;
const UPLOADS_MAX = 1_000;
/** In the register of uploads: in no segment. */
const COPIED_OUT = 0;

interface ChunkRow extends Record<string, ArrayBuffer> {
  bytes: ArrayBuffer;
}

export class Chunks {
  readonly #sql: Sql;
  readonly #segments: Segments;
  /** Bodies that somebody is reading, by upload. */
  readonly #holds = new Map<string, number>();
  /** Held ones whose event is gone: they go with the last hold. */
  readonly #doomed = new Set<string>();

  constructor(sql: Sql, segments: Segments) {
    this.#sql = sql;
    this.#segments = segments;
  }

  /** Enters an upload whose chunks will be staged in `segment`, which must be open. */
  begin(upload: string, segment: Segment): void {
    this.#segments.addChunkTable(segment);
    this.#register(upload, segment.id);
  }

  /** Stages chunk `index` (from 0) of an upload that has begun. */
  stage(upload: string, segmentId: number, index: number, bytes: Uint8Array): void {
    this.#sql.run(`INSERT INTO chunk_${segmentId} (upload, n, bytes) VALUES (?, ?, ?)`, upload, index, bytes);
  }

  /** The upload is what an event of `segment` (null: a copied-out one) names, in the same transaction [I12]. */
  settle(upload: string, segment: Segment | null): void {
    const stagedIn = this.stagedIn(upload);
    if (stagedIn === null) throw new Error("an upload is gone before its event was stored");
    // The segment was sealed while the body came in: its chunks go where the event goes.
    if (segment === null || segment.id !== stagedIn) {
      if (segment !== null) this.#segments.addChunkTable(segment);
      const into = segment === null ? KEPT : `chunk_${segment.id}`;
      this.#sql.run(
        `INSERT INTO ${into} (upload, n, bytes) SELECT upload, n, bytes FROM chunk_${stagedIn} WHERE upload = ?`,
        upload,
      );
      this.#sql.run(`DELETE FROM chunk_${stagedIn} WHERE upload = ?`, upload);
    }
    this.#sql.run("DELETE FROM upload WHERE id = ?", upload);
  }

  /** An upload that came to nothing; one that was settled, or is not known, is left alone. */
  discard(upload: string): void {
    const stagedIn = this.stagedIn(upload);
    if (stagedIn === null) return;
    const isThere = this.#segments.bodies.some((segment) => segment.id === stagedIn && segment.hasChunks);
    if (isThere) this.#sql.run(`DELETE FROM chunk_${stagedIn} WHERE upload = ?`, upload);
    this.#sql.run(`DELETE FROM ${KEPT} WHERE upload = ?`, upload);
    this.#sql.run("DELETE FROM upload WHERE id = ?", upload);
  }

  /** At a start no upload is going on: all that are registered ended with the run before. */
  discardAll(): void {
    const rows = this.#sql.all<{ id: string }>("SELECT id FROM upload LIMIT ?", UPLOADS_MAX);
    for (const { id } of rows) this.discard(id);
  }

  /** The segment in which a registered upload is staged. */
  stagedIn(upload: string): number | null {
    return this.#sql.first<{ segment: number }>("SELECT segment FROM upload WHERE id = ?", upload)?.segment ?? null;
  }

  /** Whether a body is coming in that is staged there: such a segment is not dropped. */
  isStagedIn(segment: Segment): boolean {
    if (!segment.hasChunks) return false;
    return this.#sql.first("SELECT 1 AS found FROM upload WHERE segment = ? LIMIT 1", segment.id) !== null;
  }

  /** The body of the stored event `seq`, to be read piece by piece. */
  body(seq: number, upload: string, sizeBytes: number, isText: boolean): LargeBody {
    return {
      sizeBytes,
      isText,
      pieces: () => this.#pieces(seq, upload, sizeBytes),
      hold: () => this.#hold(upload),
    };
  }

  /** Copies chunks of an event out of its segment, at most `bytesMax` (or one); `done`: all are there now [L1]. */
  keep(segment: Segment, upload: string, bytesMax: number): { readonly copiedBytes: number; readonly done: boolean } {
    const copied = this.#sql.first<{ count: number }>(`SELECT count(*) AS count FROM ${KEPT} WHERE upload = ?`, upload);
    const sizes = this.#sql.all<{ n: number; size: number }>(
      `SELECT n, length(bytes) AS size FROM chunk_${segment.id} WHERE upload = ? AND n >= ? ORDER BY n LIMIT ?`,
      upload,
      copied?.count ?? 0,
      CHUNKS_MAX,
    );
    let copiedBytes = 0;
    let count = 0;
    for (const { n, size } of sizes) {
      if (count > 0 && copiedBytes + size > bytesMax) break;
      this.#sql.run(
        `INSERT INTO ${KEPT} (upload, n, bytes) SELECT upload, n, bytes FROM chunk_${segment.id} WHERE upload = ? AND n = ?`,
        upload,
        n,
      );
      copiedBytes += size;
      count += 1;
    }
    return { copiedBytes, done: count === sizes.length };
  }

  /** The segment is about to go: what was being copied out of it for an event that needs it no more goes too. */
  forgetCopies(segment: Segment): void {
    if (!segment.hasChunks) return;
    this.#sql.run(
      `DELETE FROM ${KEPT} WHERE upload IN (SELECT upload FROM chunk_${segment.id})
         AND upload NOT IN (SELECT upload FROM kept WHERE seq BETWEEN ? AND ? AND upload IS NOT NULL)`,
      segment.firstSeq,
      segment.sealed?.lastSeq ?? this.#segments.high.seq,
    );
  }

  /** The chunks of an event that was in `segment` (null: copied out) are gone, or will be with the last that reads them. */
  remove(upload: string, segment: Segment | null): void {
    if (!this.#holds.has(upload)) {
      const table = segment === null ? KEPT : `chunk_${segment.id}`;
      this.#sql.run(`DELETE FROM ${table} WHERE upload = ?`, upload);
      return;
    }
    // In the register, so that a crash does not make them last.
    if (this.stagedIn(upload) === null) this.#register(upload, segment?.id ?? COPIED_OUT);
    this.#doomed.add(upload);
  }

  *#pieces(seq: number, upload: string, sizeBytes: number): Generator<Uint8Array<ArrayBuffer>> {
    let leftBytes = sizeBytes;
    for (let index = 0; leftBytes > 0; index += 1) {
      const bytes = this.#read(seq, upload, index);
      if (bytes === null) throw new Error("the bytes of a large event are no longer stored");
      leftBytes -= bytes.byteLength;
      yield bytes;
      // Given back at once: a body read twice would leave 50 MB to the garbage collector.
      if (!bytes.buffer.detached) bytes.buffer.transfer(0);
    }
  }

  #read(seq: number, upload: string, index: number): Uint8Array<ArrayBuffer> | null {
    const segment = this.#segments.bodyOf(seq);
    const own = segment?.hasChunks === true ? this.#chunk(`chunk_${segment.id}`, upload, index) : null;
    return own ?? this.#chunk(KEPT, upload, index);
  }

  #chunk(table: string, upload: string, index: number): Uint8Array<ArrayBuffer> | null {
    const row = this.#sql.first<ChunkRow>(`SELECT bytes FROM ${table} WHERE upload = ? AND n = ?`, upload, index);
    return row === null ? null : new Uint8Array(row.bytes);
  }

  #hold(upload: string): () => void {
    this.#holds.set(upload, (this.#holds.get(upload) ?? 0) + 1);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      const count = (this.#holds.get(upload) ?? 1) - 1;
      if (count > 0) this.#holds.set(upload, count);
      else this.#holds.delete(upload);
      if (count === 0 && this.#doomed.delete(upload)) this.discard(upload);
    };
  }

  #register(upload: string, segmentId: number): void {
    this.#sql.run("INSERT INTO upload (id, segment) VALUES (?, ?)", upload, segmentId);
  }
}
