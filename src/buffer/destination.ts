/**
 * One destination of a tenant, as its object holds it: the stored cursor, the state machine's row and memory, and a look
 * ahead into the log. The machine decides; this class reads, writes in one transaction, and believes it after the commit.
 */
import {
  type DeliveryRow,
  firstUntouchedSeq,
  forgetIsolation,
  plan,
  type SettleFacts,
  stateOf,
  wakeUp,
} from "../core/delivery/machine.ts";
import type { Outcome } from "../core/delivery/outcome.ts";
import { backlogCount } from "../core/ledger.ts";
import type { Counters, Cursor } from "../log/cursors.ts";
import type { Log } from "../log/log.ts";
import type { DestinationConfig, TenantConfig } from "../tenants/config.ts";
import type { DestinationState } from "./contract.ts";
import { DestinationTurn } from "./destination-turn.ts";
import type { LoadedRequest } from "./load-request.ts";
import { counted, type Memory } from "./memory.ts";
import { Outlook } from "./outlook.ts";
import { type Recording, recordSettlement } from "./record.ts";

/** Steps in one transaction: requests begun, stretches passed over, events buried. */
const STEPS_MAX = 16;

/** The outcome of a request, on its way into the log. */
export interface Answered {
  readonly request: LoadedRequest;
  /** Events that a queue's consumer will fetch from here [V19]. */
  readonly claimedSeqs?: readonly number[];
  readonly batchId: string;
  readonly outcome: Outcome;
}

/** What a turn of the run allows a destination. */
export interface Turn {
  readonly nowMs: number;
  readonly random: () => number;
  /** Requests it may begin. */
  readonly requestsMax: number;
  readonly othersWaiting: boolean;
  /** Requests of this object that are in flight now, those of other destinations included [V26]. */
  readonly inFlight: number;
  /** Gives each request an id of its own. */
  readonly nextId: () => number;
}

interface Stepped {
  readonly begun: readonly LoadedRequest[];
  /** Something was written: the turn was not in vain. */
  readonly changed: boolean;
}

export class Destination {
  readonly name: string;
  readonly #log: Log;
  readonly outlook: Outlook;
  readonly #turns: DestinationTurn;
  #config: DestinationConfig;
  #deadLetterTtlSeconds: number;
  #memory: Memory;

  constructor(log: Log, tenant: TenantConfig, config: DestinationConfig, cursor: Cursor, nowMs: number) {
    this.name = cursor.name;
    this.#log = log;
    this.#config = config;
    this.#deadLetterTtlSeconds = tenant.deadLetterTtlSeconds;
    this.#turns = new DestinationTurn(log, this);
    this.outlook = new Outlook(log, cursor.name, config);
    this.#memory = woken(cursor, config, nowMs);
  }

  /**
   * Starts from the stored row, as after a crash: what was in flight goes again [V14]. It is not to blame: the object
   * lives, and only the record of the outcome could not be written [V26].
   */
  recover(cursor: Cursor, nowMs: number): void {
    const memory = woken(cursor, this.#config, nowMs);
    const stored = (JSON.parse(cursor.delivery) as DeliveryRow).inFlight;
    const inFlight = memory.row.inFlight.map((record, index) => ({
      ...record,
      crashes: stored[index]?.crashes ?? record.crashes,
    }));
    this.restore({ ...memory, row: { ...memory.row, inFlight } });
  }

  get config(): DestinationConfig {
    return this.#config;
  }

  get memory(): Memory {
    return this.#memory;
  }

  get row(): DeliveryRow {
    return this.#memory.row;
  }

  get cursor(): Cursor {
    return this.#memory.cursor;
  }

  get deadLetterTtlSeconds(): number {
    return this.#deadLetterTtlSeconds;
  }

  use(tenant: TenantConfig, config: DestinationConfig): void {
    this.#config = config;
    this.#deadLetterTtlSeconds = tenant.deadLetterTtlSeconds;
    this.outlook.use(config);
  }

  /** Takes a change as true: it is committed, or stands in a transaction whose failure ends in `restore`. */
  believe(memory: Memory): void {
    this.#memory = memory;
  }

  /** Puts back what memory held before a transaction that was rolled back. */
  restore(memory: Memory): void {
    this.#memory = memory;
    this.outlook.reset();
  }

  backlogEvents(): number {
    const { row, cursor } = this.#memory;
    const { seq } = this.#log.segments.high;
    return backlogCount(seq, row.position, row.settledRanges, cursor.aside, cursor.settledAhead);
  }

  backlogBytes(): number {
    const { cursor } = this.#memory;
    return this.#log.segments.high.offeredBytes - cursor.positionBytes + cursor.asideBytes;
  }

  state(nowMs: number): DestinationState {
    return stateOf(this.#memory.row, nowMs);
  }

  isStopped(): boolean {
    return this.#memory.row.paused || this.#memory.row.disabled !== null;
  }

  /** Memory only: the gate of a shared host said to come again then, or is being asked [V27]. */
  notBeforeMs = 0;

  /** When a run is due for this destination, given that nothing else happens; null: never. Reads only. */
  dueMs(nowMs: number): number | null {
    const dueMs = this.#ownDueMs(nowMs);
    return dueMs === null ? null : Math.max(dueMs, this.notBeforeMs);
  }

  #ownDueMs(nowMs: number): number | null {
    const fresh = this.outlook.fresh(this.#memory);
    const next = plan(this.#memory.row, this.#memory.live, this.outlook.facts(this.#memory, fresh, nowMs, false));
    const dueMs = next.kind === "wait" ? next.untilMs : nowMs;
    const passedMs = this.outlook.passedOverDueMs(this.#memory, fresh);
    if (dueMs === null) return passedMs;
    return passedMs === null ? dueMs : Math.min(dueMs, passedMs);
  }

  /** From here on no event was ever looked at. */
  firstUntouchedSeq(): number {
    return firstUntouchedSeq(this.#memory.row, this.#memory.live);
  }

  /** `ordering` was changed: searches made for the other order end, within the caller's transaction [V15]. */
  startOver(nowMs: number): void {
    const facts = this.settleFacts(nowMs, 0.5);
    const settlement = forgetIsolation(this.#memory.row, this.#memory.live, facts);
    this.#memory = recordSettlement(this.#memory, settlement, this.recording(nowMs));
    this.write();
  }

  isDue(nowMs: number): boolean {
    const dueMs = this.dueMs(nowMs);
    return dueMs !== null && dueMs <= nowMs;
  }

  /** Records an outcome, if there is one, and begins what may be begun now: one transaction, one write of the row. */
  step(answered: Answered | null, turn: Turn): Stepped {
    const begun: LoadedRequest[] = [];
    const before = this.#memory;
    try {
      this.#log.transaction(() => {
        if (answered !== null) this.#turns.settle(answered, turn);
        for (let steps = 0; steps < STEPS_MAX && this.#turns.advance(begun, turn); steps += 1);
        if (this.#memory !== before) this.write();
      });
    } catch (error) {
      this.restore(before);
      throw error;
    }
    return { begun, changed: this.#memory !== before };
  }

  /** Writes the destination's row, within the caller's transaction; the meter within it counts this write too [O10]. */
  write(): void {
    const { row, cursor } = this.#memory;
    const written = { ...cursor, positionBytes: this.#positionBytes(row.position), delivery: JSON.stringify(row) };
    this.#log.cursors.update(written, this.#log.meter.encodeWithWrite(1));
    this.#memory = { ...this.#memory, cursor: written };
  }

  /** Changes the ledger by hand, within the caller's transaction. */
  count(change: Partial<Counters>): void {
    this.#memory = counted(this.#memory, change);
    this.write();
  }

  recording(nowMs: number, request: LoadedRequest | null = null): Recording {
    return {
      log: this.#log,
      destination: this.name,
      nowMs,
      deadLetterTtlSeconds: this.#deadLetterTtlSeconds,
      mayMeetErased: this.#config.from === "oldest",
      request,
      attempt: null,
      released: [],
    };
  }

  settleFacts(nowMs: number, random: number): SettleFacts {
    const { settings, fresh, asideDue } = this.outlook.facts(
      this.#memory,
      this.outlook.fresh(this.#memory),
      nowMs,
      false,
    );
    const freshWaiting = fresh !== null || asideDue.some((event) => event.lane === "redrive");
    return { nowMs, random, settings, freshWaiting, asideCount: this.#memory.cursor.aside };
  }

  /** Called with set-aside events that this destination is done with, in the transaction. */
  onReleased: ((seqs: readonly number[]) => void) | null = null;

  #positionBytes(position: number): number {
    const { high, bodies } = this.#log.segments;
    if (position >= high.seq) return high.offeredBytes;
    const head = this.#log.events.head(position);
    return head?.offeredBytes ?? bodies.find((segment) => segment.firstSeq > position)?.bytesBefore ?? 0;
  }
}

function woken(cursor: Cursor, config: DestinationConfig, nowMs: number): Memory {
  const stored = JSON.parse(cursor.delivery) as DeliveryRow;
  return { cursor, ...wakeUp(stored, { nowMs, random: 0.5, settings: config.delivery }) };
}
