/**
 * One run of the alarm [V20]: asks each destination's machine what is due, sends it, records what came of it, and goes on
 * until nothing is due now. It never throws, and its last act sets the next alarm from what is stored.
 */
import { Asking } from "./asking.ts";
import type { Answered, Destination } from "./destination.ts";
import { Flights, IN_FLIGHT_MAX } from "./flights.ts";
import type { LoadedRequest } from "./load-request.ts";
import { hostOutcome, type Permit, type Permits } from "./permits.ts";
import type { Roster } from "./roster.ts";
import type { Sent } from "./sender.ts";
import type { Wake } from "./wake.ts";

/** A run hands over after this many requests, or this long, so that no handler comes near the runtime's own limit. */
const RUN_REQUESTS_MAX = 40;
const RUN_STARTS_MAX_MS = 60_000;
/** Turns in a row in which destinations change and nothing is sent; after so many it is always the same change. */
const TURNS_WITHOUT_REQUEST_MAX = 1_000;
/** Runs in a row that did nothing although something is due at once; from then on they wait too. */
const IDLE_RUNS_MAX = 10;
/** A run that goes on for so long sets an alarm for the case that it does not end. */
const SAFETY_AFTER_MS = 10_000;
const SAFETY_ALARM_MS = 60_000;
/** After a run that failed the next one waits, longer each time: a store in trouble must not become a flood at the origin. */
const REST_MIN_MS = 1_000;
const REST_MAX_MS = 60_000;
/** Work beside delivery that a run looks after: retention, telling KV. `dueMs` null: nothing is due by itself. */
export interface Chore {
  dueMs(nowMs: number): number | null;
  /** Does a little of it; false where nothing came of it. */
  run(nowMs: number): Promise<boolean> | boolean;
}

interface Sender {
  /** Makes one attempt; never throws. */
  send(destination: Destination, request: LoadedRequest, nowMs: number): Promise<Sent>;
  /** The host that requests of this destination go to. */
  hostOf(destination: Destination): string;
  /** That host where tenants share it, so that each request needs a permit [V27]; else null. */
  sharedHostOf(destination: Destination): string | null;
}

interface Done {
  readonly destination: Destination;
  readonly answered: Answered;
}

export class Drain {
  readonly #roster: Roster;
  readonly #wake: Wake;
  readonly #sender: Sender;
  readonly #chores: readonly Chore[];
  readonly #clock: () => number;
  readonly #random: () => number;
  readonly #flights = new Flights();
  readonly #asking: Asking;
  #done: Done[] = [];
  #announce: (() => void) | null = null;
  #nextId = 1;
  #isAbandoned = false;
  /** Runs in a row whose outcomes could not be recorded. */
  #failedRuns = 0;
  /** Runs in a row that did nothing although something is due at once. */
  #idleRuns = 0;

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
    this.#asking = new Asking(permits, this.#flights, clock);
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
    let hasWorked = true;
    try {
      hasWorked = await this.#work(beganMs);
      this.#failedRuns = 0;
    } catch (error) {
      console.error(
        JSON.stringify({ event: "run-failed", reason: error instanceof Error ? error.message : "unknown" }),
      );
      this.#failedRuns += 1;
      this.#recover();
    }
    this.#asking.stop();
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
    this.#idleRuns = !hasWorked && dueMs !== null && dueMs <= nowMs ? this.#idleRuns + 1 : 0;
    if (this.#idleRuns === IDLE_RUNS_MAX + 1) {
      console.error(JSON.stringify({ event: "run-idle", reason: "something is due and nothing comes of it" }));
    }
    this.#wake.endRun(dueMs, nowMs, restMs(Math.max(this.#failedRuns, this.#idleRuns - IDLE_RUNS_MAX)));
  }

  /** Answers whether anything was done. */
  async #work(beganMs: number): Promise<boolean> {
    let hasWorked = false;
    let requestsLeft = RUN_REQUESTS_MAX;
    let isSafe = false;
    let turnsWithoutRequest = 0;
    while (!this.#isAbandoned) {
      const nowMs = this.#clock();
      const mayStart = (): boolean => requestsLeft > 0 && this.#clock() - beganMs < RUN_STARTS_MAX_MS;
      let isChanged = false;
      const take = (destination: Destination, answered: Answered | null): void => {
        const stepped = this.#step(destination, answered, mayStart() ? requestsLeft : 0, nowMs);
        requestsLeft -= stepped.begun;
        isChanged ||= stepped.changed;
        if (answered !== null || stepped.begun > 0) turnsWithoutRequest = 0;
      };
      for (let done = this.#done.shift(); done !== undefined; done = this.#done.shift()) {
        take(done.destination, done.answered);
      }
      for (const destination of this.#roster.inTurn(this.#flights.perDestination())) {
        if (mayStart() && destination.isDue(nowMs) && this.#mayBegin(destination, nowMs)) take(destination, null);
      }
      this.#asking.dropUnused();
      if (!mayStart()) this.#asking.stop();
      for (const chore of this.#chores) {
        const dueMs = chore.dueMs(nowMs);
        if (dueMs === null || dueMs > nowMs || !(await chore.run(nowMs))) continue;
        isChanged = true;
        turnsWithoutRequest = 0;
      }
      hasWorked ||= isChanged;
      if (this.#done.length > 0) continue;
      if (this.#flights.count === 0) {
        const dueMs = this.nextDueMs(nowMs);
        // What is due but cannot be done now is left to the next run, rather than tried for ever in this one.
        if (!mayStart() || !isChanged || dueMs === null || dueMs > nowMs) return hasWorked;
        turnsWithoutRequest += 1;
        // A fault of ours: the same thing is done for ever. Others must get their turn, and somebody has to hear of it.
        if (turnsWithoutRequest > TURNS_WITHOUT_REQUEST_MAX) throw new Error("destinations change and nothing is sent");
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
    return hasWorked;
  }

  /** Records an outcome and begins what may be begun after it, in one transaction. */
  #step(
    destination: Destination,
    answered: Answered | null,
    requestsMax: number,
    nowMs: number,
  ): { begun: number; changed: boolean } {
    const host = this.#sender.hostOf(destination);
    const permit = this.#asking.take(destination);
    const permitted = permit !== null ? 1 : this.#sender.sharedHostOf(destination) === null ? IN_FLIGHT_MAX : 0;
    let isUsed = false;
    try {
      const stepped = destination.step(answered, {
        nowMs,
        random: this.#random,
        requestsMax: Math.min(requestsMax, permitted, this.#flights.roomAt(host)),
        othersWaiting: this.#roster.isOtherWaiting(destination, nowMs),
        inFlight: this.#flights.count,
        nextId: () => this.#nextId++,
      });
      isUsed = stepped.begun.length > 0;
      for (const request of stepped.begun) this.#send(destination, host, request, permit, nowMs);
      return { begun: stepped.begun.length, changed: stepped.changed };
    } finally {
      if (!isUsed) permit?.end("unused");
    }
  }

  /** Whether a request of `destination` may be made now; a shared host lends a permit for each [V27]. */
  #mayBegin(destination: Destination, nowMs: number): boolean {
    const sharedHost = this.#sender.sharedHostOf(destination);
    if (sharedHost === null) return true;
    const host = this.#sender.hostOf(destination);
    return this.#asking.hasPermit(destination, sharedHost, host, nowMs, () => this.#announce?.());
  }

  #send(destination: Destination, host: string, request: LoadedRequest, permit: Permit | null, nowMs: number): void {
    const flight = { destination, host, exclusive: request.exclusive };
    this.#flights.add(flight);
    void this.#sender.send(destination, request, nowMs).then((sent) => {
      permit?.end(hostOutcome(sent.outcome));
      this.#flights.delete(flight);
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

/** How long the next run waits after so many in a row that came to nothing. */
function restMs(runs: number): number {
  return runs <= 0 ? 0 : Math.min(REST_MAX_MS, REST_MIN_MS * 2 ** (runs - 1));
}
