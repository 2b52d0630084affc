/**
 * Alerts of a tenant [O9]: a chore of the run that raises and clears what the rules say, and tells operators of it. Sending
 * never keeps a delivery waiting: it goes on beside the run, and its next try is written down before it begins.
 */
import { type AlertAddresses, type Channel, channelsOf } from "../alerts/channel.ts";
import { type AlertMessage, afterTry, afterTryBegan, type TryResult } from "../core/alert-message.ts";
import { type AlertChanges, type AlertName, judgeAlerts } from "../core/alert-rules.ts";
import type { AlertNews } from "../core/alert-text.ts";
import { Traffic } from "../core/traffic.ts";
import type { Bindings, Settings } from "../env.ts";
import type { Alert } from "../log/alerts.ts";
import type { Log } from "../log/log.ts";
import type { Decisions } from "../observe/decisions.ts";
import type { TenantConfig } from "../tenants/config.ts";
import type { Chore } from "./drain.ts";
import { OldestEvent } from "./oldest-event.ts";
import type { Roster } from "./roster.ts";
import { SourcesOnAir } from "./sources-on-air.ts";

interface AlertingParts {
  readonly log: Log;
  readonly roster: Roster;
  readonly env: Bindings;
  readonly settings: Settings;
  readonly tenant: string;
  readonly shard: number;
  readonly decisions: Decisions;
  readonly clock: () => number;
}

/** Messages of which a try may be on its way at once. */
const SENDING_MAX = 4;
/** While as many are, the others are looked at again after this. */
const BUSY_MS = 1_000;

export class Alerting implements Chore {
  readonly #parts: AlertingParts;
  readonly #oldest: OldestEvent;
  readonly #traffic = new Traffic();
  readonly #sources: SourcesOnAir;
  #config: TenantConfig;
  #sendingCount = 0;

  constructor(parts: AlertingParts, config: TenantConfig) {
    const { log, clock, decisions, tenant } = parts;
    this.#parts = parts;
    this.#config = config;
    this.#oldest = new OldestEvent(log);
    this.#sources = new SourcesOnAir(log, config, clock());
    log.alerts.onChange = ({ kind, destination, clearedAtMs }) => {
      const outcome = `${kind}:${clearedAtMs === null ? "raised" : "cleared"}`;
      decisions.note({ about: "alert", tenant, at: destination, outcome, isRoutine: false, events: 0 }, clock());
    };
  }

  reconfigure(config: TenantConfig, nowMs: number): void {
    this.#config = config;
    this.#sources.reconfigure(config, nowMs);
  }

  /** A verified request of a source arrived. */
  heard(source: string, nowMs: number): void {
    // Rejections are told to the first object alone, which gets about one in `shards` of the others.
    this.#traffic.note(this.#config.shards, 0, nowMs);
    this.#sources.heard(source, nowMs);
  }

  /** Requests were turned away by the Worker; they never reach this object otherwise. */
  rejected(count: number, nowMs: number): void {
    this.#traffic.note(count, count, nowMs);
  }

  dueMs(nowMs: number): number | null {
    const { raise, clear, nextMs } = this.#judge(nowMs);
    if (raise.length > 0 || clear.length > 0 || this.#sources.isWriteDue()) return nowMs;
    const dues = [nextMs, this.#nextTryMs(nowMs)].filter((atMs) => atMs !== null);
    return dues.length === 0 ? null : Math.min(...dues);
  }

  run(nowMs: number): boolean {
    const { log } = this.#parts;
    const changes = this.#judge(nowMs);
    const channels = this.#channels();
    const begun: { alert: Alert; message: AlertMessage }[] = [];
    const isWritten = log.transaction(() => {
      this.#change(changes, nowMs);
      const isHeardWritten = this.#sources.write();
      for (const alert of channels.length === 0 ? [] : log.alerts.owed()) {
        if (this.#sendingCount + begun.length >= SENDING_MAX || !isDue(alert, nowMs)) continue;
        const telling = afterTryBegan(alert.telling, nowMs);
        if (telling.message === null) continue;
        log.alerts.tell(alert, telling);
        begun.push({ alert, message: telling.message });
      }
      return isHeardWritten;
    });
    for (const { alert, message } of begun) void this.#send(alert, message, channels, nowMs);
    return isWritten || begun.length > 0 || changes.raise.length + changes.clear.length > 0;
  }

  #change(changes: AlertChanges, nowMs: number): void {
    const { alerts } = this.#parts.log;
    for (const { kind, destination, subject, level, detail } of changes.raise) {
      alerts.raise(kind, destination, nowMs, detail, { subject, level });
    }
    for (const { kind, destination, subject } of changes.clear) alerts.clear(kind, destination, nowMs, subject);
  }

  #judge(nowMs: number): AlertChanges {
    const { log, roster, shard } = this.#parts;
    const { maxBacklogEvents, maxBacklogBytes } = this.#config;
    const destinations = roster.all.map((destination) => ({
      name: destination.name,
      row: destination.row,
      backlogEvents: destination.backlogEvents(),
      backlogShare: Math.max(
        destination.backlogEvents() / maxBacklogEvents,
        destination.backlogBytes() / maxBacklogBytes,
      ),
      deadEvents: destination.cursor.counters.dead,
      oldestSinceMs: this.#oldest.sinceMs(destination, nowMs),
    }));
    const facts = {
      destinations,
      // What concerns the tenant as a whole is said by its first object alone.
      sources: shard === 0 ? this.#sources.facts() : [],
      traffic: this.#traffic.sum(nowMs),
      silentSourceMs: this.#sources.silentMs,
    };
    return judgeAlerts(facts, log.alerts.up(), nowMs);
  }

  #nextTryMs(nowMs: number): number | null {
    const tries = this.#parts.log.alerts.owed().flatMap(({ telling }) => telling.message?.nextTryAtMs ?? []);
    if (tries.length === 0 || this.#channels().length === 0) return null;
    const isBusy = this.#sendingCount >= SENDING_MAX;
    return Math.max(Math.min(...tries), isBusy ? nowMs + BUSY_MS : 0);
  }

  /** Everything about a try but its beginning. Never throws: nobody waits for it. */
  async #send(alert: Alert, message: AlertMessage, channels: readonly Channel[], nowMs: number): Promise<void> {
    this.#sendingCount += 1;
    try {
      const news = this.#news(alert, message.what);
      const wanted = channels.filter(({ name }) => message.to === null || message.to.includes(name));
      const answers = await Promise.all(wanted.map(async ({ name, tell }) => [name, await tell(news, nowMs)] as const));
      this.#settle(alert, message, {
        took: answers.filter(([, failure]) => failure === "").map(([name]) => name),
        failed: new Map(answers.filter(([, failure]) => failure !== "")),
      });
    } catch (error) {
      console.error(
        JSON.stringify({ event: "alert-failed", reason: error instanceof Error ? error.message : "unknown" }),
      );
    } finally {
      this.#sendingCount -= 1;
    }
  }

  #settle(name: AlertName, message: AlertMessage, result: TryResult): void {
    const { log, clock } = this.#parts;
    const alert = log.alerts.find(name);
    if (alert === null) return;
    const telling = afterTry(alert.telling, message, result, alert, clock());
    log.transaction(() => log.alerts.tell(name, telling));
  }

  #news(alert: Alert, what: AlertNews["what"]): AlertNews {
    const { tenant, shard, roster, settings } = this.#parts;
    const { kind, destination, subject, detail, level, raisedAtMs, clearedAtMs } = alert;
    const concerned = roster.all.filter(({ name }) => destination === "" || destination === name);
    const host = settings.publicHosts[0] ?? this.#config.alerts?.linkHost ?? null;
    return {
      kind,
      destination,
      subject,
      what,
      tenant,
      shard: this.#config.shards === 1 ? null : shard,
      detail,
      level,
      raisedAtMs,
      clearedAtMs: what === "cleared" ? clearedAtMs : null,
      waitingEvents: concerned.reduce((sum, each) => sum + each.backlogEvents(), 0),
      link: host === null ? null : `https://${host}/admin/tenants/${tenant}/stats`,
    };
  }

  #channels(): Channel[] {
    const { settings, env } = this.#parts;
    const addresses: AlertAddresses | null = this.#config.alerts;
    if (addresses === null) return [];
    const policy = { allowInsecure: settings.allowInsecureDestinations, ownHosts: settings.publicHosts };
    return channelsOf(addresses, { policy, mail: env.ALERT_EMAIL ?? null });
  }
}

function isDue({ telling }: Alert, nowMs: number): boolean {
  const atMs = telling.message?.nextTryAtMs ?? null;
  return atMs !== null && atMs <= nowMs;
}
