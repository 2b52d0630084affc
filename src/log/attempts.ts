/**
 * What every request came to [X7]: one row per request in the segment of its last event, kept as long as the events'
 * bytes; events that failed on their own carry their last 20 attempts in their own row.
 */
import type { Segments } from "./segments.ts";
import type { Sql, SqlRow } from "./sql.ts";

export interface Attempt {
  readonly atMs: number;
  readonly batchId: string;
  readonly durationMs: number;
  readonly status: number | null;
  readonly outcome: string;
  /** Up to 8 KiB of the answer, for anything but accepted. */
  readonly excerpt: string;
}

const ATTEMPTS_PER_EVENT_MAX = 20;
/** In an event's own row an answer is kept shorter: twenty of them must fit. */
const OWN_EXCERPT_MAX_CHARS = 2_000;

interface AttemptRow extends SqlRow {
  at_ms: number;
  first_seq: number;
  last_seq: number;
  batch_id: string;
  duration_ms: number;
  status: number | null;
  outcome: string;
  excerpt: string;
}

export class Attempts {
  readonly #sql: Sql;
  readonly #segments: Segments;

  constructor(sql: Sql, segments: Segments) {
    this.#sql = sql;
    this.#segments = segments;
  }

  /** One row; none where the segment of the last event is gone (then only the events' own rows keep it). */
  record(destination: string, firstSeq: number, lastSeq: number, attempt: Attempt): void {
    const segment = this.#segments.bodyOf(lastSeq);
    if (segment === null) return;
    this.#sql.run(
      `INSERT INTO attempt_${segment.id} (destination, last_seq, at_ms, first_seq, batch_id, duration_ms, status, outcome, excerpt)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET outcome = excluded.outcome, excerpt = excluded.excerpt`,
      destination,
      lastSeq,
      attempt.atMs,
      firstSeq,
      attempt.batchId,
      attempt.durationMs,
      attempt.status,
      attempt.outcome,
      attempt.excerpt,
    );
  }

  /** What the destination answered to requests that held `seq` is forgotten: it may repeat the event [X6]. */
  forgetAnswers(destination: string, seq: number): void {
    for (const segment of this.#segments.bodies) {
      if ((segment.sealed?.lastSeq ?? this.#segments.high.seq) < seq) continue;
      this.#sql.run(
        `UPDATE attempt_${segment.id} SET excerpt = '' WHERE destination = ? AND last_seq >= ? AND first_seq <= ? AND excerpt <> ''`,
        destination,
        seq,
        seq,
      );
      if (segment.firstSeq > seq) break;
    }
  }

  /** Requests to `destination` whose range held `seq`, oldest first, at most 20. */
  of(destination: string, seq: number): Attempt[] {
    const found: AttemptRow[] = [];
    for (const segment of this.#segments.bodies) {
      if ((segment.sealed?.lastSeq ?? this.#segments.high.seq) < seq) continue;
      const rows = this.#sql.all<AttemptRow>(
        `SELECT at_ms, first_seq, last_seq, batch_id, duration_ms, status, outcome, excerpt FROM attempt_${segment.id}
         WHERE destination = ? AND last_seq >= ? ORDER BY last_seq, at_ms LIMIT 100`,
        destination,
        seq,
      );
      found.push(...rows.filter((row) => row.first_seq <= seq));
      // A batch ends in its own segment or the next one.
      if (segment.firstSeq > seq) break;
    }
    return found.sort(inOrder).slice(-ATTEMPTS_PER_EVENT_MAX).map(attemptFromRow);
  }
}

/** By time; of one millisecond the larger batch first, as a batch is halved after it has failed. */
function inOrder(a: AttemptRow, b: AttemptRow): number {
  return a.at_ms - b.at_ms || b.last_seq - b.first_seq - (a.last_seq - a.first_seq);
}

/** An event's own list with one attempt more, as JSON. */
export function appendAttempt(stored: string, attempt: Attempt): string {
  const attempts = parseAttempts(stored);
  attempts.push({ ...attempt, excerpt: attempt.excerpt.slice(0, OWN_EXCERPT_MAX_CHARS) });
  return JSON.stringify(attempts.slice(-ATTEMPTS_PER_EVENT_MAX));
}

export function parseAttempts(stored: string): Attempt[] {
  return stored === "" ? [] : (JSON.parse(stored) as Attempt[]);
}

function attemptFromRow(row: AttemptRow): Attempt {
  return {
    atMs: row.at_ms,
    batchId: row.batch_id,
    durationMs: row.duration_ms,
    status: row.status,
    outcome: row.outcome,
    excerpt: row.excerpt,
  };
}
