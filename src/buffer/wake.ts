/**
 * The only owner of the object's alarm [V20]. Draining never depends on a further request: whatever makes work due sets
 * the alarm in its own transaction, unless a run is on, which is then woken through memory.
 */
import type { Meter } from "../log/meter.ts";

/** An alarm this much overdue was lost: it counts as missing [V20](e). */
const OVERDUE_MS = 60_000;
/** A run that began longer ago was cut off by the runtime without a word: it no longer counts as on [V20](a). */
const RUN_MAX_MS = 150_000;

export class Wake {
  readonly #storage: DurableObjectStorage;
  readonly #meter: Meter;
  /** When the alarm is set for, as committed; null: not set. */
  #armedAtMs: number | null = null;
  #runBeganMs: number | null = null;
  /** No run before this: the last one failed. */
  #restUntilMs = 0;
  #signal: (() => void) | null = null;
  #signalled = false;

  constructor(storage: DurableObjectStorage, meter: Meter) {
    this.#storage = storage;
    this.#meter = meter;
  }

  /** What the runtime said of the alarm; asked once at the start, and after a transaction was rolled back. */
  learn(armedAtMs: number | null): void {
    this.#armedAtMs = armedAtMs;
  }

  get armedAtMs(): number | null {
    return this.#armedAtMs;
  }

  isRunOn(nowMs: number): boolean {
    return this.#runBeganMs !== null && nowMs - this.#runBeganMs < RUN_MAX_MS;
  }

  /** The alarm should have gone off long ago, and no run is on: it was lost [V20](e). */
  isOverdue(nowMs: number): boolean {
    return this.#armedAtMs !== null && nowMs - this.#armedAtMs > OVERDUE_MS && !this.isRunOn(nowMs);
  }

  /**
   * Makes sure that a run comes at `dueMs` at the latest. To be called within the transaction that stores what is due.
   * Answers what memory may believe once that transaction is committed: hand it to `committed`.
   */
  arm(dueMs: number, nowMs: number): number | null {
    if (this.isRunOn(nowMs)) return this.#armedAtMs;
    const armed = this.#armedAtMs;
    const isMissing = armed === null || nowMs - armed > OVERDUE_MS;
    const atMs = this.#earliest(dueMs, nowMs);
    // What is due now is due in a millisecond as far as the alarm goes: setting it again would cost a row for nothing.
    if (!isMissing && armed <= atMs) return armed;
    this.#set(atMs);
    return atMs;
  }

  /** The transaction in which `arm` was called is committed. A run that is on learns that there is news. */
  committed(armedAtMs: number | null): void {
    this.#armedAtMs = armedAtMs;
    this.#signalled = true;
    this.#signal?.();
  }

  /** The alarm went off: the runtime has cleared it. */
  beginRun(nowMs: number): void {
    this.#armedAtMs = null;
    this.#runBeganMs = nowMs;
    this.#signalled = false;
  }

  /** An alarm for the case that this run does not end: only for one that was run again, or that takes long [V20](c). */
  armSafety(atMs: number): void {
    this.#set(atMs);
    this.#armedAtMs = atMs;
  }

  /**
   * The last act of a run: the next due time, or none. No await may stand between computing it and this call. `restMs`:
   * the run failed, and no other begins before that time has passed.
   */
  endRun(dueMs: number | null, nowMs: number, restMs = 0): void {
    this.#runBeganMs = null;
    this.#restUntilMs = nowMs + restMs;
    if (dueMs !== null) {
      const atMs = this.#earliest(dueMs, nowMs);
      if (this.#armedAtMs !== atMs) this.#set(atMs);
      this.#armedAtMs = atMs;
    } else if (this.#armedAtMs !== null) {
      void this.#storage.deleteAlarm();
      this.#meter.countAlarmWrite();
      this.#armedAtMs = null;
    }
  }

  /** The run that is on goes on for nothing: the tenant is deleted, and what comes arms again. */
  forgetRun(): void {
    this.#runBeganMs = null;
  }

  /** Resolves when something was committed since the last call, or at once when that has happened already. */
  news(): { readonly promise: Promise<void>; readonly cancel: () => void } {
    if (this.#signalled) {
      this.#signalled = false;
      return { promise: Promise.resolve(), cancel: () => {} };
    }
    const promise = new Promise<void>((resolve) => {
      this.#signal = () => {
        this.#signal = null;
        this.#signalled = false;
        resolve();
      };
    });
    return {
      promise,
      cancel: () => {
        this.#signal = null;
      },
    };
  }

  /** At least 1 ms ahead, and not within the rest after a run that failed; one set by a wrong clock does not count. */
  #earliest(dueMs: number, nowMs: number): number {
    const restUntilMs = this.#restUntilMs - nowMs <= OVERDUE_MS ? this.#restUntilMs : 0;
    return Math.max(Math.ceil(dueMs), nowMs + 1, restUntilMs);
  }

  #set(atMs: number): void {
    // Takes effect at once, and is rolled back with the transaction it stands in.
    void this.#storage.setAlarm(atMs);
    this.#meter.countAlarmWrite();
  }
}
