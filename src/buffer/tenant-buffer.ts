/**
 * The Durable Object of a tenant [S3]: loads, decides with the parts of this folder, writes. Everything it answers is
 * plain data (contract.ts); it never throws at a caller for what the world may do.
 */
import { DurableObject } from "cloudflare:workers";
import { isLargeEvent } from "../core/large-body.ts";
import type { Rejection } from "../core/rejections.ts";
import { type Bindings, readSettings } from "../env.ts";
import { Log } from "../log/log.ts";
import type { ConfigRecord } from "../tenants/config.ts";
import { bodyStream } from "./body-stream.ts";
import { changePage, recordChange } from "./change-log.ts";
import type {
  AdoptCall,
  BodyAnswer,
  ChangeCall,
  ConfigureAnswer,
  ConfigureCall,
  DeadLetterQuery,
  EventPage,
  EventQuery,
  EventView,
  ExhaustedCall,
  IngestAnswer,
  IngestCall,
  IngestReply,
  JobAnswer,
  JobCall,
  JobView,
  LargeIngestCall,
  RecallAnswer,
  RejectionReport,
  TakeSecretAnswer,
  TakeSecretCall,
  TenantBufferCalls,
  TenantStats,
  TendAnswer,
} from "./contract.ts";
import { findSeq } from "./event-key.ts";
import { takeHandedSecret } from "./handed-secret.ts";
import { isIdle } from "./idle.ts";
import { deadLetterPage, eventView } from "./inspect.ts";
import { Operator } from "./operate.ts";
import type { Runtime } from "./runtime.ts";
import { searchEvents } from "./search.ts";
import { tenantStats } from "./stats.ts";
import { Tenancy } from "./tenancy.ts";
import { Wake } from "./wake.ts";

export class TenantBuffer extends DurableObject<Bindings> implements TenantBufferCalls {
  readonly #log: Log;
  readonly #wake: Wake;
  readonly #tenancy: Tenancy;

  constructor(ctx: DurableObjectState, env: Bindings) {
    super(ctx, env);
    this.#log = new Log(ctx.storage, Date.now());
    this.#wake = new Wake(ctx.storage, this.#log.meter);
    this.#tenancy = new Tenancy(ctx, env, this.#log, this.#wake);
    void ctx.blockConcurrencyWhile(() => this.#tenancy.open());
  }

  async ingest(call: IngestCall): Promise<IngestReply> {
    if (isLargeEvent(call.body.byteLength, call.headers)) return tooLargeForOneCall;
    const answer = await this.#takeIn(call, ({ intake }, isTaken) => intake.accept(call, isTaken));
    return isOrdinary(answer, call) || answer;
  }

  async ingestLarge(call: LargeIngestCall, body: ReadableStream<Uint8Array>): Promise<IngestAnswer> {
    const answer = await this.#takeIn(call, ({ uploads }, isTaken) => uploads.take(call, body, isTaken));
    if (!body.locked) body.cancel().catch(() => {});
    return answer;
  }

  /** What stands before storing an event: the newest configuration, and what another object may know of it. */
  #takeIn(
    call: IngestCall,
    store: (runtime: Runtime, isTaken: boolean) => Promise<IngestAnswer>,
  ): IngestAnswer | Promise<IngestAnswer> {
    this.#tenancy.checkAlarm();
    const stored = this.#tenancy.stored;
    if (stored === null) return { kind: "unconfigured" };
    if (call.version < stored.record.version) return { kind: "stale", record: stored.record };
    if (this.#tenancy.runtime === null)
      return { kind: "unavailable", code: "configuration-unusable", retryAfterSeconds: 30 };
    const runtime = this.#tenancy.runtime;
    const { intake } = runtime;
    if (intake.isStale(call)) return { kind: "stale", record: stored.record };
    if (stored.record.layouts === undefined || stored.record.layouts.length === 0 || intake.knows(call)) {
      return store(runtime, false);
    }
    return this.#askPeers(call, stored.record, (isTaken) => store(runtime, isTaken));
  }

  /** The tenant was spread differently before: another object may know the event [S2]. */
  async #askPeers(
    call: IngestCall,
    record: ConfigRecord,
    store: (isTaken: boolean) => Promise<IngestAnswer>,
  ): Promise<IngestAnswer> {
    const recalled = await this.#tenancy.peers(call.tenant).recall(call, this.#tenancy.shard, record, Date.now());
    if (recalled.kind === "unknown") return store(recalled.taken);
    return recalled.kind === "behind" ? { kind: "unavailable", code: "resharding", retryAfterSeconds: 2 } : recalled;
  }

  async recall(call: IngestCall): Promise<RecallAnswer> {
    this.#tenancy.checkAlarm();
    const isTold = this.#tenancy.stored !== null && this.#tenancy.stored.record.version >= call.version;
    return isTold && this.#tenancy.runtime !== null ? this.#tenancy.runtime.intake.recall(call) : { kind: "behind" };
  }

  async backlogs(): Promise<Readonly<Record<string, number>>> {
    return this.#tenancy.backlogs();
  }

  async adopt(call: AdoptCall): Promise<boolean> {
    return this.#tenancy.adopt(call);
  }

  async readConfig(): Promise<ConfigRecord | null> {
    this.#tenancy.checkAlarm();
    return this.#tenancy.stored?.record ?? null;
  }

  async configure(call: ConfigureCall): Promise<ConfigureAnswer> {
    return this.#tenancy.configure(call);
  }

  async deleteTenant(call: {
    readonly tenant: string;
    readonly ifVersion: number | null;
    readonly force: boolean;
  }): Promise<ConfigureAnswer> {
    return this.#tenancy.deleteTenant(call);
  }

  async stats(): Promise<TenantStats | null> {
    const stored = this.#tenancy.stored;
    if (stored === null || this.#tenancy.runtime === null) return null;
    this.#tenancy.checkAlarm();
    return tenantStats(stored.tenant, stored.record.version, this.#log, this.#tenancy.runtime.roster, Date.now());
  }

  async reportRejections(report: RejectionReport): Promise<void> {
    this.#tenancy.checkAlarm();
    const { runtime } = this.#tenancy;
    if (runtime === null) return;
    const nowMs = Date.now();
    runtime.alerting.rejected(runtime.rejected.report(report.kinds, nowMs), nowMs);
    const dueMs = runtime.alerting.dueMs(nowMs);
    if (dueMs !== null && dueMs <= nowMs) this.#tenancy.armAt(nowMs + 1, nowMs);
  }

  async rejections(): Promise<readonly Rejection[] | null> {
    return this.#tenancy.runtime?.rejected.list() ?? null;
  }

  async takeSecret(call: TakeSecretCall): Promise<TakeSecretAnswer> {
    return takeHandedSecret(this.#tenancy, readSettings(this.env).configKeys, call, () => Date.now());
  }

  async recordChange(call: ChangeCall): Promise<boolean> {
    if (this.#tenancy.runtime === null) return false;
    recordChange(this.#log, call, Date.now());
    return true;
  }

  async changes(query: { readonly cursor: string | null; readonly limit: number }) {
    return this.#tenancy.runtime === null ? null : changePage(this.#log, query);
  }

  async tend(): Promise<TendAnswer | null> {
    const armedAtMs = await this.ctx.storage.getAlarm();
    const nowMs = Date.now();
    const stored = this.#tenancy.stored;
    const runtime = this.#tenancy.runtime;
    if (stored === null || runtime === null) return null;
    // Memory may believe in an alarm that was lost; while a run is on there is none.
    if (!this.#wake.isRunOn(nowMs)) this.#wake.learn(armedAtMs);
    const dueMs = runtime.drain.nextDueMs(nowMs);
    if (dueMs !== null) this.#tenancy.armAt(Math.max(dueMs, nowMs + 1), nowMs);
    const stats = tenantStats(stored.tenant, stored.record.version, this.#log, runtime.roster, nowMs);
    return { stats, isIdle: isIdle(this.#log, runtime.roster, nowMs) };
  }

  async drain(): Promise<{ readonly drained: true }> {
    for (const name of this.#tenancy.runtime?.roster.names() ?? []) this.#operator()?.act(name, "drain");
    return { drained: true };
  }

  async pause(name: string): Promise<boolean> {
    return this.#operator()?.act(name, "pause") ?? false;
  }

  async resume(name: string): Promise<boolean> {
    return this.#operator()?.act(name, "resume") ?? false;
  }

  async event(eventId: string): Promise<EventView | null> {
    this.#tenancy.checkAlarm();
    const seq = this.#tenancy.runtime === null ? null : findSeq(this.#log, eventId);
    return seq === null || this.#tenancy.runtime === null
      ? null
      : eventView(this.#log, this.#tenancy.runtime.roster, seq);
  }

  async body(eventId: string): Promise<BodyAnswer> {
    this.#tenancy.checkAlarm();
    const seq = this.#tenancy.runtime === null ? null : findSeq(this.#log, eventId);
    if (seq === null) return { kind: "not-found" };
    const event = this.#log.events.read(seq);
    if (event === null) return { kind: "expired" };
    const { body, contentType } = event;
    if (body instanceof Uint8Array) return { kind: "body", body, contentType };
    return { kind: "stream", stream: bodyStream(body), sizeBytes: body.sizeBytes, contentType };
  }

  async deadLetters(query: DeadLetterQuery) {
    this.#tenancy.checkAlarm();
    if (this.#tenancy.runtime?.roster.find(query.destination) == null) return null;
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
    this.#tenancy.checkAlarm();
    return this.#tenancy.runtime?.jobs.find(id) ?? null;
  }

  async cancelJob(id: string): Promise<JobView | null> {
    return this.#tenancy.runtime?.jobs.cancel(id, Date.now()) ?? null;
  }

  async events(query: EventQuery): Promise<EventPage | null> {
    this.#tenancy.checkAlarm();
    if (this.#tenancy.runtime === null) return null;
    return searchEvents(this.#log, this.#tenancy.runtime.roster, query, () => Date.now());
  }

  async giveUpEvent(call: { readonly eventId: string; readonly destination: string }): Promise<boolean | null> {
    return (await this.#operator()?.giveUp(call.eventId, call.destination)) ?? null;
  }

  async queueExhausted(call: ExhaustedCall): Promise<boolean | null> {
    const isLive = this.#tenancy.stored?.record.state === "live";
    return (await this.#operator()?.queueExhausted(call)) ?? (isLive ? null : false);
  }

  async claimTaken(call: { readonly eventId: string; readonly destination: string }): Promise<boolean> {
    return (await this.#operator()?.claimTaken(call.eventId, call.destination)) ?? false;
  }

  override async alarm(info?: AlarmInvocationInfo): Promise<void> {
    if (this.#tenancy.runtime !== null) await this.#tenancy.runtime.drain.run((info?.retryCount ?? 0) > 0);
    else await this.#tenancy.tend();
  }

  #operator(): Operator | null {
    return this.#tenancy.runtime === null
      ? null
      : new Operator(this.#log, this.#wake, this.#tenancy.runtime, () => Date.now());
  }
}

/** Stored as the call names it, and nothing else to tell. */
function isOrdinary(answer: IngestAnswer, call: IngestCall): boolean {
  return (
    call.brief === true && answer.kind === "buffered" && answer.wasIdle !== true && answer.eventId === call.eventId
  );
}

/** The platform's rows end at 2 MB: a large event comes by `ingestLarge`. */
const tooLargeForOneCall: IngestAnswer = { kind: "unavailable", code: "too-large-for-one-call", retryAfterSeconds: 30 };
