/** How a hot tenant is spread over objects [S1] [S2]: by a hash of source and provider id, so that all copies of an event meet in one. */

/** An earlier spread of a tenant that still has to be asked for what it knows. */
export interface Layout {
  readonly shards: number;
  /** Until when its keys count: the dedupe window after the change. */
  readonly untilMs: number;
}

/** At most this many earlier layouts are asked; a further change meanwhile is refused. */
const EARLIER_LAYOUTS_MAX = 2;

/** Which of `shards` objects an event belongs to; `keys` begins with the SHA-256 of its id without any suffix [D8]. */
export function shardOf(keys: Uint8Array, shards: number): number {
  if (shards <= 1) return 0;
  const [a = 0, b = 0, c = 0, d = 0] = keys;
  return (((a << 24) | (b << 16) | (c << 8) | d) >>> 0) % shards;
}

/** The name of a tenant's object. The first one has the tenant's own; `.` is in no tenant id, so that names never meet. */
export function objectName(tenant: string, shard: number): string {
  return shard === 0 ? tenant : `${tenant}.${shard}`;
}

/** Tenant and shard of an object's name. */
export function parseObjectName(name: string): { readonly tenant: string; readonly shard: number } {
  const dot = name.indexOf(".");
  return dot < 0 ? { tenant: name, shard: 0 } : { tenant: name.slice(0, dot), shard: Number(name.slice(dot + 1)) };
}

/**
 * The layouts to be asked after a change to `shards`, or null where there would be more than two [S2]. `windowMs`: the
 * longer one of the dedupe windows before and after.
 */
export function layoutsAfter(
  earlier: readonly Layout[],
  shardsBefore: number,
  shards: number,
  windowMs: number,
  nowMs: number,
): readonly Layout[] | null {
  const alive = earlier.filter((layout) => layout.untilMs > nowMs && layout.shards !== shards);
  if (shards === shardsBefore) return earlier.filter((layout) => layout.untilMs > nowMs);
  const layouts = [
    ...alive.filter((each) => each.shards !== shardsBefore),
    { shards: shardsBefore, untilMs: nowMs + windowMs },
  ];
  return layouts.length > EARLIER_LAYOUTS_MAX ? null : layouts;
}

/** Other objects than `shard` that may know the event from an earlier layout. */
export function earlierShards(keys: Uint8Array, shard: number, layouts: readonly Layout[], nowMs: number): number[] {
  const shards = layouts.filter((layout) => layout.untilMs > nowMs).map((layout) => shardOf(keys, layout.shards));
  return [...new Set(shards)].filter((other) => other !== shard);
}

/** One shard's part of a limit of the whole tenant, at least 1. */
export function shareOf(limit: number, shards: number, factor = 1): number {
  return shards <= 1 ? limit : Math.max(1, Math.ceil((limit * factor) / shards));
}
