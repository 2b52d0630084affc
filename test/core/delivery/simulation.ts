/**
 * A destination on a virtual clock: a log, an origin and the state machine between them, driven as the buffer drives it.
 * Thousands of events and days of outage take milliseconds. After every step it checks what must always hold.
 */
import { invariant } from "../../../src/core/assert.ts";
import {
  type AlertKind,
  type AsideEvent,
  begin,
  buryCrashed,
  createRow,
  type DeathReason,
  type DeliveryRow,
  type DestinationState,
  freshEventsMax,
  freshWindow,
  giveUp,
  type Live,
  type Plan,
  type PlannedEvent,
  type PlannedRequest,
  passOver,
  plan,
  type SettleFacts,
  type Settlement,
  settle,
  stateOf,
  unsettledRanges,
  wakeUp,
} from "../../../src/core/delivery/machine.ts";
import type { Outcome } from "../../../src/core/delivery/outcome.ts";
import type { DeliverySettings } from "../../../src/core/delivery/settings.ts";
import { AsideTable } from "./aside-table.ts";
import { type Origin, outcomeOf, type Reply } from "./origins.ts";
import { seeded } from "./random.ts";

export interface LoggedEvent {
  readonly seq: number;
  readonly eventId: string;
  readonly receivedAtMs: number;
  readonly sizeBytes: number;
  /** The filter lets it pass. */
  readonly passes: boolean;
}

/** A request as it was made, for a test to look at. */
export interface Request {
  readonly atMs: number;
  readonly lane: PlannedRequest["lane"];
  readonly batchId: string;
  readonly seqs: readonly number[];
  readonly reply: Reply;
}

export interface Death {
  readonly seq: number;
  readonly reason: DeathReason;
  readonly atMs: number;
  readonly charged: number;
  readonly failures: number;
}

interface OnItsWay {
  readonly requestId: number;
  readonly landsAtMs: number;
  readonly outcome: Outcome;
}

export interface SimulationOptions {
  readonly settings: DeliverySettings;
  readonly origin: Origin;
  readonly seed?: number;
  readonly startMs?: number;
  /** Numbers looked at in one turn. */
  readonly lookAheadMax?: number;
}

export const START_MS = 1_795_910_400_000;

export class Simulation {
  nowMs: number;
  settings: DeliverySettings;
  origin: Origin;
  row: DeliveryRow;
  live: Live;
  otherDestinationsWaiting = false;
  readonly log: LoggedEvent[] = [];
  readonly aside = new AsideTable();
  readonly delivered = new Map<number, number>();
  readonly dead = new Map<number, Death>();
  readonly filtered = new Set<number>();
  readonly requests: Request[] = [];
  readonly alerts = new Set<AlertKind>();
  readonly alertLog: string[] = [];
  /** How often the origin said yes to an event. */
  readonly accepted = new Map<number, number>();
  crashes = 0;
  #onItsWay: OnItsWay[] = [];
  /** The next one last. */
  #arrivals: { atMs: number; sizeBytes: number; passes: boolean }[] = [];
  #nextId = 1;
  readonly #random: () => number;
  readonly #lookAheadMax: number;

  constructor(options: SimulationOptions) {
    this.settings = options.settings;
    this.origin = options.origin;
    this.nowMs = options.startMs ?? START_MS;
    this.#random = seeded(options.seed ?? 1);
    this.#lookAheadMax = options.lookAheadMax ?? 1_000;
    this.row = createRow(0);
    this.live = wakeUp(this.row, this.#facts()).live;
  }

  /** Events that arrive together, now or later. */
  arrive(count: number, afterMs = 0, event: { sizeBytes?: number; passes?: boolean } = {}): void {
    const atMs = this.nowMs + afterMs;
    const { sizeBytes = 100, passes = true } = event;
    for (let index = 0; index < count; index++) this.#arrivals.push({ atMs, sizeBytes, passes });
    this.#arrivals.sort((a, b) => b.atMs - a.atMs);
  }

  /** Events one after another, evenly. */
  arriveEvenly(count: number, overMs: number): void {
    for (let index = 0; index < count; index++) {
      this.#arrivals.push({ atMs: this.nowMs + Math.floor((index * overMs) / count), sizeBytes: 100, passes: true });
    }
    this.#arrivals.sort((a, b) => b.atMs - a.atMs);
  }

  /** Lets that much time pass, or as much as it takes until `isEnough`. */
  run(forMs: number, isEnough: () => boolean = () => false): void {
    const endMs = this.nowMs + forMs;
    for (let turn = 0; ; turn++) {
      invariant(turn < 2_000_000, "the simulation makes no progress");
      this.#takeIn();
      const waitUntilMs = this.#drain();
      this.check();
      if (isEnough()) return;
      const nextMs = Math.min(
        this.#arrivals.at(-1)?.atMs ?? Number.POSITIVE_INFINITY,
        ...this.#onItsWay.map((each) => each.landsAtMs),
        waitUntilMs ?? Number.POSITIVE_INFINITY,
      );
      if (nextMs > endMs) break;
      invariant(
        nextMs > this.nowMs || this.#onItsWay.some((each) => each.landsAtMs <= this.nowMs),
        "time stands still",
      );
      this.nowMs = Math.max(this.nowMs, nextMs);
    }
    this.nowMs = endMs;
  }

  runUntilIdle(maxMs: number): void {
    this.run(maxMs, () => this.backlog() === 0 && this.#arrivals.length === 0 && this.live.flights.length === 0);
  }

  state(): DestinationState {
    return stateOf(this.row, this.nowMs);
  }

  /** Offered and not settled. */
  backlog(): number {
    return this.log.length - this.delivered.size - this.dead.size - this.filtered.size;
  }

  /** The object is killed: what memory held is gone, and answers that are on their way with it. */
  crash(): void {
    this.crashes += 1;
    this.#onItsWay = [];
    const woken = wakeUp(JSON.parse(JSON.stringify(this.row)) as DeliveryRow, this.#facts());
    this.row = woken.row;
    this.live = woken.live;
  }

  /** An operator's act. */
  act(change: (row: DeliveryRow, live: Live, nowMs: number) => { row: DeliveryRow; live: Live }): void {
    const { row, live } = change(this.row, this.live, this.nowMs);
    this.row = row;
    this.live = live;
  }

  /** Puts a dead letter back [X2]. */
  redrive(seq: number): void {
    this.dead.delete(seq);
    this.aside.put({
      seq,
      lane: "redrive",
      failures: 0,
      charged: 0,
      firstFailureAtMs: 0,
      lastFailureAtMs: 0,
      dueAtMs: this.nowMs,
      waitingSinceMs: this.nowMs,
      busies: 0,
      reason: "redrive",
    });
  }

  #takeIn(): void {
    for (
      let next = this.#arrivals.at(-1);
      next !== undefined && next.atMs <= this.nowMs;
      next = this.#arrivals.at(-1)
    ) {
      this.#arrivals.pop();
      const { sizeBytes, passes } = next;
      const seq = this.log.length + 1;
      this.log.push({ seq, eventId: `s:${seq}`, receivedAtMs: this.nowMs, sizeBytes, passes });
    }
    for (const landed of this.#onItsWay.filter((each) => each.landsAtMs <= this.nowMs)) {
      this.#onItsWay = this.#onItsWay.filter((each) => each !== landed);
      this.#record(settle(this.row, this.live, landed.requestId, landed.outcome, this.#facts()));
    }
  }

  /** Does what the machine wants done now; answers when it wants to be asked again. */
  #drain(): number | null {
    for (let turn = 0; ; turn++) {
      invariant(turn < 10_000, "the machine always wants something");
      const fresh = this.#lookAhead();
      if (fresh === "passed over") continue;
      const next = plan(this.row, this.live, {
        nowMs: this.nowMs,
        settings: this.settings,
        fresh:
          fresh.events.length === 0
            ? null
            : { firstReceivedAtMs: fresh.events[0]?.receivedAtMs ?? 0, full: fresh.full },
        asideDue: this.aside.first(8, this.#seqsInFlight()),
        otherDestinationsWaiting: this.otherDestinationsWaiting,
      });
      if (next.kind === "wait") return next.untilMs;
      if (next.kind === "give-up") this.#giveUp(next.waitingSinceMs);
      else if (next.kind === "bury") this.#bury(next);
      else this.#send(next.request);
    }
  }

  #lookAhead(): "passed over" | { events: LoggedEvent[]; full: boolean } {
    const { fromSeq, toSeq } = freshWindow(this.row, this.live);
    const countMax = freshEventsMax(this.row, this.settings);
    const lastSeq = Math.min(toSeq ?? this.log.length, this.log.length, fromSeq + this.#lookAheadMax - 1);
    const events: LoggedEvent[] = [];
    let bytes = 0;
    for (let seq = fromSeq; seq <= lastSeq && events.length < countMax; seq++) {
      const event = this.#event(seq);
      if (!event.passes) continue;
      if (events.length > 0 && bytes + event.sizeBytes > this.settings.batch.maxBytes) return { events, full: true };
      events.push(event);
      bytes += event.sizeBytes;
    }
    if (events.length > 0 || lastSeq < fromSeq) return { events, full: events.length >= countMax };
    const passedOver = Array.from({ length: lastSeq - fromSeq + 1 }, (_, index) => fromSeq + index);
    this.#record(passOver(this.row, this.live, { fromSeq, toSeq: lastSeq, passedOver }, this.#facts()));
    return "passed over";
  }

  #send(request: PlannedRequest): void {
    const { events, fromSeq, toSeq, passedOver } = this.#load(request);
    const id = this.#nextId++;
    const seqs = events.map((event) => event.seq);
    const derivedId = `b:${seqs.join(",")}`;
    if (request.lane === "resend" && request.batchId !== null) {
      invariant(request.batchId === derivedId, "a batch that is sent again unchanged keeps its id");
    }
    const held = this.#seqsInFlight();
    invariant(!seqs.some((seq) => held.has(seq)), "no event is in flight twice");
    const started = { id, batchId: derivedId, lane: request.lane, fromSeq, toSeq, events, passedOver };
    const begun = begin(this.row, this.live, started, { nowMs: this.nowMs, settings: this.settings });
    this.row = begun.row;
    this.live = begun.live;
    const ids = events.map((event) => event.eventId);
    const reply = this.origin({ seqs, ids, atMs: this.nowMs, number: this.requests.length + 1 }, this.#random);
    this.requests.push({ atMs: this.nowMs, lane: request.lane, batchId: derivedId, seqs, reply });
    if (reply === "crash") {
      this.crash();
      return;
    }
    const outcome = outcomeOf(reply, this.settings);
    if (outcome.kind === "accepted") {
      const named = new Set(outcome.refusedIds);
      for (const event of events) {
        if (!named.has(event.eventId)) this.accepted.set(event.seq, (this.accepted.get(event.seq) ?? 0) + 1);
      }
    }
    this.#onItsWay.push({ requestId: id, landsAtMs: this.nowMs + outcome.durationMs, outcome });
  }

  #load(request: PlannedRequest): { events: PlannedEvent[]; fromSeq: number; toSeq: number; passedOver: number[] } {
    if ("takeMax" in request) {
      const fresh = this.#lookAhead();
      invariant(fresh !== "passed over", "what was planned is there");
      const events = fresh.events.slice(0, request.takeMax).map((event) => this.#planned(event.seq));
      const toSeq = events.at(-1)?.seq ?? request.fromSeq;
      return { events, fromSeq: request.fromSeq, toSeq, passedOver: this.#passedOver(request.fromSeq, toSeq, events) };
    }
    const seqs: readonly number[] = request.lane === "aside" ? [request.seq] : request.seqs;
    const events = seqs.map((seq) => this.#planned(seq));
    const [first = 0] = seqs;
    const stretch =
      request.lane === "aside" || request.lane === "redrive"
        ? { fromSeq: first, toSeq: seqs.at(-1) ?? first }
        : request;
    const inLog = request.lane === "isolation" || (request.lane === "resend" && request.inLog);
    const { fromSeq, toSeq } = stretch;
    return { events, fromSeq, toSeq, passedOver: inLog ? this.#passedOver(fromSeq, toSeq, events) : [] };
  }

  #planned(seq: number): PlannedEvent {
    const { eventId, receivedAtMs } = this.#event(seq);
    return { seq, eventId, receivedAtMs, aside: this.aside.get(seq) };
  }

  #event(seq: number): LoggedEvent {
    const event = this.log[seq - 1];
    invariant(event !== undefined, `event ${seq} is in the log`);
    return event;
  }

  #passedOver(fromSeq: number, toSeq: number, events: readonly PlannedEvent[]): number[] {
    const sent = new Set(events.map((event) => event.seq));
    return Array.from({ length: toSeq - fromSeq + 1 }, (_, index) => fromSeq + index).filter((seq) => !sent.has(seq));
  }

  #bury(burial: Plan & { kind: "bury" }): void {
    const events = [this.#planned(burial.seq)];
    const passedOver = burial.inLog ? this.#passedOver(burial.fromSeq, burial.toSeq, events) : [];
    const piece = { fromSeq: burial.fromSeq, toSeq: burial.toSeq, events, passedOver };
    this.#record(buryCrashed(this.row, this.live, piece, this.#facts()));
  }

  #giveUp(waitingSinceMs: number): void {
    let throughSeq = this.row.position;
    while ((this.log[throughSeq]?.receivedAtMs ?? Number.POSITIVE_INFINITY) <= waitingSinceMs) throughSeq += 1;
    for (const [from, to] of unsettledRanges(this.row, throughSeq)) {
      for (let seq = from; seq <= to; seq++) {
        if (this.#event(seq).passes) this.#die(seq, "gave-up", null);
        else this.filtered.add(seq);
      }
    }
    for (const event of this.aside.all()) {
      if (event.waitingSinceMs > waitingSinceMs) continue;
      this.aside.remove(event.seq);
      this.#die(event.seq, "gave-up", event);
    }
    const left = giveUp(this.row, this.live, throughSeq, this.#facts());
    this.row = left.row;
    this.live = left.live;
  }

  #die(seq: number, reason: DeathReason, aside: AsideEvent | null): void {
    invariant(!this.dead.has(seq) && !this.delivered.has(seq), `event ${seq} dies once`);
    const { charged = 0, failures = 0 } = aside ?? {};
    this.dead.set(seq, { seq, reason, atMs: this.nowMs, charged, failures });
  }

  /** What the buffer writes in one transaction. */
  #record(settlement: Settlement): void {
    invariant(settlement.row.position >= this.row.position, "[V14] the position never falls");
    this.row = JSON.parse(JSON.stringify(settlement.row)) as DeliveryRow;
    this.live = settlement.live;
    for (const seq of settlement.delivered) {
      invariant(!this.delivered.has(seq) && !this.dead.has(seq), `event ${seq} is settled once`);
      this.delivered.set(seq, this.nowMs);
      this.aside.remove(seq);
    }
    for (const seq of settlement.filtered) {
      invariant(!this.filtered.has(seq) && !this.delivered.has(seq), `number ${seq} is passed over once`);
      this.filtered.add(seq);
    }
    for (const event of settlement.setAside) {
      invariant(!this.delivered.has(event.seq) && !this.dead.has(event.seq), `event ${event.seq} waits or is settled`);
      this.aside.put(event);
    }
    for (const { seq, reason, aside } of settlement.dead) {
      this.aside.remove(seq);
      this.#die(seq, reason, aside);
    }
    for (const { kind } of settlement.alerts.raise) this.#raise(kind);
    for (const kind of settlement.alerts.clear) if (this.alerts.delete(kind)) this.alertLog.push(`-${kind}`);
  }

  #raise(kind: AlertKind): void {
    if (this.alerts.has(kind)) return;
    this.alerts.add(kind);
    this.alertLog.push(`+${kind}`);
  }

  #seqsInFlight(): Set<number> {
    return new Set(this.live.flights.flatMap((flight) => flight.events.map((event) => event.seq)));
  }

  #facts(): SettleFacts {
    const windowFrom = this.live === undefined ? 1 : freshWindow(this.row, this.live).fromSeq;
    return {
      nowMs: this.nowMs,
      random: this.#random(),
      settings: this.settings,
      freshWaiting: this.log.length >= windowFrom || this.aside.count("redrive") > 0,
      asideCount: this.aside.count("aside"),
    };
  }

  /** What holds after every step. */
  check(): void {
    const { row, live, settings } = this;
    invariant(row.settledRanges.length <= settings.maxInFlight + 2, "[V14] at most maxInFlight + 2 ranges");
    invariant(row.results.length <= 20, "[V22] the last 20 results");
    const inFlight = live.flights.filter((flight) => flight.inLog).length;
    invariant(inFlight <= settings.maxInFlight, "[V13] at most maxInFlight requests");
    invariant(live.flights.length - inFlight <= 1 || settings.ordering === "strict", "[V13] one retry at a time");
    const isIsolating = live.flights.some((flight) => flight.lane === "isolation" && live.isolation !== null);
    invariant(!isIsolating || live.flights.length === 1, "[V9] one request at a time");
    invariant(
      row.inFlight.filter((record) => record.state === "sent").length === live.flights.length,
      "[V26] recorded",
    );
    const aside = this.aside.count("aside") + this.aside.count("redrive");
    let covered = row.position;
    for (const [from, to] of row.settledRanges) covered += to - from + 1;
    const settledCount = this.delivered.size + this.dead.size + this.filtered.size;
    invariant(
      covered === settledCount + aside,
      `[X5] ${covered} numbers settled: ${settledCount} ended, ${aside} set aside`,
    );
  }
}
