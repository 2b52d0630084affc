/**
 * The destinations of a tenant together: who still needs what, how far all have come, and whether there is room for
 * another event [R4] [V16].
 */
import { BACKLOG_ALERT_SHARE, BACKLOG_CLEAR_SHARE, backlogDetail } from "../core/alert-rules.ts";
import { enable } from "../core/delivery/machine.ts";
import type { Counters } from "../log/cursors.ts";
import type { EventHead } from "../log/events.ts";
import type { Log } from "../log/log.ts";
import type { DestinationConfig, TenantConfig } from "../tenants/config.ts";
import type { IngestAnswer } from "./contract.ts";
import { Destination } from "./destination.ts";
import { type Memory, newCursor } from "./memory.ts";
import { redriveEvent } from "./moves.ts";
import { shed } from "./shed.ts";

/** Copied-out events looked at in one piece. */
const KEPT_PAGE = 500;

export type RosterSnapshot = ReadonlyMap<string, Memory>;

export class Roster {
  readonly #log: Log;
  #destinations: readonly Destination[] = [];

  constructor(log: Log) {
    this.#log = log;
  }

  /** Reads every destination of the configuration from storage; those without a row yet are not among them. */
  load(config: TenantConfig, nowMs: number): void {
    const { cursors } = this.#log.cursors.readAll();
    this.#destinations = cursors.flatMap((cursor) => {
      const settings = destinationConfig(config, cursor.name);
      return settings === null ? [] : [this.#enlist(new Destination(this.#log, config, settings, cursor, nowMs))];
    });
  }

  /** Starts from what is stored, as after a crash; outcomes still to come are nobody's business any more. */
  recover(nowMs: number): void {
    const stored = new Map(this.#log.cursors.readAll().cursors.map((cursor) => [cursor.name, cursor]));
    for (const destination of this.#destinations) {
      const cursor = stored.get(destination.name);
      if (cursor !== undefined) destination.recover(cursor, nowMs);
    }
  }

  get all(): readonly Destination[] {
    return this.#destinations;
  }

  names(): string[] {
    return this.#destinations.map((destination) => destination.name);
  }

  find(name: string): Destination | null {
    return this.#destinations.find((destination) => destination.name === name) ?? null;
  }

  /**
   * Takes over a new configuration, within the transaction that stores it: rows for new destinations, none for removed
   * ones, whose ledger ends [X5].
   */
  reconfigure(config: TenantConfig, nowMs: number): void {
    const kept: Destination[] = [];
    for (const destination of this.#destinations) {
      const settings = destinationConfig(config, destination.name);
      if (settings === null) this.#remove(destination.name);
      else kept.push(destination);
    }
    for (const destination of kept) {
      const before = destination.config;
      const settings = destinationConfig(config, destination.name) ?? before;
      if (JSON.stringify(before.filter) !== JSON.stringify(settings.filter)) {
        this.#log.filters.record(destination.name, destination.firstUntouchedSeq(), settings.filter);
      }
      destination.use(config, settings);
      if (settings.delivery.ordering !== before.delivery.ordering) destination.startOver(nowMs);
      if (settings.url !== before.url) this.#enableAnew(destination, nowMs);
    }
    for (const [name, settings] of Object.entries(config.destinations)) {
      if (kept.some((destination) => destination.name === name)) continue;
      const cursor = newCursor(name, settings.from, this.#log, nowMs);
      this.#log.cursors.insert(cursor, this.#log.meter.encodeWithWrite(1));
      if (settings.filter !== null) this.#log.filters.record(name, cursor.baseSeq + 1, settings.filter);
      kept.push(this.#enlist(new Destination(this.#log, config, settings, cursor, nowMs)));
    }
    this.#destinations = kept;
  }

  #enlist(destination: Destination): Destination {
    destination.onReleased = (seqs) => {
      for (const seq of seqs) this.releaseKept(seq);
    };
    return destination;
  }

  #remove(name: string): void {
    this.#log.cursors.remove(name);
    this.#log.aside.removeAll(name);
    this.#log.dead.removeAll(name);
    this.#log.alerts.removeOf(name);
    this.#log.filters.removeAll(name);
    this.#log.claims.removeAll(name);
    this.#releaseAllKept();
  }

  /** Copied-out events that only a removed destination still needed go [L1]. */
  #releaseAllKept(): void {
    let afterSeq = 0;
    for (;;) {
      const seqs = this.#log.events.keptSeqs(afterSeq, this.#log.segments.high.seq, KEPT_PAGE);
      for (const seq of seqs) this.releaseKept(seq);
      const last = seqs.at(-1);
      if (last === undefined || seqs.length < KEPT_PAGE) return;
      afterSeq = last;
    }
  }

  /** A changed `url` ends `disabled` [V24]. */
  #enableAnew(destination: Destination, nowMs: number): void {
    const { row, live } = destination.memory;
    if (row.disabled === null) return;
    destination.believe({ ...destination.memory, ...enable(row, live, nowMs) });
    this.#log.alerts.clear("destination-disabled", destination.name, nowMs);
    destination.write();
  }

  /** What memory holds of every destination; `restore` puts it back after a rolled-back transaction. */
  snapshot(): RosterSnapshot {
    return new Map(this.#destinations.map((destination) => [destination.name, destination.memory]));
  }

  restore(snapshot: RosterSnapshot): void {
    for (const destination of this.#destinations) {
      const memory = snapshot.get(destination.name);
      if (memory !== undefined) destination.restore(memory);
    }
  }

  /** A position beyond the log's mark: something is very wrong, and nothing more may be stored [L3]. */
  isAheadOfLog(): boolean {
    return this.#destinations.some((destination) => destination.row.position > this.#log.segments.high.seq);
  }

  /** Says so where it is so, or was and is no more; to be called at the start, in a transaction [L3]. */
  checkPositions(nowMs: number): void {
    const { alerts } = this.#log;
    if (this.isAheadOfLog()) {
      alerts.raise("position-beyond-log", "", nowMs, "a destination is further than the log: nothing more is stored");
    } else alerts.clear("position-beyond-log", "", nowMs);
  }

  /** Every event up to here is settled or set aside at every destination. */
  lowestPosition(): number {
    return this.#destinations.reduce(
      (lowest, destination) => Math.min(lowest, destination.row.position),
      this.#log.segments.high.seq,
    );
  }

  /** When a run is due for any destination, or null. */
  nextDueMs(nowMs: number): number | null {
    let next: number | null = null;
    for (const destination of this.#destinations) {
      const dueMs = destination.dueMs(nowMs);
      if (dueMs !== null && (next === null || dueMs < next)) next = dueMs;
    }
    return next;
  }

  /** Destinations in the order in which they get their turn: those with least in flight first [V13]. */
  inTurn(inFlight: ReadonlyMap<string, number>): Destination[] {
    return [...this.#destinations].sort((a, b) => (inFlight.get(a.name) ?? 0) - (inFlight.get(b.name) ?? 0));
  }

  isOtherWaiting(destination: Destination, nowMs: number): boolean {
    return this.#destinations.some((other) => {
      return other !== destination && other.memory.live.flights.length === 0 && other.isDue(nowMs);
    });
  }

  /**
   * Destinations for which the event is dead or expired, so that a repeat re-opens it there [D6]; `repeat` says of which
   * source and type the event is, should it be stored no more.
   */
  closedAt(seq: number, repeat: Pick<EventHead, "source" | "type">): Destination[] {
    const closed = this.#destinations.filter(({ cursor }) => cursor.counters.dead + cursor.counters.expired > 0);
    const head = closed.length === 0 ? null : this.#log.events.head(seq);
    if (head?.erased === true) return [];
    const { source, type } = head ?? repeat;
    return closed.filter(({ name }) => this.#log.dead.isReopenable(name, seq, source, type));
  }

  /** Puts a dead or expired event back in the backlog of these destinations, with fresh attempts [D6]. */
  reopen(seq: number, destinations: readonly Destination[], nowMs: number): void {
    const head = this.#log.events.head(seq);
    if (head === null) return;
    for (const destination of destinations) {
      if (redriveEvent(this.#log, destination, head, nowMs, null)) destination.write();
    }
  }

  /**
   * Makes sure that every destination may take one more event of `bytes` bytes. One that is paused or disabled and over
   * its bound loses its oldest events to its dead letters, where another one goes on; otherwise intake stops [R4].
   */
  makeRoom(config: TenantConfig, bytes: number, nowMs: number): Extract<IngestAnswer, { kind: "unavailable" }> | null {
    for (const destination of this.#destinations) {
      const events = destination.backlogEvents() + 1;
      const backlogBytes = destination.backlogBytes() + bytes;
      this.#watch(destination.name, events / config.maxBacklogEvents, backlogBytes / config.maxBacklogBytes, nowMs);
      if (events <= config.maxBacklogEvents && backlogBytes <= config.maxBacklogBytes) continue;
      const isStopped = destination.isStopped();
      const isOtherOpen = this.#destinations.some(
        (other) =>
          other !== destination &&
          !other.isStopped() &&
          other.backlogEvents() < config.maxBacklogEvents &&
          other.backlogBytes() + bytes <= config.maxBacklogBytes,
      );
      if (!isStopped || !isOtherOpen || !shed(this.#log, destination, config, nowMs)) {
        return { kind: "unavailable", code: "backlog-full", retryAfterSeconds: 60 };
      }
    }
    return null;
  }

  /** Changes a destination's ledger by hand, in its own row. */
  count(name: string, change: Partial<Counters>): void {
    this.find(name)?.count(change);
  }

  /** A copied-out event that nothing refers to any more goes [L1]. */
  releaseKept(seq: number): void {
    if (!this.#log.events.isKept(seq)) return;
    const isNeeded = this.#destinations.some(
      ({ name }) =>
        this.#log.aside.find(name, seq) !== null ||
        this.#log.claims.has(name, seq) ||
        (this.#log.dead.find(name, seq) ?? this.#log.dead.ranges.find(name, seq))?.state === "dead",
    );
    if (!isNeeded) this.#log.events.dropKept(seq);
  }

  /** An alert names the destination that is behind [R4]; the run clears it where nothing arrives any more. */
  #watch(name: string, eventsShare: number, bytesShare: number, nowMs: number): void {
    const { alerts } = this.#log;
    const share = Math.max(eventsShare, bytesShare);
    if (share >= BACKLOG_ALERT_SHARE) alerts.raise("backlog-nearly-full", name, nowMs, backlogDetail(name, share));
    else if (share < BACKLOG_CLEAR_SHARE) alerts.clear("backlog-nearly-full", name, nowMs);
  }
}

/** The settings of `name`, by its own key only. */
function destinationConfig(config: TenantConfig, name: string): DestinationConfig | null {
  return Object.hasOwn(config.destinations, name) ? (config.destinations[name] ?? null) : null;
}
