import type { TenantObjects } from "../buffer/contract.ts";
import type { Place } from "../core/place.ts";
import type { Rejection } from "../core/rejections.ts";
import type { Settings } from "../env.ts";
import type { SweepKv } from "../sweep/sweep-kv.ts";
import type { TenantCache } from "../tenants/cache.ts";
import type { ConfigContext } from "../tenants/context.ts";
import type { ConfigKv } from "../tenants/kv.ts";

/** How long the runtime may go on trying a call of an object by itself: an operator can wait. */
export const RETRY_LIMIT_MS = 5_000;

/** What the admin API works with; built once per isolate. */
export interface AdminParts {
  readonly settings: Settings;
  readonly objects: TenantObjects;
  readonly kv: ConfigKv & SweepKv;
  /** The isolate's memory of tenants: what was just written is known at once. */
  readonly cache: TenantCache;
  readonly now: () => number;
  readonly isQueueBound: (binding: string) => boolean;
  readonly hasJurisdiction: (jurisdiction: string) => boolean;
  /** Where a tenant lives; null where there is none [O13]. */
  readonly findPlace: (tenant: string) => Promise<Place | null>;
  /** What this isolate turned away of a tenant and has not reported yet [O7]. */
  readonly pendingRejections: (tenant: string) => readonly Rejection[];
}

/** What a configuration is judged by; `requestUrl` names one of the hosts this Worker is reached by [V17]. */
export function configContext(parts: AdminParts, requestUrl: string): ConfigContext {
  const { settings } = parts;
  return {
    allowInsecureDestinations: settings.allowInsecureDestinations,
    ownHosts: [...settings.publicHosts, new URL(requestUrl).hostname],
    origin: settings.origin,
    nowMs: parts.now(),
    isQueueBound: parts.isQueueBound,
    hasJurisdiction: parts.hasJurisdiction,
  };
}
