/**
 * One turn of a destination, within the caller's transaction: an outcome is recorded, requests are begun, what the filter
 * passes over or has waited too long is dealt with. The machine says what; this reads and writes it.
 */
import {
  begin,
  buryCrashed,
  forgetResend,
  freshWindow,
  type Plan,
  type PlannedRequest,
  passOver,
  plan,
  type Settlement,
  settle,
} from "../core/delivery/machine.ts";
import type { Log } from "../log/log.ts";
import type { Answered, Destination, Turn } from "./destination.ts";
import { giveUpBefore } from "./give-up.ts";
import { leftOut } from "./left-out.ts";
import { type LoadedRequest, loadRequest } from "./load-request.ts";
import type { FreshEvents } from "./look-ahead.ts";
import { eraseAt } from "./moves.ts";
import { attemptOf, type Recording, recordSettlement, recordUnreadable } from "./record.ts";

/** A claimed event's bytes stay as long as a message can: the longest retention of a queue [V19]. */
const CLAIM_MS = 14 * 86_400_000;

export class DestinationTurn {
  readonly #log: Log;
  readonly #to: Destination;

  constructor(log: Log, to: Destination) {
    this.#log = log;
    this.#to = to;
  }

  /** Records the outcome of a request. */
  settle(answered: Answered, turn: Turn): void {
    const { request, outcome, batchId } = answered;
    const facts = this.#to.settleFacts(turn.nowMs, turn.random());
    const settlement = settle(this.#to.memory.row, this.#to.memory.live, request.started.id, outcome, facts);
    const recording = {
      ...this.#to.recording(turn.nowMs, request),
      attempt: attemptOf(outcome, batchId, turn.nowMs),
    };
    this.#record(settlement, recording);
    for (const seq of answered.claimedSeqs ?? []) this.#log.claims.record(this.#to.name, seq, turn.nowMs + CLAIM_MS);
  }

  #record(settlement: Settlement, recording: Recording): void {
    this.#to.believe(recordSettlement(this.#to.memory, settlement, recording));
    this.#to.onReleased?.(recording.released);
  }

  /** One further act; false when there is nothing to do now. */
  advance(begun: LoadedRequest[], turn: Turn): boolean {
    const fresh = this.#to.outlook.fresh(this.#to.memory);
    const next = plan(
      this.#to.memory.row,
      this.#to.memory.live,
      this.#to.outlook.facts(this.#to.memory, fresh, turn.nowMs, turn.othersWaiting),
    );
    switch (next.kind) {
      case "wait":
        return this.#passOver(fresh, turn);
      case "give-up":
        this.#to.believe(
          giveUpBefore(
            this.#log,
            this.#to.memory,
            next.waitingSinceMs,
            this.#to.config.filter,
            this.#to.recording(turn.nowMs),
            this.#to.settleFacts(turn.nowMs, turn.random()),
          ),
        );
        this.#to.outlook.reset();
        return true;
      case "bury":
        this.#bury(next, turn);
        return true;
      case "send":
        if (next.request.lane === "resend" && next.request.exclusive && turn.inFlight + begun.length > 0) return false;
        return begun.length < turn.requestsMax && this.#begin(next.request, fresh, begun, turn);
    }
  }

  #begin(request: PlannedRequest, fresh: FreshEvents, begun: LoadedRequest[], turn: Turn): boolean {
    const delivery = this.#to.outlook.settings;
    const loaded = this.#load(turn.nextId(), request, fresh, delivery.batch.maxBytes);
    const recording = this.#to.recording(turn.nowMs, loaded);
    for (const seq of loaded.unreadable) {
      const head = this.#log.events.head(seq);
      if (head === null) continue;
      if (!head.erased) this.#to.believe(recordUnreadable(this.#to.memory, seq, recording));
      // Set aside or redriven, it would be due for ever; in a stretch of the log it is passed over.
      else if (!isOfLog(request)) eraseAt(this.#log, this.#to, head);
    }
    const { started } = loaded;
    if (started.events.length === 0) {
      if (request.lane === "resend" && !request.inLog) {
        this.#to.believe({ ...this.#to.memory, row: forgetResend(this.#to.memory.row, request.seqs) });
      }
      if (!isOfLog(request)) return true;
      const facts = this.#to.settleFacts(turn.nowMs, turn.random());
      this.#record(passOver(this.#to.memory.row, this.#to.memory.live, started, facts), recording);
      return true;
    }
    const { row, live } = begin(this.#to.memory.row, this.#to.memory.live, started, {
      nowMs: turn.nowMs,
      settings: delivery,
    });
    this.#to.believe({ ...this.#to.memory, row, live });
    begun.push(loaded);
    return true;
  }

  #bury(next: Extract<Plan, { kind: "bury" }>, turn: Turn): void {
    const request = next.inLog
      ? ({ lane: "isolation", seqs: [next.seq], fromSeq: next.fromSeq, toSeq: next.toSeq } as const)
      : ({ lane: "aside", seq: next.seq } as const);
    const loaded = this.#load(0, request, this.#to.outlook.fresh(this.#to.memory), Number.MAX_SAFE_INTEGER);
    const { fromSeq, toSeq, events, passedOver } = loaded.started;
    const facts = this.#to.settleFacts(turn.nowMs, turn.random());
    const piece = { fromSeq, toSeq, events, passedOver };
    this.#record(
      buryCrashed(this.#to.memory.row, this.#to.memory.live, piece, facts),
      this.#to.recording(turn.nowMs, loaded),
    );
  }

  /** The filter let nothing pass in what was looked at: the position moves on, a long or an old stretch at a time. */
  #passOver(fresh: FreshEvents, turn: Turn): boolean {
    const dueMs = this.#to.outlook.passedOverDueMs(this.#to.memory, fresh);
    if (dueMs === null || dueMs > turn.nowMs) return false;
    const { fromSeq } = freshWindow(this.#to.memory.row, this.#to.memory.live);
    const request = { lane: "fresh", takeMax: 0, fromSeq, toSeq: fresh.scannedToSeq } as const;
    const { started } = this.#load(0, request, fresh, 0);
    const facts = this.#to.settleFacts(turn.nowMs, turn.random());
    this.#record(passOver(this.#to.memory.row, this.#to.memory.live, started, facts), this.#to.recording(turn.nowMs));
    return true;
  }

  #load(id: number, request: PlannedRequest, fresh: FreshEvents, bytesMax: number): LoadedRequest {
    const { name, config, memory } = this.#to;
    const isLeftOut = leftOut(this.#log, memory.cursor);
    const loaded = loadRequest({ log: this.#log, destination: name, isLeftOut }, id, request, fresh, bytesMax);
    if (request.lane === "fresh" || request.lane === "probe") {
      this.#log.filters.assign(name, loaded.started.fromSeq, loaded.started.toSeq, config.filter);
    }
    return loaded;
  }
}

/** Whether the request names a stretch of the log, rather than events with rows of their own. */
function isOfLog(request: PlannedRequest): boolean {
  return request.lane === "resend" ? request.inLog : request.lane !== "aside" && request.lane !== "redrive";
}
