/**
 * Who owns a tenant's configuration [O4]: what its object has stored of it, and what it has in memory because of it. It
 * takes over configurations, tells others of them, and ends with a tombstone.
 */
import { inTime } from "../core/in-time.ts";
import { parseObjectName } from "../core/shard.ts";
import { type Bindings, readSettings } from "../env.ts";
import type { Log } from "../log/log.ts";
import type { ConfigRecord, TenantConfig } from "../tenants/config.ts";
import {
  nextVersion,
  numbered,
  openCall,
  placeConflict,
  RETELL_MS,
  readStored,
  type Stored,
  tellKv,
  versionConflict,
} from "./configuration.ts";
import type { AdoptCall, ConfigureAnswer, ConfigureCall } from "./contract.ts";
import { Peers } from "./peers.ts";
import { Runtime, tombstoneEndMs } from "./runtime.ts";
import { configOfShard } from "./shard-config.ts";
import type { Wake } from "./wake.ts";

/** What waits goes on so long after a key that was missing is back, whether or not anything is asked of the object [V47]. */
const UNUSABLE_LOOK_AGAIN_MS = 300_000;

/** A tombstone that was not told by then is told once more. */
const TELL_LIMIT_MS = 10_000;

export class Tenancy {
  readonly #ctx: DurableObjectState;
  readonly #env: Bindings;
  readonly #log: Log;
  readonly #wake: Wake;
  /** What is stored of the configuration; null where this object has none. */
  #stored: Stored | null = null;
  /** Null while the tenant has no configuration that can be used. */
  #runtime: Runtime | null = null;
  /** The first call after a start makes sure that an alarm that was lost is set again [V20](e). */
  #isAlarmChecked = false;

  constructor(ctx: DurableObjectState, env: Bindings, log: Log, wake: Wake) {
    this.#ctx = ctx;
    this.#env = env;
    this.#log = log;
    this.#wake = wake;
  }

  get stored(): Stored | null {
    return this.#stored;
  }

  get runtime(): Runtime | null {
    return this.#runtime;
  }

  /** Which of the tenant's objects this is [S1]. */
  get shard(): number {
    return parseObjectName(this.#ctx.id.name ?? "").shard;
  }

  peers(tenant: string): Peers {
    return new Peers(this.#env, tenant);
  }

  /** Reads what is stored; nothing is written where there is nothing. */
  async open(): Promise<void> {
    if (!this.#log.open()) return;
    this.#wake.learn(await this.#ctx.storage.getAlarm());
    const stored = await readStored(this.#log, readSettings(this.#env));
    this.#stored = stored;
    if (stored === null || stored.config === null) return;
    this.#runtime = this.#makeRuntime(stored.tenant, configOfShard(stored.config), stored.record, stored.untold);
    const runtime = this.#runtime;
    this.#log.transaction(() => {
      runtime.roster.checkPositions(Date.now());
      runtime.checkOrigins(Date.now());
    });
  }

  /** A change of everything was rolled back: memory is made anew from what is stored; what was in flight goes again. */
  #startOver(): void {
    this.#runtime?.abandon();
    this.#log.reload();
    const stored = this.#stored;
    this.#runtime = null;
    if (stored === null || stored.config === null) return;
    this.#runtime = this.#makeRuntime(stored.tenant, configOfShard(stored.config), stored.record, stored.untold);
    this.#isAlarmChecked = false;
    this.checkAlarm();
  }

  #makeRuntime(tenant: string, config: Runtime["config"], record: ConfigRecord, untold: boolean): Runtime {
    const settings = readSettings(this.#env);
    const clock = (): number => Date.now();
    const random = (): number => Math.random();
    const parts = { storage: this.#ctx.storage, env: this.#env, settings, log: this.#log, wake: this.#wake, tenant };
    const tell = (newest: ConfigRecord): Promise<boolean> => this.#tellAll(tenant, newest);
    return new Runtime({ ...parts, shard: this.shard, tell, clock, random }, config, record, untold);
  }

  async adopt(call: AdoptCall): Promise<boolean> {
    const { tenant, record } = call;
    if (this.#stored !== null && this.#stored.record.version >= record.version) return true;
    if (record.state === "deleted") {
      if (this.#stored !== null) this.#bury(tenant, record, false);
      return true;
    }
    const opened = await openCall({ tenant, record, ifVersion: null, force: true }, readSettings(this.#env));
    if ("kind" in opened) return false;
    // A newer one may have been opened meanwhile.
    if (this.#stored !== null && this.#stored.record.version >= record.version) return true;
    this.#install(tenant, record, opened, false);
    return true;
  }

  async configure(call: ConfigureCall): Promise<ConfigureAnswer> {
    const config = await openCall(call, readSettings(this.#env));
    if ("kind" in config) return config;
    const conflict = versionConflict(call, this.#stored) ?? placeConflict(config, this.#stored);
    if (conflict !== null) return conflict;
    const removed = Object.entries(await this.#allBacklogs()).filter(
      ([name, count]) => count > 0 && !Object.hasOwn(config.destinations, name),
    );
    if (!call.force && removed.length > 0) return { kind: "has-backlog", destinations: Object.fromEntries(removed) };
    // Another change may have come while the other objects were asked.
    const overtaken = versionConflict(call, this.#stored) ?? placeConflict(config, this.#stored);
    if (overtaken !== null) return overtaken;
    const record = numbered(call.record, config, this.#stored, Date.now());
    if (record === null) {
      return { kind: "refused", code: "resharding", detail: "shards was changed twice within the dedupe window: wait" };
    }
    this.#install(call.tenant, record, config, true);
    return this.#tell(call.tenant, record);
  }

  async deleteTenant(call: {
    readonly tenant: string;
    readonly ifVersion: number | null;
    readonly force: boolean;
  }): Promise<ConfigureAnswer> {
    const conflict = versionConflict(call, this.#stored);
    if (conflict !== null) return conflict;
    if (this.#stored === null) return { kind: "refused", code: "no-such-tenant", detail: "there is nothing to delete" };
    const waiting = Object.entries(await this.#allBacklogs()).filter(([, count]) => count > 0);
    // A change may have come while the other objects were asked.
    const overtaken = versionConflict(call, this.#stored);
    if (overtaken !== null) return overtaken;
    if (!call.force && waiting.length > 0) return { kind: "has-backlog", destinations: Object.fromEntries(waiting) };
    const { version: last, objectCount = 1, shards = 1, place } = this.#stored.record;
    const version = nextVersion(last, Date.now());
    const spread = { objectCount, shards, ...(place === undefined ? {} : { place }) };
    const record: ConfigRecord = { v: 1, version, state: "deleted", keyId: "", sealed: "", ...spread };
    this.#bury(call.tenant, record, true);
    return this.#tell(call.tenant, record);
  }

  /** Sets the alarm again where it was lost: missing at the first call after a start, or long overdue [V20](e). */
  checkAlarm(): void {
    const nowMs = Date.now();
    if (this.#isAlarmChecked && !this.#wake.isOverdue(nowMs)) return;
    this.#isAlarmChecked = true;
    const dueMs = this.#runtime?.drain.nextDueMs(nowMs) ?? null;
    if (dueMs !== null) this.armAt(Math.max(dueMs, nowMs + 1), nowMs);
  }

  armAt(dueMs: number, nowMs: number): void {
    this.#wake.committed(this.#log.transaction(() => this.#wake.arm(dueMs, nowMs)));
  }

  /** The tenant's other objects first, then KV: no Worker may use a layout that an object does not know yet [S2]. */
  async #tellAll(tenant: string, record: ConfigRecord): Promise<boolean> {
    return (await this.peers(tenant).tell(record)) && (await tellKv(this.#env, this.#log, tenant, record));
  }

  async #tell(tenant: string, record: ConfigRecord): Promise<ConfigureAnswer> {
    const everywhere = await this.#tellAll(tenant, record);
    if (everywhere && this.#stored?.record.version === record.version) {
      this.#stored = { ...this.#stored, untold: false };
      this.#runtime?.retellAt(null);
    }
    return { kind: "configured", record, everywhere };
  }

  /** The alarm of an object that delivers nothing: of a deleted tenant, or one whose configuration cannot be opened. */
  async tend(): Promise<void> {
    const stored = this.#stored;
    if (stored === null) return;
    // It has gone off: what comes meanwhile sets it anew.
    this.#wake.learn(null);
    if (stored.record.state === "deleted") return this.#tendTombstone(stored);
    const nowMs = Date.now();
    this.armAt(nowMs + UNUSABLE_LOOK_AGAIN_MS, nowMs);
  }

  /** KV is told until it knows, and after a day the tombstone goes with the object [O4]. */
  async #tendTombstone(stored: Stored): Promise<void> {
    const nowMs = Date.now();
    if (nowMs >= tombstoneEndMs(stored.changedAtMs)) {
      await this.#ctx.storage.deleteAll();
      this.#stored = null;
      return;
    }
    const isTold =
      !stored.untold || (await inTime(this.#tellAll(stored.tenant, stored.record), TELL_LIMIT_MS)) === true;
    // The name may have begun anew meanwhile.
    if (this.#stored !== stored) return;
    if (isTold) this.#stored = { ...stored, untold: false };
    this.armAt(isTold ? tombstoneEndMs(stored.changedAtMs) : nowMs + RETELL_MS, nowMs);
  }

  /** Takes a configuration as the one that holds, in one transaction; `untold`: others have to be told of it. */
  #install(tenant: string, record: ConfigRecord, config: TenantConfig, untold: boolean): void {
    const nowMs = Date.now();
    if (this.#stored === null) this.#log.create();
    const own = configOfShard(config);
    const runtime = this.#runtime ?? this.#makeRuntime(tenant, { ...own, destinations: {} }, record, untold);
    try {
      const armedAtMs = this.#log.transaction(() => {
        this.#log.tenants.write({ tenant, record: JSON.stringify(record), changedAtMs: nowMs, untold });
        runtime.reconfigure(own, record, nowMs);
        // It is told right after this; the alarm is for the case that somebody could not be reached.
        runtime.retellAt(untold ? nowMs + RETELL_MS : null);
        const dueMs = runtime.drain.nextDueMs(nowMs);
        return dueMs === null ? this.#wake.armedAtMs : this.#wake.arm(dueMs, nowMs);
      });
      this.#wake.committed(armedAtMs);
    } catch (error) {
      this.#startOver();
      throw error;
    }
    this.#runtime = runtime;
    this.#stored = { tenant, record, config, changedAtMs: nowMs, untold };
  }

  /** The tenant is deleted: everything goes but the tombstone [O4]. */
  #bury(tenant: string, record: ConfigRecord, untold: boolean): void {
    const nowMs = Date.now();
    this.#runtime?.abandon();
    this.#runtime = null;
    try {
      const armedAtMs = this.#log.transaction(() => {
        this.#log.eraseAll();
        this.#log.tenants.write({ tenant, record: JSON.stringify(record), changedAtMs: nowMs, untold });
        return this.#wake.arm(nowMs + RETELL_MS, nowMs);
      });
      this.#log.reload();
      this.#wake.committed(armedAtMs);
    } catch (error) {
      this.#startOver();
      throw error;
    }
    this.#stored = { tenant, record, config: null, changedAtMs: nowMs, untold };
  }

  /** Events waiting at each destination of this object. */
  backlogs(): Readonly<Record<string, number>> {
    const all = this.#runtime?.roster.all ?? [];
    return Object.fromEntries(all.map((destination) => [destination.name, destination.backlogEvents()]));
  }

  /** Events waiting at each destination of the tenant, over all its objects. */
  async #allBacklogs(): Promise<Record<string, number>> {
    const stored = this.#stored;
    if (stored === null) return {};
    const others = await this.peers(stored.tenant).backlogs(stored.record);
    // Its own last: events that came in meanwhile count.
    const sums = new Map(Object.entries(this.backlogs()));
    for (const [name, count] of others) {
      sums.set(name, (sums.get(name) ?? 0) + count);
    }
    return Object.fromEntries(sums);
  }
}
