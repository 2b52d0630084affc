/**
 * The Durable Object of a tenant [S3]: loads, decides with the parts of this folder, writes. Everything it answers is
 * plain data (contract.ts); it never throws at a caller for what the world may do.
 */
import { DurableObject } from "cloudflare:workers";
import { isLargeEvent } from "../core/large-body.ts";
import { parseObjectName } from "../core/shard.ts";
import { type Bindings, readSettings } from "../env.ts";
import { Log } from "../log/log.ts";
import type { ConfigRecord, TenantConfig } from "../tenants/config.ts";
import { bodyStream } from "./body-stream.ts";
import {
  nextVersion,
  numbered,
  openCall,
  RETELL_MS,
  readStored,
  type Stored,
  tellKv,
  versionConflict,
} from "./configuration.ts";
import type {
  AdoptCall,
  BodyAnswer,
  ConfigureAnswer,
  ConfigureCall,
  DeadLetterQuery,
  EventPage,
  EventQuery,
  EventView,
  IngestAnswer,
  IngestCall,
  JobAnswer,
  JobCall,
  JobView,
  LargeIngestCall,
  RecallAnswer,
  RejectionReport,
  TenantBufferCalls,
  TenantStats,
  TendAnswer,
} from "./contract.ts";
import { findSeq } from "./event-key.ts";
import { isIdle } from "./idle.ts";
import { deadLetterPage, eventView } from "./inspect.ts";
import { Operator } from "./operate.ts";
import { Peers } from "./peers.ts";
import { Runtime, tombstoneEndMs } from "./runtime.ts";
import { searchEvents } from "./search.ts";
import { configOfShard } from "./shard-config.ts";
import { tenantStats } from "./stats.ts";
import { Wake } from "./wake.ts";

export class TenantBuffer extends DurableObject<Bindings> implements TenantBufferCalls {
  readonly #log: Log;
  readonly #wake: Wake;
  /** What is stored of the configuration; null where this object has none. */
  #stored: Stored | null = null;
  /** Null while the tenant has no configuration that can be used. */
  #runtime: Runtime | null = null;
  /** The first call after a start makes sure that an alarm that was lost is set again [V20](e). */
  #isAlarmChecked = false;

  constructor(ctx: DurableObjectState, env: Bindings) {
    super(ctx, env);
    this.#log = new Log(ctx.storage, Date.now());
    this.#wake = new Wake(ctx.storage, this.#log.meter);
    void ctx.blockConcurrencyWhile(() => this.#open());
  }

  async ingest(call: IngestCall): Promise<IngestAnswer> {
    if (isLargeEvent(call.body.byteLength, call.headers)) return tooLargeForOneCall;
    return this.#takeIn(call, ({ intake }, isTaken) => intake.accept(call, isTaken));
  }

  async ingestLarge(call: LargeIngestCall, body: ReadableStream<Uint8Array>): Promise<IngestAnswer> {
    const answer = await this.#takeIn(call, ({ uploads }, isTaken) => uploads.take(call, body, isTaken));
    if (!body.locked) body.cancel().catch(() => {});
    return answer;
  }

  /** What stands before storing an event: the newest configuration, and what another object may know of it. */
  async #takeIn(
    call: IngestCall,
    store: (runtime: Runtime, isTaken: boolean) => Promise<IngestAnswer>,
  ): Promise<IngestAnswer> {
    this.#checkAlarm();
    const stored = this.#stored;
    if (stored === null) return { kind: "unconfigured" };
    if (call.version < stored.record.version) return { kind: "stale", record: stored.record };
    if (this.#runtime === null) return { kind: "unavailable", code: "configuration-unusable", retryAfterSeconds: 30 };
    const runtime = this.#runtime;
    const { intake } = runtime;
    if (intake.isStale(call)) return { kind: "stale", record: stored.record };
    if (stored.record.layouts === undefined || stored.record.layouts.length === 0 || intake.knows(call)) {
      return store(runtime, false);
    }
    const recalled = await this.#peers(call.tenant).recall(call, this.#shard, stored.record, Date.now());
    if (recalled.kind === "unknown") return store(runtime, recalled.taken);
    return recalled.kind === "behind" ? { kind: "unavailable", code: "resharding", retryAfterSeconds: 2 } : recalled;
  }

  async recall(call: IngestCall): Promise<RecallAnswer> {
    this.#checkAlarm();
    const isTold = this.#stored !== null && this.#stored.record.version >= call.version;
    return isTold && this.#runtime !== null ? this.#runtime.intake.recall(call) : { kind: "behind" };
  }

  async backlogs(): Promise<Readonly<Record<string, number>>> {
    const all = this.#runtime?.roster.all ?? [];
    return Object.fromEntries(all.map((destination) => [destination.name, destination.backlogEvents()]));
  }

  async adopt(call: AdoptCall): Promise<boolean> {
    const { tenant, record } = call;
    if (this.#stored !== null && this.#stored.record.version >= record.version) return true;
    if (record.state === "deleted") {
      if (this.#stored !== null) this.#bury(tenant, record, false);
      return true;
    }
    const opened = await openCall({ tenant, record, ifVersion: null, force: true }, readSettings(this.env));
    if ("kind" in opened) return false;
    this.#install(tenant, record, opened, false);
    return true;
  }

  async readConfig(): Promise<ConfigRecord | null> {
    this.#checkAlarm();
    return this.#stored?.record ?? null;
  }

  async configure(call: ConfigureCall): Promise<ConfigureAnswer> {
    const config = await openCall(call, readSettings(this.env));
    if ("kind" in config) return config;
    const conflict = versionConflict(call, this.#stored);
    if (conflict !== null) return conflict;
    const removed = Object.entries(await this.#allBacklogs()).filter(
      ([name, count]) => count > 0 && !Object.hasOwn(config.destinations, name),
    );
    if (!call.force && removed.length > 0) return { kind: "has-backlog", destinations: Object.fromEntries(removed) };
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
    if (!call.force && waiting.length > 0) return { kind: "has-backlog", destinations: Object.fromEntries(waiting) };
    const { version, objectCount = 1, shards = 1 } = this.#stored.record;
    const next = nextVersion(version, Date.now());
    const record: ConfigRecord = { v: 1, version: next, state: "deleted", keyId: "", sealed: "", objectCount, shards };
    this.#bury(call.tenant, record, true);
    return this.#tell(call.tenant, record);
  }

  async stats(): Promise<TenantStats | null> {
    const stored = this.#stored;
    if (stored === null || this.#runtime === null) return null;
    this.#checkAlarm();
    return tenantStats(stored.tenant, stored.record.version, this.#log, this.#runtime.roster, Date.now());
  }

  async reportRejections(report: RejectionReport): Promise<void> {
    this.#checkAlarm();
    const nowMs = Date.now();
    const count = report.kinds.reduce((sum, kind) => sum + kind.count, 0);
    this.#runtime?.alerting.rejected(count, nowMs);
    const dueMs = this.#runtime?.alerting.dueMs(nowMs) ?? null;
    if (dueMs !== null && dueMs <= nowMs) this.#armAt(nowMs + 1, nowMs);
  }

  async tend(): Promise<TendAnswer | null> {
    const armedAtMs = await this.ctx.storage.getAlarm();
    const nowMs = Date.now();
    const stored = this.#stored;
    const runtime = this.#runtime;
    if (stored === null || runtime === null) return null;
    // Memory may believe in an alarm that was lost; while a run is on there is none.
    if (!this.#wake.isRunOn(nowMs)) this.#wake.learn(armedAtMs);
    const dueMs = runtime.drain.nextDueMs(nowMs);
    if (dueMs !== null) this.#armAt(Math.max(dueMs, nowMs + 1), nowMs);
    const stats = tenantStats(stored.tenant, stored.record.version, this.#log, runtime.roster, nowMs);
    return { stats, isIdle: isIdle(this.#log, runtime.roster, nowMs) };
  }

  async drain(): Promise<{ readonly drained: true }> {
    for (const name of this.#runtime?.roster.names() ?? []) this.#operator()?.act(name, "drain");
    return { drained: true };
  }

  async pause(name: string): Promise<boolean> {
    return this.#operator()?.act(name, "pause") ?? false;
  }

  async resume(name: string): Promise<boolean> {
    return this.#operator()?.act(name, "resume") ?? false;
  }

  async event(eventId: string): Promise<EventView | null> {
    this.#checkAlarm();
    const seq = this.#runtime === null ? null : await findSeq(this.#log, eventId);
    return seq === null || this.#runtime === null ? null : eventView(this.#log, this.#runtime.roster, seq);
  }

  async body(eventId: string): Promise<BodyAnswer> {
    this.#checkAlarm();
    const seq = this.#runtime === null ? null : await findSeq(this.#log, eventId);
    if (seq === null) return { kind: "not-found" };
    const event = this.#log.events.read(seq);
    if (event === null) return { kind: "expired" };
    const { body, contentType } = event;
    if (body instanceof Uint8Array) return { kind: "body", body, contentType };
    return { kind: "stream", stream: bodyStream(body), sizeBytes: body.sizeBytes, contentType };
  }

  async deadLetters(query: DeadLetterQuery) {
    this.#checkAlarm();
    if (this.#runtime?.roster.find(query.destination) == null) return null;
    return deadLetterPage(this.#log, query);
  }

  async redrive(call: { readonly destination: string; readonly ids: readonly string[]; readonly dryRun: boolean }) {
    const count = (await this.#operator()?.redrive(call.destination, call.ids, call.dryRun)) ?? null;
    return count === null ? null : { count };
  }

  async startJob(call: JobCall): Promise<JobAnswer> {
    const [destination = ""] = call.destinations;
    const answer = await this.#operator()?.startJob(call, call.id ?? crypto.randomUUID());
    return answer ?? { kind: "no-such-destination", destination };
  }

  async job(id: string): Promise<JobView | null> {
    this.#checkAlarm();
    return this.#runtime?.jobs.find(id) ?? null;
  }

  async cancelJob(id: string): Promise<JobView | null> {
    return this.#runtime?.jobs.cancel(id, Date.now()) ?? null;
  }

  async events(query: EventQuery): Promise<EventPage | null> {
    this.#checkAlarm();
    if (this.#runtime === null) return null;
    return searchEvents(this.#log, this.#runtime.roster, query, () => Date.now());
  }

  async giveUpEvent(call: { readonly eventId: string; readonly destination: string }): Promise<boolean | null> {
    return (await this.#operator()?.giveUp(call.eventId, call.destination)) ?? null;
  }

  async queueExhausted(call: { readonly eventId: string; readonly destination: string }): Promise<boolean> {
    return (await this.#operator()?.queueExhausted(call.eventId, call.destination)) ?? false;
  }

  override async alarm(info?: AlarmInvocationInfo): Promise<void> {
    if (this.#runtime !== null) await this.#runtime.drain.run((info?.retryCount ?? 0) > 0);
    else await this.#tendTombstone();
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

  /** Events waiting at each destination of the tenant, over all its objects. */
  async #allBacklogs(): Promise<Record<string, number>> {
    const stored = this.#stored;
    if (stored === null) return {};
    const sums = new Map(Object.entries(await this.backlogs()));
    for (const [name, count] of await this.#peers(stored.tenant).backlogs(stored.record)) {
      sums.set(name, (sums.get(name) ?? 0) + count);
    }
    return Object.fromEntries(sums);
  }

  get #shard(): number {
    return parseObjectName(this.ctx.id.name ?? "").shard;
  }

  #peers(tenant: string): Peers {
    return new Peers(this.env, tenant);
  }

  async #open(): Promise<void> {
    if (!this.#log.open()) return;
    this.#wake.learn(await this.ctx.storage.getAlarm());
    const stored = await readStored(this.#log, readSettings(this.env));
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
    this.#checkAlarm();
  }

  #makeRuntime(tenant: string, config: Runtime["config"], record: ConfigRecord, untold: boolean): Runtime {
    const settings = readSettings(this.env);
    const clock = (): number => Date.now();
    const random = (): number => Math.random();
    const parts = { storage: this.ctx.storage, env: this.env, settings, log: this.#log, wake: this.#wake, tenant };
    const tell = (newest: ConfigRecord): Promise<boolean> => this.#tellAll(tenant, newest);
    return new Runtime({ ...parts, shard: this.#shard, tell, clock, random }, config, record, untold);
  }

  #operator(): Operator | null {
    return this.#runtime === null ? null : new Operator(this.#log, this.#wake, this.#runtime, () => Date.now());
  }

  #armAt(dueMs: number, nowMs: number): void {
    this.#wake.committed(this.#log.transaction(() => this.#wake.arm(dueMs, nowMs)));
  }

  /** Sets the alarm again where it was lost: missing at the first call after a start, or long overdue [V20](e). */
  #checkAlarm(): void {
    const nowMs = Date.now();
    if (this.#isAlarmChecked && !this.#wake.isOverdue(nowMs)) return;
    this.#isAlarmChecked = true;
    const dueMs = this.#runtime?.drain.nextDueMs(nowMs) ?? null;
    if (dueMs !== null) this.#armAt(Math.max(dueMs, nowMs + 1), nowMs);
  }

  /** The tenant's other objects first, then KV: no Worker may use a layout that an object does not know yet [S2]. */
  async #tellAll(tenant: string, record: ConfigRecord): Promise<boolean> {
    return (await this.#peers(tenant).tell(record)) && (await tellKv(this.env, this.#log, tenant, record));
  }

  async #tell(tenant: string, record: ConfigRecord): Promise<ConfigureAnswer> {
    const everywhere = await this.#tellAll(tenant, record);
    if (everywhere && this.#stored?.record.version === record.version) {
      this.#stored = { ...this.#stored, untold: false };
      this.#runtime?.retellAt(null);
    }
    return { kind: "configured", record, everywhere };
  }

  /** A deleted tenant: KV is told until it knows, and after a day the tombstone goes with the object [O4]. */
  async #tendTombstone(): Promise<void> {
    const stored = this.#stored;
    if (stored === null || stored.record.state !== "deleted") return;
    const nowMs = Date.now();
    if (nowMs >= tombstoneEndMs(stored.changedAtMs)) {
      await this.ctx.storage.deleteAll();
      this.#stored = null;
      return;
    }
    const isTold = !stored.untold || (await this.#tellAll(stored.tenant, stored.record));
    if (isTold) this.#stored = { ...stored, untold: false };
    this.#wake.learn(null);
    this.#armAt(isTold ? tombstoneEndMs(stored.changedAtMs) : nowMs + RETELL_MS, nowMs);
  }
}

/** The platform's rows end at 2 MB: a large event comes by `ingestLarge`. */
const tooLargeForOneCall: IngestAnswer = { kind: "unavailable", code: "too-large-for-one-call", retryAfterSeconds: 30 };
