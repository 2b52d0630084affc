/**
 * Which events are known [D3]. One row per event, in the newest key segment; older segments are asked one by one, since
 * a point look-up that misses reads no row.
 */
import type { Segment, Segments } from "./segments.ts";
import type { Sql } from "./sql.ts";

export interface KeyEntry {
  readonly seq: number;
  readonly receivedAtMs: number;
  /** First 8 bytes of the body's SHA-256. */
  readonly bodyDigest: ArrayBuffer;
}

interface KeyRow extends Record<string, ArrayBuffer | number> {
  seq: number;
  received_at_ms: number;
  body_digest: ArrayBuffer;
}

/** A key segment ends when it has this many keys, so that dropping it stays one short pause [L1]. */
export const KEYS_PER_SEGMENT_MAX = 5_000_000;

export class Keys {
  readonly #sql: Sql;
  readonly #segments: Segments;

  constructor(sql: Sql, segments: Segments) {
    this.#sql = sql;
    this.#segments = segments;
  }

  /** The newest entry of `key` (16 bytes), or null where it was never seen or is forgotten. */
  find(key: Uint8Array): KeyEntry | null {
    const { keys } = this.#segments;
    for (let index = keys.length - 1; index >= 0; index -= 1) {
      const segment = keys[index];
      const entry = segment === undefined ? null : this.#findIn(segment, key);
      if (entry !== null) return entry;
    }
    return null;
  }

  /** Enters a key in the open segment; false, and nothing written, when that segment has it already [D4]. */
  insert(segment: Segment, key: Uint8Array, seq: number, receivedAtMs: number, bodyDigest: Uint8Array): boolean {
    const written = this.#sql.run(
      `INSERT INTO key_${segment.id} (key, seq, received_at_ms, body_digest) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`,
      key,
      seq,
      receivedAtMs,
      bodyDigest,
    );
    return written > 0;
  }

  /** Enters a key again: the event came back after its window while the earlier one was still known [D8]. */
  replace(segment: Segment, key: Uint8Array, seq: number, receivedAtMs: number, bodyDigest: Uint8Array): void {
    this.#sql.run(
      `INSERT INTO key_${segment.id} (key, seq, received_at_ms, body_digest) VALUES (?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET seq = excluded.seq, received_at_ms = excluded.received_at_ms, body_digest = excluded.body_digest`,
      key,
      seq,
      receivedAtMs,
      bodyDigest,
    );
  }

  #findIn(segment: Segment, key: Uint8Array): KeyEntry | null {
    const row = this.#sql.first<KeyRow>(
      `SELECT seq, received_at_ms, body_digest FROM key_${segment.id} WHERE key = ?`,
      key,
    );
    return row === null ? null : { seq: row.seq, receivedAtMs: row.received_at_ms, bodyDigest: row.body_digest };
  }
}
