/**
 * Redrive, replay, purge and erasure of many events [X2] [X3] [X4] [X6]: durable jobs that go on after a restart, a
 * slice per turn of the run, so that they yield to what arrives and to what is being delivered.
 */
import { unreachable } from "../core/assert.ts";
import type { Selection } from "../core/selection.ts";
import type { EventHead } from "../log/events.ts";
import type { Job } from "../log/jobs.ts";
import type { Log } from "../log/log.ts";
import type { JobCall, JobKind, JobView } from "./contract.ts";
import type { Destination } from "./destination.ts";
import type { Chore } from "./drain.ts";
import { eraseEvent } from "./erase.ts";
import { placeOf } from "./event-state.ts";
import { purgeEvent, redriveEvent, replayEvent } from "./moves.ts";
import type { Roster } from "./roster.ts";
import { nextDead, nextStored, type Stretch } from "./walk.ts";

/** Events looked at in one slice; a slice is one transaction, and nothing else happens to the object meanwhile [X10]. */
const SLICE_ROWS_MAX = 200;
/** While requests are on their way slices are short and rest in between, so that live events hardly notice [X2]. */
const BUSY_SLICE_ROWS_MAX = 25;
const BUSY_REST_MS = 20;
/** Events put back at most that are not settled again [X2]. */
const PUT_BACK_MAX = 1_000;
/** While that many wait, a job looks again after this. */
const LOOK_AGAIN_MS = 200;
/** A slice that could not be written is tried again after this. */
const AFTER_FAULT_MS = 60_000;

export class JobRunner implements Chore {
  readonly #log: Log;
  readonly #roster: Roster;
  /** Running jobs, oldest first; one is worked on at a time. */
  #running: Job[];
  #notBeforeMs = 0;

  constructor(log: Log, roster: Roster) {
    this.#log = log;
    this.#roster = roster;
    this.#running = log.jobs.running();
  }

  dueMs(nowMs: number): number | null {
    return this.#running.length === 0 ? null : Math.max(this.#notBeforeMs, nowMs);
  }

  /** Enters a job, within the caller's transaction. */
  start(id: string, call: JobCall, eventCount: number, nowMs: number): Job {
    const job: Job = {
      id,
      kind: call.kind,
      state: "running",
      call: JSON.stringify(call),
      eventCount,
      done: 0,
      nextSeq: 1,
      throughSeq: this.#log.segments.high.seq,
      startedAtMs: nowMs,
      endedAtMs: null,
    };
    this.#log.jobs.insert(job);
    this.#running = [...this.#running, job];
    return job;
  }

  cancel(id: string, nowMs: number): JobView | null {
    const job = this.#log.jobs.find(id);
    if (job === null) return null;
    if (job.state !== "running") return viewOf(job);
    const cancelled: Job = { ...job, state: "cancelled", endedAtMs: nowMs };
    this.#log.transaction(() => this.#log.jobs.update(cancelled));
    this.#running = this.#running.filter((other) => other.id !== id);
    return viewOf(cancelled);
  }

  find(id: string): JobView | null {
    const job = this.#log.jobs.find(id);
    return job === null ? null : viewOf(job);
  }

  /** One slice of the oldest job. */
  run(nowMs: number): boolean {
    const [job] = this.#running;
    if (job === undefined || nowMs < this.#notBeforeMs) return false;
    const call = JSON.parse(job.call) as JobCall;
    if (isPuttingBack(job.kind) && this.#putBackCount() + SLICE_ROWS_MAX > PUT_BACK_MAX) {
      this.#notBeforeMs = nowMs + LOOK_AGAIN_MS;
      return false;
    }
    const snapshot = this.#roster.snapshot();
    try {
      const isBusy = this.#roster.all.some((destination) => destination.memory.live.flights.length > 0);
      const rowsMax = isBusy ? BUSY_SLICE_ROWS_MAX : SLICE_ROWS_MAX;
      const next = this.#log.transaction(() => this.#slice(job, call, rowsMax, nowMs));
      if (isBusy) this.#notBeforeMs = nowMs + BUSY_REST_MS;
      this.#running = next.state === "running" ? [next, ...this.#running.slice(1)] : this.#running.slice(1);
    } catch (error) {
      // The job waits; delivery does not.
      this.#roster.restore(snapshot);
      this.#notBeforeMs = nowMs + AFTER_FAULT_MS;
      const reason = error instanceof Error ? error.message : "unknown";
      console.error(JSON.stringify({ event: "job-slice-failed", job: job.id, reason }));
      return false;
    }
    return true;
  }

  /** How many events a call is about, looked at a stretch at a time; `pause` lets others in between. */
  async count(call: JobCall, pause: () => Promise<void>): Promise<number> {
    let count = 0;
    const throughSeq = this.#log.segments.high.seq;
    for (let fromSeq: number | null = 1; fromSeq !== null; ) {
      const stretch: Stretch = this.#stretch(call, fromSeq, throughSeq, 1_000);
      count += stretch.heads.filter((head) => this.targets(call, head).length > 0).length;
      fromSeq = stretch.nextSeq;
      await pause();
    }
    return count;
  }

  /** How many of these events a call would move. */
  countOf(call: JobCall, heads: readonly EventHead[]): number {
    return heads.filter((head) =>
      this.targets(call, head).some((destination) => this.#isMovable(call, destination, head)),
    ).length;
  }

  #isMovable(call: JobCall, destination: Destination, head: EventHead): boolean {
    const { state } = placeOf(this.#log, destination, head);
    switch (call.kind) {
      case "redrive":
      case "purge":
        return state === "dead";
      case "replay":
        return state === "delivered" || state === "filtered" || state === "not-offered";
      case "erase":
        return !head.erased;
      default:
        return unreachable(call.kind);
    }
  }

  #slice(job: Job, call: JobCall, rowsMax: number, nowMs: number): Job {
    const stretch = this.#stretch(call, job.nextSeq, job.throughSeq, rowsMax);
    const done = job.done + this.move(call, stretch.heads, job.id, nowMs);
    const isOver = stretch.nextSeq === null;
    const next: Job = {
      ...job,
      done,
      nextSeq: stretch.nextSeq ?? job.throughSeq + 1,
      state: isOver ? "done" : "running",
      endedAtMs: isOver ? nowMs : null,
    };
    this.#log.jobs.update(next);
    return next;
  }

  /** Does to these events what the call says, within the caller's transaction; answers how many were moved. */
  move(call: JobCall, heads: readonly EventHead[], job: string, nowMs: number): number {
    const changed = new Set<Destination>();
    let moved = 0;
    for (const head of heads) {
      const targets = this.targets(call, head).filter((each) => this.#moveAt(call.kind, each, head, job, nowMs));
      if (call.kind === "erase" && !head.erased) eraseEvent(this.#log, this.#roster, head, nowMs);
      if (targets.length === 0) continue;
      moved += 1;
      for (const destination of targets) changed.add(destination);
      if (call.kind === "purge") this.#roster.releaseKept(head.seq);
    }
    for (const destination of changed) destination.write();
    return moved;
  }

  #moveAt(kind: JobKind, destination: Destination, head: EventHead, job: string, nowMs: number): boolean {
    switch (kind) {
      case "redrive":
        return redriveEvent(this.#log, destination, head, nowMs, job);
      case "purge":
        return purgeEvent(this.#log, destination, head);
      case "replay":
        return replayEvent(this.#log, destination, head, nowMs, job);
      case "erase":
        return !head.erased;
      default:
        return unreachable(kind);
    }
  }

  /** The destinations at which a call changes something of this event, or may. */
  targets(call: JobCall, head: EventHead): Destination[] {
    if (call.kind === "erase") return head.erased ? [] : [...this.#roster.all];
    const named = this.#roster.all.filter((destination) => call.destinations.includes(destination.name));
    if (call.kind !== "replay") return named;
    if (head.erased) return [];
    if (named.length > 0) return named;
    return this.#roster.all.filter((destination) => placeOf(this.#log, destination, head).state === "delivered");
  }

  #stretch(call: JobCall, fromSeq: number, throughSeq: number, rowsMax: number): Stretch {
    const selection: Selection = call.filter ?? {};
    const [destination = ""] = call.destinations;
    if (call.kind === "redrive" || call.kind === "purge") {
      return nextDead(this.#log, destination, selection, fromSeq, throughSeq, rowsMax);
    }
    return nextStored(this.#log, selection, fromSeq, throughSeq, rowsMax);
  }

  /** Redriven and replayed events that wait, over all destinations. */
  #putBackCount(): number {
    return this.#roster.all.reduce(
      (most, each) => Math.max(most, this.#log.aside.putBackCount(each.name, PUT_BACK_MAX)),
      0,
    );
  }
}

function isPuttingBack(kind: string): boolean {
  return kind === "redrive" || kind === "replay";
}

function viewOf(job: Job): JobView {
  return {
    id: job.id,
    kind: job.kind as JobKind,
    state: job.state,
    destinations: (JSON.parse(job.call) as JobCall).destinations,
    count: job.eventCount,
    done: job.done,
    startedAt: new Date(job.startedAtMs).toISOString(),
    endedAt: job.endedAtMs === null ? null : new Date(job.endedAtMs).toISOString(),
  };
}
