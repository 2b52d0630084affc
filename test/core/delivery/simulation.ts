/**
 * A destination on a virtual clock: a log, an origin and the state machine between them, driven as the buffer drives it.
 * Thousands of events and days of outage take milliseconds. After every step it checks what must always hold.
 */
import { invariant } from "../../../src/core/assert.ts";
import {
  begin,
  buryCrashed,
  createRow,
  type DeliveryRow,
  type DestinationState,
  forgetIsolation,
  forgetResend,
  freshEventsMax,
  freshWindow,
  giveUp,
  type Live,
  type Plan,
  type PlannedRequest,
  passOver,
  plan,
  remove,
  type SettleFacts,
  type Settlement,
  settle,
  stateOf,
  unsettledRanges,
  wakeUp,
} from "../../../src/core/delivery/machine.ts";
import type { Outcome } from "../../../src/core/delivery/outcome.ts";
import type { DeliverySettings } from "../../../src/core/delivery/settings.ts";
import { Arrivals } from "./arrivals.ts";
import { checkInvariants, checkOrder } from "./invariants.ts";
import { type Origin, outcomeOf } from "./origins.ts";
import { seeded } from "./random.ts";
import { type Loaded, SimulatedTenant } from "./simulated-tenant.ts";
import { type Request, START_MS } from "./trace.ts";

interface OnItsWay {
  readonly requestId: number;
  readonly landsAtMs: number;
  readonly outcome: Outcome;
}

export class Simulation {
  nowMs = START_MS;
  settings: DeliverySettings;
  origin: Origin;
  row: DeliveryRow = createRow(0);
  live: Live;
  otherDestinationsWaiting = false;
  readonly tenant = new SimulatedTenant();
  readonly requests: Request[] = [];
  /** How often the origin said yes to an event. */
  readonly accepted = new Map<number, number>();
  /** How often an event was in flight when the object was killed. */
  readonly crashedWith = new Map<number, number>();
  crashes = 0;
  #onItsWay: OnItsWay[] = [];
  readonly #arrivals = new Arrivals();
  #nextId = 1;
  readonly #random: () => number;
  readonly #lookAheadMax: number;

  constructor(options: { settings: DeliverySettings; origin: Origin; seed?: number; lookAheadMax?: number }) {
    this.settings = options.settings;
    this.origin = options.origin;
    this.#random = seeded(options.seed ?? 1);
    this.#lookAheadMax = options.lookAheadMax ?? 1_000;
    this.live = wakeUp(this.row, { nowMs: this.nowMs, random: 0, settings: this.settings }).live;
  }

  /** Events that arrive together, now or later. */
  arrive(count: number, afterMs = 0, event: { sizeBytes?: number; passes?: boolean } = {}): void {
    const atMs = this.nowMs + afterMs;
    const { sizeBytes = 100, passes = true } = event;
    this.#arrivals.announce(Array.from({ length: count }, () => ({ atMs, sizeBytes, passes })));
  }

  /** Events one after another, evenly. */
  arriveEvenly(count: number, overMs: number): void {
    const atMs = (index: number): number => this.nowMs + Math.floor((index * overMs) / count);
    this.#arrivals.announce(
      Array.from({ length: count }, (_, index) => ({ atMs: atMs(index), sizeBytes: 100, passes: true })),
    );
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
        this.#arrivals.nextMs,
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
    this.run(
      maxMs,
      () =>
        this.tenant.backlog() === 0 &&
        this.#arrivals.nextMs === Number.POSITIVE_INFINITY &&
        this.live.flights.length === 0,
    );
  }

  check(): void {
    checkInvariants(this.row, this.live, this.settings, this.tenant);
  }

  state(): DestinationState {
    return stateOf(this.row, this.nowMs);
  }

  /** The object is killed: what memory held is gone, and answers that are on their way with it. */
  crash(): void {
    this.crashes += 1;
    this.#onItsWay = [];
    for (const seq of this.seqsInFlight()) this.crashedWith.set(seq, (this.crashedWith.get(seq) ?? 0) + 1);
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

  reconfigure(settings: DeliverySettings): void {
    if (settings.ordering !== this.settings.ordering) {
      this.#record(forgetIsolation(this.row, this.live, { ...this.#facts(), settings: this.settings }));
    }
    this.settings = settings;
  }

  /** Erases an event that is not settled [X6]. */
  erase(seq: number): void {
    if (this.tenant.isEnded(seq)) return;
    const { row, live } = remove(this.row, this.live, seq);
    this.row = row;
    this.live = live;
    this.tenant.erased.add(seq);
    this.tenant.aside.remove(seq);
  }

  seqsInFlight(): Set<number> {
    return new Set(this.live.flights.flatMap((flight) => flight.events.map((event) => event.seq)));
  }

  #takeIn(): void {
    for (let next = this.#arrivals.take(this.nowMs); next !== undefined; next = this.#arrivals.take(this.nowMs)) {
      this.tenant.append(this.nowMs, next.sizeBytes, next.passes);
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
      const fresh = this.#look();
      if (fresh === null) continue;
      const [first] = fresh.events;
      const next = plan(this.row, this.live, {
        nowMs: this.nowMs,
        settings: this.settings,
        fresh: first === undefined ? null : { firstReceivedAtMs: first.receivedAtMs, full: fresh.full },
        asideDue: this.tenant.aside.first(8, this.seqsInFlight()),
        otherDestinationsWaiting: this.otherDestinationsWaiting,
      });
      if (next.kind === "wait") return next.untilMs;
      if (next.kind === "give-up") this.#giveUp(next.waitingSinceMs);
      else if (next.kind === "bury") this.#bury(next);
      else this.#send(next.request);
    }
  }

  /** The next fresh batch; null: what was looked at holds none, and was passed over. */
  #look() {
    const { fromSeq, toSeq } = freshWindow(this.row, this.live);
    const lastSeq = Math.min(toSeq ?? this.tenant.log.length, this.tenant.log.length, fromSeq + this.#lookAheadMax - 1);
    const { batch } = this.settings;
    const fresh = this.tenant.look(fromSeq, lastSeq, freshEventsMax(this.row, this.settings), batch.maxBytes);
    if (fresh.events.length > 0 || fresh.toSeq < fromSeq) return fresh;
    this.#passOver(fromSeq, fresh.toSeq);
    return null;
  }

  #passOver(fromSeq: number, toSeq: number): void {
    const passedOver = this.tenant.filteredIn(fromSeq, toSeq);
    this.#record(passOver(this.row, this.live, { fromSeq, toSeq, passedOver }, this.#facts()));
  }

  #send(request: PlannedRequest): void {
    const loaded = this.#load(request);
    if (loaded.events.length === 0) {
      if (request.lane === "resend" && !request.inLog) this.row = forgetResend(this.row, request.seqs);
      else this.#passOver(loaded.fromSeq, loaded.toSeq);
      return;
    }
    const seqs = loaded.events.map((event) => event.seq);
    const batchId = `b:${seqs.join(",")}`;
    if (request.lane === "resend" && request.batchId !== null && seqs.length === request.seqs.length) {
      invariant(request.batchId === batchId, "[V26] a batch that is sent again unchanged keeps its id");
    }
    if (this.settings.ordering === "strict") checkOrder(this.row, loaded, this.tenant);
    const started = { id: this.#nextId++, batchId, lane: request.lane, ...loaded };
    const begun = begin(this.row, this.live, started, { nowMs: this.nowMs, settings: this.settings });
    this.row = begun.row;
    this.live = begun.live;
    this.#ask(started.id, request.lane, loaded, batchId);
  }

  #ask(requestId: number, lane: PlannedRequest["lane"], { events }: Loaded, batchId: string): void {
    const seqs = events.map((event) => event.seq);
    const ids = events.map((event) => event.eventId);
    const reply = this.origin({ seqs, ids, atMs: this.nowMs, number: this.requests.length + 1 }, this.#random);
    this.requests.push({ atMs: this.nowMs, lane, batchId, seqs, reply });
    if (reply === "crash") {
      this.crash();
      return;
    }
    const outcome = outcomeOf(reply, this.settings);
    if (outcome.kind === "accepted") this.#countAccepted(events, new Set(outcome.refusedIds));
    this.#onItsWay.push({ requestId, landsAtMs: this.nowMs + outcome.durationMs, outcome });
  }

  /** In strict order everything from the first named event on counts as not accepted [V15]. */
  #countAccepted(events: Loaded["events"], named: ReadonlySet<string>): void {
    for (const event of events) {
      if (!named.has(event.eventId)) this.accepted.set(event.seq, (this.accepted.get(event.seq) ?? 0) + 1);
      else if (this.settings.ordering === "strict") return;
    }
  }

  #load(request: PlannedRequest): Loaded {
    if (!("takeMax" in request)) return this.tenant.load(request);
    const fresh = this.#look();
    invariant(fresh !== null, "what was planned is there");
    const seqs = fresh.events.slice(0, request.takeMax).map((event) => event.seq);
    return this.tenant.loadStretch(request.fromSeq, seqs.at(-1) ?? request.fromSeq, seqs);
  }

  #bury(burial: Plan & { kind: "bury" }): void {
    const { seq, fromSeq, toSeq, inLog } = burial;
    const passedOver = inLog ? this.tenant.filteredIn(fromSeq, toSeq) : [];
    const { events } = this.tenant.loadStretch(fromSeq, toSeq, [seq]);
    this.#record(buryCrashed(this.row, this.live, { fromSeq, toSeq, events, passedOver }, this.#facts()));
  }

  #giveUp(waitingSinceMs: number): void {
    const { tenant } = this;
    const throughSeq = Math.max(this.row.position, tenant.lastSeqReceivedBy(waitingSinceMs));
    tenant.giveUp(unsettledRanges(this.row, throughSeq), waitingSinceMs, this.nowMs);
    const left = giveUp(this.row, this.live, throughSeq, this.#facts());
    this.row = left.row;
    this.live = left.live;
  }

  #record(settlement: Settlement): void {
    invariant(settlement.row.position >= this.row.position, "[V14] the position never falls");
    this.row = settlement.row;
    this.live = settlement.live;
    this.tenant.record(settlement, this.nowMs);
  }

  #facts(): SettleFacts {
    return {
      nowMs: this.nowMs,
      random: this.#random(),
      settings: this.settings,
      freshWaiting:
        this.tenant.log.length >= freshWindow(this.row, this.live).fromSeq || this.tenant.aside.count("redrive") > 0,
      asideCount: this.tenant.aside.count("aside"),
    };
  }
}
