/**
 * The tenant's configuration as its object owns it [O4]: checked, numbered, stored sealed, then told to KV. What an
 * operator was told is stored holds from the next request on, whatever copies are still about.
 */
import { ANYWHERE, isSamePlace, placeText } from "../core/place.ts";
import { layoutsAfter } from "../core/shard.ts";
import type { Bindings, Settings } from "../env.ts";
import type { Log } from "../log/log.ts";
import type { ConfigRecord, TenantConfig } from "../tenants/config.ts";
import { writeRecord } from "../tenants/kv.ts";
import { openConfig } from "../tenants/sealing.ts";
import type { ConfigureAnswer, ConfigureCall } from "./contract.ts";

/** KV is told again after this, when it could not be reached. */
export const RETELL_MS = 5_000;
/** How long the tombstone of a deleted tenant answers for it [O4]. */
export const TOMBSTONE_MS = 86_400_000;

/** The stored configuration, opened; `config` null where it is deleted or cannot be unsealed. */
export interface Stored {
  readonly tenant: string;
  readonly record: ConfigRecord;
  readonly config: TenantConfig | null;
  readonly changedAtMs: number;
  readonly untold: boolean;
}

/** Reads and opens what is stored; null where there is none. A record that cannot be opened is no exception [I7]. */
export async function readStored(log: Log, settings: Settings): Promise<Stored | null> {
  const row = log.tenants.read();
  if (row === null) return null;
  const record = JSON.parse(row.record) as ConfigRecord;
  const stored = { tenant: row.tenant, record, changedAtMs: row.changedAtMs, untold: row.untold };
  if (record.state === "deleted") return { ...stored, config: null };
  const opened = await openConfig(settings.configKeys, row.tenant, record);
  return { ...stored, config: opened.ok ? opened.value : null };
}

/** Never falls back, not even across delete and create, and is a time a person can read [O4]. */
export function nextVersion(lastVersion: number, nowMs: number): number {
  return Math.max(lastVersion + 1, nowMs);
}

/** The record with its number and the spread of the tenant; null: `shards` was changed too often of late [S2]. */
export function numbered(
  record: ConfigRecord,
  config: TenantConfig,
  stored: Stored | null,
  nowMs: number,
): ConfigRecord | null {
  const before = stored?.record.state === "live" ? stored.record : null;
  const windowMs = 1000 * Math.max(config.dedupeWindowSeconds, stored?.config?.dedupeWindowSeconds ?? 0);
  const shardsBefore = before === null ? config.shards : (before.shards ?? 1);
  const layouts = layoutsAfter(before?.layouts ?? [], shardsBefore, config.shards, windowMs, nowMs);
  if (layouts === null) return null;
  const objectCount = Math.max(config.shards, shardsBefore, stored?.record.objectCount ?? 1);
  return {
    ...record,
    version: nextVersion(stored?.record.version ?? 0, nowMs),
    shards: config.shards,
    layouts,
    objectCount,
    ...(config.place === undefined ? {} : { place: config.place }),
  };
}

/** Where objects live is part of how they are found: it cannot be changed [O13]. null: nothing is to be. */
export function placeConflict(config: TenantConfig, stored: Stored | null): ConfigureAnswer | null {
  if (stored === null || stored.record.state === "deleted") return null;
  const { place = ANYWHERE } = stored.record;
  if (isSamePlace(place, config.place ?? ANYWHERE)) return null;
  const detail = `The tenant was created with ${placeText(place)}, which is fixed: keep it so, or create another tenant.`;
  return { kind: "refused", code: "place-fixed", detail };
}

/** Whether a change may go ahead as far as its precondition says [O4]; null when it may. */
export function versionConflict(
  call: { readonly ifVersion: number | null },
  stored: Stored | null,
): ConfigureAnswer | null {
  const version = stored === null || stored.record.state === "deleted" ? 0 : stored.record.version;
  return call.ifVersion !== null && call.ifVersion !== version ? { kind: "version-conflict", version } : null;
}

/** Opens the configuration of a call, or says why it cannot be taken. */
export async function openCall(call: ConfigureCall, settings: Settings): Promise<TenantConfig | ConfigureAnswer> {
  const opened = await openConfig(settings.configKeys, call.tenant, call.record);
  if (opened.ok) return opened.value;
  return { kind: "refused", code: opened.reason, detail: opened.detail ?? "the configuration cannot be unsealed" };
}

/**
 * Tells KV; true when it has it. Where a newer one was told meanwhile, which this write may have overtaken, that one is
 * written once more: what remains in KV is the newest.
 */
export async function tellKv(env: Bindings, log: Log, tenant: string, record: ConfigRecord): Promise<boolean> {
  for (let told = record; ; ) {
    try {
      await writeRecord(env.TENANT_CONFIG, tenant, told);
    } catch {
      return false;
    }
    const current = log.tenants.read();
    if (current === null) return true;
    const newest = JSON.parse(current.record) as ConfigRecord;
    if (newest.version === told.version) {
      if (current.untold) log.transaction(() => log.tenants.markTold());
      return true;
    }
    // One that is still to be told comes to KV by itself, after the tenant's other objects [S2].
    if (current.untold) return true;
    told = newest;
  }
}
