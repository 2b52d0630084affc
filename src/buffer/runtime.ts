/** What an object has in memory of a configured tenant: its destinations, its intake, and the run that delivers. */
import { disable, enable } from "../core/delivery/machine.ts";
import type { Outcome } from "../core/delivery/outcome.ts";
import { inTime } from "../core/in-time.ts";
import { type Bindings, bindingOf, type Settings } from "../env.ts";
import type { OriginGateCalls } from "../gate/contract.ts";
import type { Log } from "../log/log.ts";
import { type Decision, Decisions } from "../observe/decisions.ts";
import { ThrottledLog } from "../observe/throttled-log.ts";
import type { QueueBinding } from "../sinks/queue.ts";
import type { ConfigRecord, TenantConfig } from "../tenants/config.ts";
import { Alerting } from "./alerting.ts";
import { RETELL_MS, TOMBSTONE_MS } from "./configuration.ts";
import type { Destination } from "./destination.ts";
import { type Chore, Drain } from "./drain.ts";
import { Intake } from "./intake.ts";
import { JobRunner } from "./job-runner.ts";
import { type Gates, Permits } from "./permits.ts";
import { Rejected } from "./rejected.ts";
import { RetentionTurns } from "./retention.ts";
import { Roster } from "./roster.ts";
import { hostOf, httpDestination, send, sharedHostOf } from "./sender.ts";
import { Uploads } from "./uploads.ts";
import type { Wake } from "./wake.ts";

const ORIGIN_UNSET = "origin-unset";
/** Who was not told by then is told once more. */
const TELL_LIMIT_MS = 10_000;
/** A run waits no longer for it: events are to be delivered. */
const TELL_WAIT_MS = 1_000;

interface RuntimeParts {
  readonly storage: DurableObjectStorage;
  readonly env: Bindings;
  readonly settings: Settings;
  readonly log: Log;
  readonly wake: Wake;
  readonly tenant: string;
  /** Which of the tenant's objects this is [S1]. */
  readonly shard: number;
  /** Tells the tenant's other objects and KV of the newest configuration; true when all have it. */
  readonly tell: (record: ConfigRecord) => Promise<boolean>;
  readonly clock: () => number;
  readonly random: () => number;
}

export class Runtime {
  readonly #parts: RuntimeParts;
  readonly roster: Roster;
  readonly intake: Intake;
  readonly uploads: Uploads;
  readonly drain: Drain;
  readonly retention: RetentionTurns;
  readonly jobs: JobRunner;
  readonly alerting: Alerting;
  readonly rejected: Rejected;
  #config: TenantConfig;
  #record: ConfigRecord;
  #retellAtMs: number | null;
  /** While others are being told: when they are told once more, whatever becomes of it. */
  #tellingUntilMs: number | null = null;

  constructor(parts: RuntimeParts, config: TenantConfig, record: ConfigRecord, untold: boolean) {
    const { log, storage, wake, clock, random } = parts;
    const nowMs = clock();
    this.#parts = parts;
    this.#config = config;
    this.#record = record;
    this.#retellAtMs = untold ? nowMs : null;
    this.roster = new Roster(log);
    this.roster.load(config, nowMs);
    this.intake = new Intake(storage, log, this.roster, wake, config, nowMs, random, () => this.#record);
    this.uploads = new Uploads({
      log,
      intake: this.intake,
      config: () => this.#config,
      clock,
      newId: () => crypto.randomUUID(),
    });
    this.retention = new RetentionTurns(log, this.roster);
    this.jobs = new JobRunner(log, this.roster);
    this.rejected = new Rejected(log);
    const decisions = new Decisions(parts.env.METRICS ?? null);
    this.alerting = new Alerting({ ...parts, roster: this.roster, decisions }, config);
    this.intake.onArrival = (source) => this.alerting.heard(source, clock());
    const sending = {
      tenant: parts.tenant,
      shard: parts.shard,
      settings: parts.settings,
      queueOf: (binding: string) => bindingOf(parts.env, binding) as QueueBinding | null,
    };
    const sender = {
      hostOf: (destination: Destination) => hostOf(destination.config, parts.settings),
      sharedHostOf: (destination: Destination) => sharedHostOf(destination.config, parts.settings),
      send: async (destination: Destination, request: Parameters<typeof send>[3], atMs: number) => {
        const sent = await send(sending, destination.name, destination.config, request, atMs);
        decisions.note(deliveryDecision(parts.tenant, destination.name, request.events.length, sent.outcome), atMs);
        noteUnknown(parts.tenant, destination.name, sent.outcome, atMs);
        return sent;
      },
    };
    this.drain = new Drain(
      this.roster,
      wake,
      sender,
      new Permits(gatesOf(parts.env), parts.tenant, clock),
      [this.jobs, this.#retentionChore(), this.#tellingChore(), this.alerting],
      clock,
      random,
    );
  }

  /** The tenant is deleted, or its memory made anew: nothing that is still going on here is written. */
  abandon(): void {
    this.drain.abandon();
    this.uploads.close();
    this.intake.close();
  }

  get record(): ConfigRecord {
    return this.#record;
  }

  get config(): TenantConfig {
    return this.#config;
  }

  /** Takes over a configuration, within the transaction that stores it. */
  reconfigure(config: TenantConfig, record: ConfigRecord, nowMs: number): void {
    this.roster.reconfigure(config, nowMs);
    this.#config = config;
    this.#record = record;
    this.checkOrigins(nowMs);
    this.intake.reconfigure(config, nowMs);
    this.alerting.reconfigure(config, nowMs);
    this.rejected.reconfigured(nowMs);
  }

  /** The default destination is disabled while its address is unset, and enabled when it is back [V5]. */
  checkOrigins(nowMs: number): void {
    const { log, settings } = this.#parts;
    for (const destination of this.roster.all) {
      const { row, live } = destination.memory;
      const isUnset = destination.config.kind === "http" && httpDestination(destination.config, settings) === null;
      if (isUnset && row.disabled === null) {
        destination.believe({ ...destination.memory, ...disable(row, live, ORIGIN_UNSET, nowMs) });
        log.alerts.raise("destination-disabled", destination.name, nowMs, "ORIGIN_BASE_URL is not set any more");
        destination.write();
      } else if (!isUnset && row.disabled?.reason === ORIGIN_UNSET) {
        destination.believe({ ...destination.memory, ...enable(row, live, nowMs) });
        log.alerts.clear("destination-disabled", destination.name, nowMs);
        destination.write();
      }
    }
  }

  /** KV has not got the newest configuration: the run goes on telling it [O4]. */
  retellAt(atMs: number | null): void {
    this.#retellAtMs = atMs;
  }

  #retentionChore(): Chore {
    return {
      dueMs: (nowMs) => this.retention.nextDueMs(this.#config, nowMs),
      run: (nowMs) => this.retention.turn(this.#config, nowMs),
    };
  }

  /** Delivery goes on where KV, or another object, takes its time. */
  #tellingChore(): Chore {
    return {
      dueMs: () => this.#tellingUntilMs ?? this.#retellAtMs,
      run: async (nowMs) => {
        this.#tellingUntilMs = nowMs + TELL_LIMIT_MS;
        await inTime(this.#tell(this.#record, this.#tellingUntilMs), TELL_WAIT_MS);
        return true;
      },
    };
  }

  async #tell(record: ConfigRecord, untilMs: number): Promise<void> {
    let isTold = false;
    try {
      isTold = await this.#parts.tell(record);
    } catch {
      // As if it had not been told: it is told once more.
    }
    if (this.#tellingUntilMs !== untilMs) return;
    this.#tellingUntilMs = null;
    // Of a change that came meanwhile nothing is known yet.
    if (record === this.#record) this.#retellAtMs = isTold ? null : this.#parts.clock() + RETELL_MS;
  }
}

/** When the tombstone of a deleted tenant may go. */
export function tombstoneEndMs(deletedAtMs: number): number {
  return deletedAtMs + TOMBSTONE_MS;
}

/** The gates of shared hosts, or null where the Worker is bound to none. */
function gatesOf({ ORIGIN_GATE }: Bindings): Gates | null {
  // The namespace is bound by name, not by class: its methods are those of the contract.
  return ORIGIN_GATE === undefined ? null : (host) => ORIGIN_GATE.getByName(host) as unknown as OriginGateCalls;
}

function deliveryDecision(tenant: string, destination: string, events: number, outcome: Outcome): Decision {
  const { kind, cause, status, durationMs } = outcome;
  const isRoutine = kind === "accepted" && outcome.refusedIds.length === 0;
  const text = cause === undefined ? kind : `${kind}:${cause}`;
  return { about: "delivery", tenant, at: destination, outcome: text, isRoutine, events, status, durationMs };
}

const unknownIds = new ThrottledLog();

/** An answer that names events nobody sent is somebody's mistake, and has no other effect [V23]. */
function noteUnknown(tenant: string, destination: string, outcome: Outcome, nowMs: number): void {
  const ids = outcome.kind === "accepted" ? (outcome.unknownIds ?? []) : [];
  if (ids.length === 0) return;
  const fields = { tenant, destination, count: ids.length, first: ids[0] };
  unknownIds.line(`${tenant} ${destination}`, nowMs, "warn", "unknown-item-failures", fields);
}
