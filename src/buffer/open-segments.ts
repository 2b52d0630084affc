/** The segments that events are written to; where one is due to end, a new one is opened [L1] [L2]. */
import { BODY_SEGMENT_AGE_MAX_MS, bodySegmentBytesMax, isKeySegmentDue } from "../core/segments.ts";
import { KEYS_PER_SEGMENT_MAX } from "../log/keys.ts";
import type { Log } from "../log/log.ts";
import type { Segment } from "../log/segments.ts";
import type { TenantConfig } from "../tenants/config.ts";

/** The key segment to write to; a new one each quarter of the window, or when it has grown too large [L1]. */
export function keySegment(log: Log, config: TenantConfig, nowMs: number): Segment {
  const { segments, meter } = log;
  const open = segments.openKey;
  const isDue =
    open !== null &&
    (isKeySegmentDue(open.openedAtMs, config.dedupeWindowSeconds, nowMs) ||
      segments.high.seq - open.firstSeq + 1 >= KEYS_PER_SEGMENT_MAX);
  if (open !== null && !isDue) return open;
  if (open !== null) segments.seal("key", nowMs, meter.encodeWithWrite(1));
  return segments.openKey ?? segments.open("key", nowMs);
}

/** The body segment to write to; a new one each hour, or when it has grown too large [L2]. */
export function bodySegment(log: Log, config: TenantConfig, nowMs: number): Segment {
  const { segments, meter } = log;
  const open = segments.openBody;
  const isDue =
    open !== null &&
    (nowMs - open.openedAtMs >= BODY_SEGMENT_AGE_MAX_MS ||
      segments.high.offeredBytes - open.bytesBefore >= bodySegmentBytesMax(config.retainBytes));
  if (open !== null && !isDue) return open;
  if (open !== null) segments.seal("body", nowMs, meter.encodeWithWrite(1));
  return segments.openBody ?? segments.open("body", nowMs);
}
