/** What may be dropped and when, as plain decisions [L1] [L2]; the log's registry is in `log/segments.ts`. */

/** A body segment that every destination has passed, seen from retention. */
export interface SettledSegment {
  readonly sizeBytes: number;
  /** When it was sealed or, while it is open, when its last event was received. */
  readonly endedAtMs: number;
}

interface Retention {
  readonly retainSeconds: number;
  readonly retainBytes: number;
}

/** A body segment ends after this at the latest, so that retention is never late by more. */
export const BODY_SEGMENT_AGE_MAX_MS = 3_600_000;
/** … and at this size, or a quarter of what is retained, so that dropping one stays a short pause. */
const BODY_SEGMENT_BYTES_MAX = 64_000_000;
const BODY_SEGMENT_BYTES_MIN = 1_000_000;

export function bodySegmentBytesMax(retainBytes: number): number {
  return Math.min(BODY_SEGMENT_BYTES_MAX, Math.max(BODY_SEGMENT_BYTES_MIN, retainBytes / 4));
}

/** In one turn at most this much is copied out of a segment [L1]. */
export const COPY_EVENTS_MAX = 100;
export const COPY_BYTES_MAX = 8_000_000;

/** An object holds no more than this; the platform's limit is 10 GB [L4]. */
export const OBJECT_BYTES_MAX = 8_000_000_000;
/** From here on settled events go before their retention is over, so that intake need not stop. */
const OBJECT_BYTES_CROWDED = 7_500_000_000;

/**
 * How many of the settled segments (oldest first) are over: past their time, or more than `retainBytes` in all, the
 * oldest going first [L2]; in an object that is crowded the oldest in any case [L4].
 */
export function overdueCount(
  settled: readonly SettledSegment[],
  retention: Retention,
  nowMs: number,
  objectBytes: number,
): number {
  const overdue = overdueInAnyObject(settled, retention, nowMs);
  return objectBytes >= OBJECT_BYTES_CROWDED ? Math.max(overdue, Math.min(1, settled.length)) : overdue;
}

function overdueInAnyObject(settled: readonly SettledSegment[], retention: Retention, nowMs: number): number {
  let bytes = settled.reduce((sum, segment) => sum + segment.sizeBytes, 0);
  let count = 0;
  for (const segment of settled) {
    const isPast = nowMs >= segment.endedAtMs + retention.retainSeconds * 1000;
    if (!isPast && bytes <= retention.retainBytes) break;
    bytes -= segment.sizeBytes;
    count += 1;
  }
  return count;
}

/** Whether few enough of a segment's events are still referred to that they are copied out, and it can go [L1]. */
export function isWorthCopying(referenceCount: number, eventCount: number): boolean {
  return referenceCount * 100 <= eventCount;
}

/** A key segment ends after a quarter of the window, so that the oldest quarter can be dropped as a whole. */
export function isKeySegmentDue(openedAtMs: number, dedupeWindowSeconds: number, nowMs: number): boolean {
  return nowMs - openedAtMs >= (dedupeWindowSeconds * 1000) / 4;
}
