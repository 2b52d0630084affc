/** A configuration made ready for requests: rows looked up, lists built, once per version and isolate. */
import { overLimitAction } from "../providers/answers.ts";
import type { VerifySource } from "../providers/arrival.ts";
import { sourceRow } from "../providers/catalogue.ts";
import { carriesSignature } from "../providers/headers.ts";
import type { ProviderRow } from "../providers/row.ts";
import type { SourceConfig, TenantConfig } from "../tenants/config.ts";

export interface PreparedSource {
  readonly id: string;
  readonly config: SourceConfig;
  /** undefined: this version has no such provider (after a roll-back). */
  readonly row: ProviderRow | undefined;
  readonly overLimit: "reject" | "absorb";
  /** How long a sender may be kept waiting for the tenant's object [I13]. */
  readonly callLimitMs: number;
  /** Objects the tenant is spread over [S1]. */
  readonly shards: number;
  /** With the secrets that are live whatever the time; null where some retire. */
  readonly timeless: VerifySource | null;
}

interface PreparedTenant {
  readonly sources: ReadonlyMap<string, PreparedSource>;
  /** In the order of the configuration [I1]. */
  readonly list: readonly PreparedSource[];
}

const CALL_LIMIT_MAX_MS = 10_000;
/** Sources whose signature header fits are tried, but not more than this [I1]. */
const CANDIDATE_COUNT_MAX = 4;
const NONE: readonly PreparedSource[] = [];

const prepared = new WeakMap<TenantConfig, PreparedTenant>();

export function prepareTenant(config: TenantConfig): PreparedTenant {
  const known = prepared.get(config);
  if (known !== undefined) return known;
  const list = Object.entries(config.sources).map(([id, source]) => prepareSource(id, source, config));
  const tenant = { list, sources: new Map(list.map((source) => [source.id, source])) };
  prepared.set(config, tenant);
  return tenant;
}

function prepareSource(id: string, config: SourceConfig, tenant: TenantConfig): PreparedSource {
  const row = sourceRow(config.provider, config.custom);
  const retires = config.secrets.some((secret) => secret.retiresAtMs !== null);
  return {
    id,
    config,
    row,
    overLimit: row === undefined ? "reject" : overLimitAction(row, tenant.rateLimit.action),
    callLimitMs: Math.min(CALL_LIMIT_MAX_MS, (row?.timeLimitMs ?? CALL_LIMIT_MAX_MS) * 0.8),
    shards: tenant.shards,
    timeless: retires ? null : verifySource(id, config, 0),
  };
}

/** The source as verification sees it, with the secrets that are live at the time [I9]. */
export function verifySourceAt(source: PreparedSource, nowMs: number): VerifySource {
  return source.timeless ?? verifySource(source.id, source.config, nowMs);
}

function verifySource(id: string, config: SourceConfig, nowMs: number): VerifySource {
  const live = config.secrets.filter((secret) => secret.retiresAtMs === null || secret.retiresAtMs > nowMs);
  return {
    id,
    secrets: live.map((secret) => secret.value),
    toleranceSeconds: config.toleranceSeconds,
    publicUrl: config.publicUrl,
    params: config.params,
    verifyToken: config.verifyToken,
    eventId: config.eventId,
  };
}

/**
 * The sources a request may be meant for [I1]: the named one; without a name the only one, else those whose signature
 * header it carries. null: there is no source of that name. Empty: none fits.
 */
export function candidatesOf(
  tenant: PreparedTenant,
  named: string | null,
  headers: Headers,
  nowMs: number,
): readonly PreparedSource[] | null {
  if (named !== null) {
    const source = tenant.sources.get(named);
    return source === undefined ? null : [source];
  }
  if (tenant.list.length === 1) return tenant.list;
  const fitting: PreparedSource[] = [];
  for (const source of tenant.list) {
    if (fitting.length >= CANDIDATE_COUNT_MAX) break;
    if (source.row === undefined) continue;
    if (carriesSignature(source.row, verifySourceAt(source, nowMs), headers)) fitting.push(source);
  }
  return fitting.length === 0 ? NONE : fitting;
}
