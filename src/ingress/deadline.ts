/** What `within` answers when the time is up. */
export const EXPIRED = Symbol("expired");

/**
 * The time a request may take, with one timer for all its steps: setting a timer for each would cost as much as
 * reading a small body. The limit may be moved; work that is given up is not cancelled, only no longer waited for.
 */
export class Deadline {
  readonly #now: () => number;
  readonly #limitMs: number;
  readonly #latestAtMs: number;
  #limitAtMs: number;
  #timer: ReturnType<typeof setTimeout>;
  #timerAtMs: number;
  #expire: ((value: typeof EXPIRED) => void) | null = null;

  /**
   * The time began at `beganMs`. `soonestMs`: the earliest limit there will be, for which the timer is set. `longestMs`: what
   * all its new beginnings together may come to.
   */
  constructor(
    now: () => number,
    beganMs: number,
    limitMs: number,
    soonestMs: number,
    longestMs = Number.POSITIVE_INFINITY,
  ) {
    this.#now = now;
    this.#limitMs = limitMs;
    this.#latestAtMs = beganMs + longestMs;
    this.#limitAtMs = beganMs + limitMs;
    this.#timerAtMs = beganMs + Math.min(limitMs, soonestMs);
    this.#timer = setTimeout(this.#fire, Math.max(0, this.#timerAtMs - now()));
  }

  /** From here on the time is up at `atMs`. */
  moveTo(atMs: number): void {
    this.#limitAtMs = atMs;
    if (atMs < this.#timerAtMs) this.#arm(this.#now());
  }

  /** The whole time begins anew, as something has come. */
  restart(): void {
    this.moveTo(Math.min(this.#latestAtMs, this.#now() + this.#limitMs));
  }

  /** Milliseconds that are left, 0 when the time is up. */
  leftMs(): number {
    return Math.max(0, this.#limitAtMs - this.#now());
  }

  /** What `work` comes to, or EXPIRED when the time is up first. One step at a time. */
  within<T>(work: Promise<T>): Promise<T | typeof EXPIRED> {
    return new Promise((resolve, reject) => {
      this.#expire = resolve;
      work.then(resolve, reject);
    });
  }

  /** The request is answered: nothing fires any more. */
  end(): void {
    clearTimeout(this.#timer);
    this.#expire = null;
  }

  #fire = (): void => {
    const nowMs = this.#now();
    // The clock may stand a little short of the time the timer was set for.
    if (this.#limitAtMs - nowMs > 1) {
      this.#arm(nowMs);
      return;
    }
    // No timer is set any more: a limit that is moved on needs one.
    this.#timerAtMs = Number.POSITIVE_INFINITY;
    this.#expire?.(EXPIRED);
  };

  #arm(nowMs: number): void {
    clearTimeout(this.#timer);
    this.#timerAtMs = this.#limitAtMs;
    this.#timer = setTimeout(this.#fire, Math.max(0, this.#limitAtMs - nowMs));
  }
}
