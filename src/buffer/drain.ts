/**
 * One run of the alarm [V20]: asks each destination's machine what is due, sends it, records what came of it, and goes on
 * until nothing is due now. It never throws, and its last act sets the next alarm from what is stored.
 */
import { unreachable } from "../core/assert.ts";
import type { Outcome } from "../core/delivery/outcome.ts";
import type { HostOutcome } from "../core/host-health.ts";
import type { Answered, Destination } from "./destination.ts";
import type { LoadedRequest } from "./load-request.ts";
import { ASK_LIMIT_MS, type Permit, type Permits } from "./permits.ts";
import type { Roster } from "./roster.ts";
import type { Sent } from "./sender.ts";
import type { Wake } from "./wake.ts";

/** A run hands over after this many requests, or this long, so that no handler comes near the runtime's own limit. */
const RUN_REQUESTS_MAX = 40;
const RUN_STARTS_MAX_MS = 60_000;
/** A run that goes on for so long sets an alarm for the case that it does not end. */
const SAFETY_AFTER_MS = 10_000;
const SAFETY_ALARM_MS = 60_000;
/** After a run that failed the next one waits, longer each time: a store in trouble must not become a flood at the origin. */
const REST_MIN_MS = 1_000;
const REST_MAX_MS = 60_000;
/** Requests at once from one object: the platform holds more back, and their timers would start too early [V13]. */
const IN_FLIGHT_MAX = 6;
const IN_FLIGHT_PER_HOST_MAX = 5;

/** Work beside delivery that a run looks after: retention, telling KV. `dueMs` null: nothing is due by itself. */
export interface Chore {
  dueMs(nowMs: number): number | null;
  /** Does a little of it; false where nothing came of it. */
  run(nowMs: number): Promise<boolean> | boolean;
}

export interface Sender {
  /** Makes one attempt; never throws. */
  send(destination: Destination, request: LoadedRequest, nowMs: number): Promise<Sent>;
  /** The host that requests of this destination go to. */
  hostOf(destination: Destination): string;
  /** That host where tenants share it, so that each request needs a permit [V27]; else null. */
  sharedHostOf(destination: Destination): string | null;
}

interface InFlight {
  readonly destination: Destination;
  readonly host: string;
  /** Nothing goes beside it [V26]. */
  readonly exclusive: boolean;
}

interface Done {
  readonly destination: Destination;
  readonly answered: Answered;
}

export class Drain {
  readonly #roster: Roster;
  readonly #wake: Wake;
  readonly #sender: Sender;
  readonly #permits: Permits;
  readonly #chores: readonly Chore[];
  readonly #clock: () => number;
  readonly #random: () => number;
  /** Requests on their way, and permits asked for. */
  readonly #inFlight = new Set<InFlight>();
  readonly #asking = new Map<Destination, InFlight>();
  /** Permits that came, for a request to be begun at once. */
  readonly #lent = new Map<Destination, Permit>();
  #done: Done[] = [];
  #announce: (() => void) | null = null;
  #nextId = 1;
  #isAbandoned = false;
  /** Runs in a row whose outcomes could not be recorded. */
  #failedRuns = 0;

  constructor(
    roster: Roster,
    wake: Wake,
    sender: Sender,
    permits: Permits,
    chores: readonly Chore[],
    clock: () => number,
    random: () => number,
  ) {
    this.#roster = roster;
    this.#wake = wake;
    this.#sender = sender;
    this.#permits = permits;
    this.#chores = chores;
    this.#clock = clock;
    this.#random = random;
  }

  /** The tenant is deleted: whatever is on its way is nobody's business any more. */
  abandon(): void {
    this.#isAbandoned = true;
    this.#wake.forgetRun();
    this.#announce?.();
  }

  /** When anything is due, or null. */
  nextDueMs(nowMs: number): number | null {
    const dues = [this.#roster.nextDueMs(nowMs), ...this.#chores.map((chore) => chore.dueMs(nowMs))].filter(
      (due) => due !== null,
    );
    return dues.length === 0 ? null : Math.min(...dues);
  }

  /** `isRepeat`: an earlier run of this alarm did not end. */
  async run(isRepeat: boolean): Promise<void> {
    const beganMs = this.#clock();
    this.#wake.beginRun(beganMs);
    if (isRepeat) this.#wake.armSafety(beganMs + SAFETY_ALARM_MS);
    try {
      await this.#work(beganMs);
      this.#failedRuns = 0;
    } catch (error) {
      console.error(
        JSON.stringify({ event: "run-failed", reason: error instanceof Error ? error.message : "unknown" }),
      );
      this.#failedRuns += 1;
      this.#recover();
    }
    this.#stopAsking();
    this.#dropPermits();
    if (this.#isAbandoned) return;
    const nowMs = this.#clock();
    let dueMs: number | null = nowMs + SAFETY_ALARM_MS;
    try {
      dueMs = this.nextDueMs(nowMs);
    } catch (error) {
      console.error(
        JSON.stringify({ event: "next-due-failed", reason: error instanceof Error ? error.message : "unknown" }),
      );
    }
    const restMs = Math.min(REST_MAX_MS, this.#failedRuns === 0 ? 0 : REST_MIN_MS * 2 ** (this.#failedRuns - 1));
    this.#wake.endRun(dueMs, nowMs, restMs);
  }

  async #work(beganMs: number): Promise<void> {
    let requestsLeft = RUN_REQUESTS_MAX;
    let isSafe = false;
    while (!this.#isAbandoned) {
      const nowMs = this.#clock();
      const mayStart = (): boolean => requestsLeft > 0 && this.#clock() - beganMs < RUN_STARTS_MAX_MS;
      let isChanged = false;
      const take = (destination: Destination, answered: Answered | null): void => {
        const stepped = this.#step(destination, answered, mayStart() ? requestsLeft : 0, nowMs);
        requestsLeft -= stepped.begun;
        isChanged ||= stepped.changed;
      };
      for (let done = this.#done.shift(); done !== undefined; done = this.#done.shift()) {
        take(done.destination, done.answered);
      }
      for (const destination of this.#roster.inTurn(this.#busy())) {
        if (mayStart() && destination.isDue(nowMs) && this.#mayBegin(destination, nowMs)) take(destination, null);
      }
      this.#dropPermits();
      if (!mayStart()) this.#stopAsking();
      for (const chore of this.#chores) {
        const dueMs = chore.dueMs(nowMs);
        if (dueMs !== null && dueMs <= nowMs) isChanged = (await chore.run(nowMs)) || isChanged;
      }
      if (this.#done.length > 0) continue;
      if (this.#inFlight.size === 0) {
        const dueMs = this.nextDueMs(nowMs);
        // What is due but cannot be done now is left to the next run, rather than tried for ever in this one.
        if (!mayStart() || !isChanged || dueMs === null || dueMs > nowMs) return;
        continue;
      }
      if (!isSafe && nowMs - beganMs >= SAFETY_AFTER_MS) {
        isSafe = true;
        this.#wake.armSafety(nowMs + SAFETY_ALARM_MS);
      }
      const dueMs = mayStart() ? this.nextDueMs(nowMs) : null;
      const safetyMs = isSafe ? null : beganMs + SAFETY_AFTER_MS;
      await this.#news(safetyMs === null ? dueMs : Math.min(dueMs ?? safetyMs, safetyMs), nowMs);
    }
  }

  /** Records an outcome and begins what may be begun after it, in one transaction. */
  #step(
    destination: Destination,
    answered: Answered | null,
    requestsMax: number,
    nowMs: number,
  ): { begun: number; changed: boolean } {
    const host = this.#sender.hostOf(destination);
    const permit = this.#lent.get(destination) ?? null;
    this.#lent.delete(destination);
    const permitted = permit !== null ? 1 : this.#sender.sharedHostOf(destination) === null ? IN_FLIGHT_MAX : 0;
    let isUsed = false;
    try {
      const stepped = destination.step(answered, {
        nowMs,
        random: this.#random,
        requestsMax: Math.min(requestsMax, permitted, this.#roomAt(host)),
        othersWaiting: this.#roster.isOtherWaiting(destination, nowMs),
        inFlight: this.#inFlight.size,
        nextId: () => this.#nextId++,
      });
      isUsed = stepped.begun.length > 0;
      for (const request of stepped.begun) this.#send(destination, host, request, permit, nowMs);
      return { begun: stepped.begun.length, changed: stepped.changed };
    } finally {
      if (!isUsed) permit?.end("unused");
    }
  }

  /** How many more requests may go to `host` now [V13]. */
  #roomAt(host: string): number {
    if ([...this.#inFlight].some((each) => each.exclusive)) return 0;
    const toHost = [...this.#inFlight].filter((each) => each.host === host).length;
    return Math.min(IN_FLIGHT_MAX - this.#inFlight.size, IN_FLIGHT_PER_HOST_MAX - toHost);
  }

  /** Whether a request of `destination` may be made now; where its host is shared, one permit is asked for at a time [V27]. */
  #mayBegin(destination: Destination, nowMs: number): boolean {
    const host = this.#sender.sharedHostOf(destination);
    if (host === null || this.#lent.has(destination)) return true;
    const asking: InFlight = { destination, host: this.#sender.hostOf(destination), exclusive: false };
    if (this.#asking.has(destination) || this.#roomAt(asking.host) <= 0) return false;
    this.#asking.set(destination, asking);
    this.#inFlight.add(asking);
    destination.notBeforeMs = nowMs + ASK_LIMIT_MS * 2;
    void this.#permits.ask(host, destination.config.delivery.timeoutMs).then((answer) => {
      const isWanted = this.#asking.get(destination) === asking && !this.#isAbandoned;
      if (isWanted) this.#endAsking(destination, answer.kind === "later" ? this.#clock() + answer.afterMs : 0);
      if (answer.kind === "lent" && isWanted) this.#lent.set(destination, answer.permit);
      else if (answer.kind === "lent") answer.permit.end("unused");
      this.#announce?.();
    });
    return false;
  }

  #endAsking(destination: Destination, notBeforeMs: number): void {
    const asking = this.#asking.get(destination);
    if (asking !== undefined) this.#inFlight.delete(asking);
    this.#asking.delete(destination);
    destination.notBeforeMs = notBeforeMs;
  }

  /** Nothing more may be begun in this run: the next one asks anew. */
  #stopAsking(): void {
    for (const destination of [...this.#asking.keys()]) this.#endAsking(destination, 0);
  }

  /** Permits that came when nothing was to be sent any more. */
  #dropPermits(): void {
    for (const permit of this.#lent.values()) permit.end("unused");
    this.#lent.clear();
  }

  #send(destination: Destination, host: string, request: LoadedRequest, permit: Permit | null, nowMs: number): void {
    const inFlight: InFlight = { destination, host, exclusive: request.exclusive };
    this.#inFlight.add(inFlight);
    void this.#sender.send(destination, request, nowMs).then((sent) => {
      permit?.end(hostOutcome(sent.outcome));
      this.#inFlight.delete(inFlight);
      this.#done.push({ destination, answered: { request, ...sent } });
      this.#announce?.();
    });
  }

  /** An outcome could not be recorded: its events go again, as after a crash, and so does whatever else is in flight. */
  #recover(): void {
    this.#done = [];
    try {
      this.#roster.recover(this.#clock());
    } catch (error) {
      console.error(
        JSON.stringify({ event: "recovery-failed", reason: error instanceof Error ? error.message : "unknown" }),
      );
    }
  }

  #busy(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const { destination } of this.#inFlight) counts.set(destination.name, (counts.get(destination.name) ?? 0) + 1);
    return counts;
  }

  /** Waits for an outcome, an arrival, or the next due time, whichever comes first. Leaves no timer behind. */
  async #news(dueMs: number | null, nowMs: number): Promise<void> {
    const arrival = this.#wake.news();
    let timer: ReturnType<typeof setTimeout> | null = null;
    const outcome = new Promise<void>((resolve) => {
      this.#announce = resolve;
      if (dueMs !== null) timer = setTimeout(resolve, Math.max(1, dueMs - nowMs));
    });
    await Promise.race([outcome, arrival.promise]);
    arrival.cancel();
    if (timer !== null) clearTimeout(timer);
    this.#announce = null;
  }
}

/** What an outcome says of the host: any answer that names the event at fault shows that the host itself is well. */
function hostOutcome(outcome: Outcome): HostOutcome {
  switch (outcome.kind) {
    case "accepted":
    case "busy":
    case "failed":
      return outcome.kind;
    case "refused":
    case "gone":
      return "answered";
    default:
      return unreachable(outcome);
  }
}
