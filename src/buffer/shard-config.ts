/** One object's part of a tenant's configuration: limits of the whole tenant are divided [S1] [R4]. */
import { shareOf } from "../core/shard.ts";
import type { DestinationConfig, TenantConfig } from "../tenants/config.ts";

/** Each shard admits 1.5 × its part, since events do not spread evenly over short times. */
const RATE_FACTOR = 1.5;

export function configOfShard(config: TenantConfig): TenantConfig {
  const { shards } = config;
  if (shards <= 1) return config;
  return {
    ...config,
    rateLimit: { ...config.rateLimit, events: shareOf(config.rateLimit.events, shards, RATE_FACTOR) },
    maxBacklogEvents: shareOf(config.maxBacklogEvents, shards),
    maxBacklogBytes: shareOf(config.maxBacklogBytes, shards),
    destinations: Object.fromEntries(
      Object.entries(config.destinations).map(([name, destination]) => [name, paced(destination, shards)]),
    ),
  };
}

function paced(destination: DestinationConfig, shards: number): DestinationConfig {
  const { maxEventsPerSecond } = destination.delivery;
  if (maxEventsPerSecond === null) return destination;
  return {
    ...destination,
    delivery: { ...destination.delivery, maxEventsPerSecond: shareOf(maxEventsPerSecond, shards) },
  };
}
