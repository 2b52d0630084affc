/**
 * Time as a test moves it. Only `Date` is moved: the runtime's own alarms keep to real time, and as the test's clock is
 * far ahead of it, no alarm goes off by itself; `Tenant.runFor` lets them.
 */
import { vi } from "vitest";

/** Later than any day on which these tests run. */
const START_MS = Date.UTC(2040, 0, 1);

export function startClock(atMs: number = START_MS): void {
  vi.useFakeTimers({ toFake: ["Date"], now: atMs });
}

export function moveClock(ms: number): void {
  vi.setSystemTime(Date.now() + ms);
}

export function stopClock(): void {
  vi.useRealTimers();
}

/** Nothing happens for so long, in real time: then it is a timer that everybody waits for. */
const IDLE_MS = 10;
const LOOK_EVERY_MS = 3;
/** A timer that does not look for so long is gone with the request that set it. */
const GONE_MS = 1_000;

interface Timer {
  readonly endMs: number;
  lookedMs: number;
  handle: ReturnType<typeof setTimeout>;
}

/**
 * Runs `work` with timers that do not wait: when nothing else happens the one that ends first goes off, and moves the
 * clock by all of its time. So a busy machine makes nobody late.
 */
export async function hurried<T>(work: () => Promise<T>): Promise<T> {
  const { setTimeout: set, clearTimeout: clear } = globalThis;
  const waiting = new Set<Timer>();
  let happenedMs = performance.now();
  const isFirst = (timer: Timer): boolean =>
    [...waiting].every((other) => other.endMs >= timer.endMs || performance.now() - other.lookedMs > GONE_MS);

  const setHurried = (callback: (...values: unknown[]) => void, ms = 0, ...values: unknown[]): Timer => {
    happenedMs = performance.now();
    const look = (): void => {
      if (!waiting.has(timer)) return;
      timer.lookedMs = performance.now();
      if (timer.lookedMs - happenedMs < IDLE_MS || !isFirst(timer)) {
        timer.handle = set(look, LOOK_EVERY_MS);
        return;
      }
      waiting.delete(timer);
      happenedMs = performance.now();
      if (Date.now() < timer.endMs) vi.setSystemTime(timer.endMs);
      callback(...values);
    };
    const timer: Timer = { endMs: Date.now() + ms, lookedMs: happenedMs, handle: set(look, LOOK_EVERY_MS) };
    waiting.add(timer);
    return timer;
  };
  const clearHurried = (timer: Timer | ReturnType<typeof setTimeout>): void => {
    happenedMs = performance.now();
    const own = timer as Timer;
    if (waiting.delete(own)) clear(own.handle);
    else if (typeof timer === "number") clear(timer);
  };
  globalThis.setTimeout = setHurried as unknown as typeof setTimeout;
  globalThis.clearTimeout = clearHurried as unknown as typeof clearTimeout;
  try {
    return await work();
  } finally {
    globalThis.setTimeout = set;
    globalThis.clearTimeout = clear;
  }
}
