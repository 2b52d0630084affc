/** What an operator does to a tenant's events: each act in its own transaction, memory put back where that fails. */
import { drainNow, pause, resume } from "../core/delivery/machine.ts";
import type { EventHead } from "../log/events.ts";
import type { Log } from "../log/log.ts";
import type { ExhaustedCall, JobAnswer, JobCall } from "./contract.ts";
import { findSeq } from "./event-key.ts";
import { lostEvent, reinstate } from "./exhausted.ts";
import { buryDelivered, giveUpByHand } from "./moves.ts";
import type { Runtime } from "./runtime.ts";
import type { Wake } from "./wake.ts";

/** Ids of one call; a longer list is a job for a filter. */
const IDS_MAX = 1_000;

const acts = { drain: drainNow, pause, resume } as const;

export class Operator {
  readonly #log: Log;
  readonly #wake: Wake;
  readonly #runtime: Runtime;
  readonly #clock: () => number;

  constructor(log: Log, wake: Wake, runtime: Runtime, clock: () => number) {
    this.#log = log;
    this.#wake = wake;
    this.#runtime = runtime;
    this.#clock = clock;
  }

  /** Pause, resume, or drain a destination; false where there is none of that name [V18]. */
  act(name: string, kind: keyof typeof acts): boolean {
    const destination = this.#runtime.roster.find(name);
    if (destination === null) return false;
    const nowMs = this.#clock();
    if (kind !== "pause") destination.notBeforeMs = 0;
    this.#change(nowMs, kind === "pause" ? null : nowMs + 1, () => {
      const { row, live } = destination.memory;
      destination.believe({ ...destination.memory, ...acts[kind](row, live, nowMs) });
      destination.write();
      if (kind === "resume") this.#log.alerts.clear("destination-disabled", name, nowMs);
      if (kind !== "pause") this.#log.alerts.clear("hold-long", name, nowMs);
    });
    return true;
  }

  /** Puts dead letters back by id; null where there is no such destination. */
  async redrive(name: string, ids: readonly string[], isDryRun: boolean): Promise<number | null> {
    const answer = await this.startJob({ kind: "redrive", destinations: [name], ids, dryRun: isDryRun }, null);
    return answer.kind === "started" ? answer.count : null;
  }

  /**
   * Redrive, purge, replay or erase [X2] [X3] [X4] [X6]. What is named by ids is done at once; a filter, or all, becomes
   * a job called `id` (null only where ids are given).
   */
  async startJob(call: JobCall, id: string | null): Promise<JobAnswer> {
    for (const destination of call.destinations) {
      if (this.#runtime.roster.find(destination) === null) return { kind: "no-such-destination", destination };
    }
    if (call.ids !== undefined) return this.#moveById(call, await this.#heads(call.ids), id);
    const count = await this.#count(call);
    if (call.dryRun || id === null) return { kind: "started", job: null, count };
    const nowMs = this.#clock();
    this.#change(nowMs, nowMs + 1, () => this.#runtime.jobs.start(id, call, count, nowMs));
    return { kind: "started", job: id, count };
  }

  /** A message of the queue ended in its dead-letter queue: the event moves from delivered to dead [V19]. */
  async queueExhausted(call: ExhaustedCall): Promise<boolean> {
    const destination = this.#runtime.roster.find(call.destination);
    const [known] = await this.#heads([call.eventId]);
    const lost = known === undefined ? await lostEvent(call) : null;
    if (destination === null || (known === undefined && lost === null)) return false;
    const nowMs = this.#clock();
    return this.#change(nowMs, nowMs + 1, () => {
      const head = lost === null ? known : reinstate(this.#log, this.#runtime.config, lost, nowMs);
      if (head == null) return false;
      const isMoved = buryDelivered(this.#log, destination, head, nowMs);
      if (isMoved) destination.write();
      else if (lost !== null) this.#runtime.roster.releaseKept(head.seq);
      return isMoved;
    });
  }

  /** The queue's consumer has delivered a claimed event: its bytes need not wait for it any more [V19]. */
  async claimTaken(eventId: string, name: string): Promise<boolean> {
    const [head] = await this.#heads([eventId]);
    if (head === undefined) return false;
    const nowMs = this.#clock();
    return this.#change(nowMs, null, () => {
      const isTaken = this.#log.claims.remove(name, head.seq);
      if (isTaken) this.#runtime.roster.releaseKept(head.seq);
      return isTaken;
    });
  }

  /** Gives an event up by hand [V15]. Null: no such destination; false: it is in no backlog there. */
  async giveUp(eventId: string, name: string): Promise<boolean | null> {
    const destination = this.#runtime.roster.find(name);
    if (destination === null) return null;
    const [head] = await this.#heads([eventId]);
    if (head === undefined) return false;
    const nowMs = this.#clock();
    return this.#change(nowMs, nowMs + 1, () => {
      const isMoved = giveUpByHand(this.#log, destination, head, nowMs);
      if (isMoved) destination.write();
      return isMoved;
    });
  }

  async #count(call: JobCall): Promise<number> {
    const [name = ""] = call.destinations;
    const isAll = call.all === true && (call.kind === "redrive" || call.kind === "purge");
    if (isAll) return this.#runtime.roster.find(name)?.cursor.counters.dead ?? 0;
    return this.#runtime.jobs.count(call, () => scheduler.wait(0));
  }

  #moveById(call: JobCall, heads: readonly EventHead[], id: string | null): JobAnswer {
    const nowMs = this.#clock();
    const job = id ?? `call-${nowMs}`;
    if (call.dryRun) return { kind: "started", job: null, count: this.#runtime.jobs.countOf(call, heads) };
    const count = this.#change(nowMs, nowMs + 1, () => this.#runtime.jobs.move(call, heads, job, nowMs));
    return { kind: "started", job: null, count };
  }

  async #heads(ids: readonly string[]): Promise<EventHead[]> {
    const seqs = ids.slice(0, IDS_MAX).map((id) => findSeq(this.#log, id));
    const unique = [...new Set(seqs.filter((seq) => seq !== null))].sort((a, b) => a - b);
    return unique.map((seq) => this.#log.events.head(seq)).filter((head) => head !== null);
  }

  #change<T>(nowMs: number, dueMs: number | null, change: () => T): T {
    const snapshot = this.#runtime.roster.snapshot();
    try {
      const { result, armedAtMs } = this.#log.transaction(() => {
        const result = change();
        return { result, armedAtMs: dueMs === null ? this.#wake.armedAtMs : this.#wake.arm(dueMs, nowMs) };
      });
      this.#wake.committed(armedAtMs);
      return result;
    } catch (error) {
      this.#runtime.roster.restore(snapshot);
      throw error;
    }
  }
}
