/** What the buffer keeps of one destination: the log, the set-aside rows, and what became of each event. */
import { invariant } from "../../../src/core/assert.ts";
import type {
  AlertKind,
  AsideEvent,
  DeathReason,
  PlannedEvent,
  PlannedRequest,
  Settlement,
} from "../../../src/core/delivery/machine.ts";
import { type Range, seqsOf } from "../../../src/core/delivery/ranges.ts";
import { AsideTable } from "./aside-table.ts";

export interface LoggedEvent {
  readonly seq: number;
  readonly eventId: string;
  readonly receivedAtMs: number;
  readonly sizeBytes: number;
  /** The filter lets it pass. */
  readonly passes: boolean;
}

export interface Death {
  readonly seq: number;
  readonly reason: DeathReason;
  readonly atMs: number;
  readonly charged: number;
  readonly failures: number;
}

export interface Loaded {
  readonly events: readonly PlannedEvent[];
  readonly fromSeq: number;
  readonly toSeq: number;
  readonly passedOver: readonly number[];
}

export class SimulatedTenant {
  readonly log: LoggedEvent[] = [];
  readonly aside = new AsideTable();
  /** When. */
  readonly delivered = new Map<number, number>();
  readonly dead = new Map<number, Death>();
  readonly filtered = new Set<number>();
  readonly erased = new Set<number>();
  readonly alerts = new Set<AlertKind>();
  /** `+kind` raised, `-kind` cleared. */
  readonly alertLog: string[] = [];

  /** Offered and not settled. */
  backlog(): number {
    return this.log.length - this.delivered.size - this.dead.size - this.filtered.size - this.erased.size;
  }

  append(receivedAtMs: number, sizeBytes: number, passes: boolean): void {
    const seq = this.log.length + 1;
    this.log.push({ seq, eventId: `s:${seq}`, receivedAtMs, sizeBytes, passes });
  }

  event(seq: number): LoggedEvent {
    const event = this.log[seq - 1];
    invariant(event !== undefined, `event ${seq} is in the log`);
    return event;
  }

  /** The events from there on that the filter lets pass; `toSeq`: the last number looked at. */
  look(fromSeq: number, toSeqMax: number, countMax: number, bytesMax: number) {
    const events: LoggedEvent[] = [];
    let bytes = 0;
    let toSeq = fromSeq - 1;
    for (let seq = fromSeq; seq <= toSeqMax && events.length < countMax; seq++) {
      const event = this.event(seq);
      if (event.passes && !this.erased.has(seq)) {
        if (events.length > 0 && bytes + event.sizeBytes > bytesMax) return { events, toSeq, full: true };
        events.push(event);
        bytes += event.sizeBytes;
      }
      toSeq = seq;
    }
    return { events, toSeq, full: events.length >= countMax };
  }

  load(request: Exclude<PlannedRequest, { takeMax: number }>): Loaded {
    if (request.lane === "aside") return this.#loadRows([request.seq]);
    if (request.lane === "redrive" || (request.lane === "resend" && !request.inLog))
      return this.#loadRows(request.seqs);
    const { fromSeq, toSeq } = request;
    return this.loadStretch(fromSeq, toSeq, request.seqs);
  }

  loadStretch(fromSeq: number, toSeq: number, seqs: readonly number[]): Loaded {
    const events = seqs.filter((seq) => !this.erased.has(seq)).map((seq) => this.#planned(seq));
    return { events, fromSeq, toSeq, passedOver: this.filteredIn(fromSeq, toSeq) };
  }

  #loadRows(seqs: readonly number[]): Loaded {
    const events = seqs.filter((seq) => this.aside.get(seq) !== null).map((seq) => this.#planned(seq));
    const [first = 0] = seqs;
    return { events, fromSeq: first, toSeq: events.at(-1)?.seq ?? first, passedOver: [] };
  }

  filteredIn(fromSeq: number, toSeq: number): number[] {
    const numbers = Array.from({ length: toSeq - fromSeq + 1 }, (_, index) => fromSeq + index);
    return numbers.filter((seq) => !this.event(seq).passes && !this.erased.has(seq));
  }

  #planned(seq: number): PlannedEvent {
    const { eventId, receivedAtMs } = this.event(seq);
    return { seq, eventId, receivedAtMs, aside: this.aside.get(seq) };
  }

  /** Puts a dead letter back [X2]. */
  redrive(seq: number, nowMs: number): void {
    this.dead.delete(seq);
    this.aside.put({
      seq,
      lane: "redrive",
      failures: 0,
      charged: 0,
      firstFailureAtMs: 0,
      lastFailureAtMs: 0,
      dueAtMs: nowMs,
      waitingSinceMs: nowMs,
      busies: 0,
      reason: "redrive",
    });
  }

  die(seq: number, reason: DeathReason, aside: AsideEvent | null, nowMs: number): void {
    invariant(!this.dead.has(seq) && !this.delivered.has(seq) && !this.erased.has(seq), `event ${seq} dies once`);
    const { charged = 0, failures = 0 } = aside ?? {};
    this.dead.set(seq, { seq, reason, atMs: nowMs, charged, failures });
  }

  lastSeqReceivedBy(instantMs: number): number {
    return this.log.findLastIndex((event) => event.receivedAtMs <= instantMs) + 1;
  }

  /** All of these ranges, and the set-aside events that have waited since then, die together [V12]. */
  giveUp(ranges: readonly Range[], waitingSinceMs: number, nowMs: number): void {
    for (const seq of seqsOf(ranges)) {
      if (this.erased.has(seq)) continue;
      if (this.event(seq).passes) this.die(seq, "gave-up", null, nowMs);
      else this.filtered.add(seq);
    }
    for (const event of this.aside.all()) {
      if (event.waitingSinceMs > waitingSinceMs) continue;
      this.aside.remove(event.seq);
      this.die(event.seq, "gave-up", event, nowMs);
    }
  }

  /** What is written in one transaction. */
  record(settlement: Settlement, nowMs: number): void {
    for (const seq of settlement.delivered) {
      invariant(!this.isEnded(seq), `event ${seq} is settled once`);
      this.delivered.set(seq, nowMs);
      this.aside.remove(seq);
    }
    for (const seq of settlement.filtered) {
      invariant(!this.isEnded(seq), `number ${seq} is passed over once`);
      this.filtered.add(seq);
    }
    for (const event of settlement.setAside) {
      invariant(!this.isEnded(event.seq), `event ${event.seq} waits or is settled`);
      this.aside.put(event);
    }
    for (const { seq, reason, aside } of settlement.dead) {
      this.aside.remove(seq);
      this.die(seq, reason, aside, nowMs);
    }
    for (const { kind } of settlement.alerts.raise) {
      if (!this.alerts.has(kind)) this.alertLog.push(`+${kind}`);
      this.alerts.add(kind);
    }
    for (const kind of settlement.alerts.clear) if (this.alerts.delete(kind)) this.alertLog.push(`-${kind}`);
  }

  isEnded(seq: number): boolean {
    return this.delivered.has(seq) || this.dead.has(seq) || this.filtered.has(seq) || this.erased.has(seq);
  }
}
