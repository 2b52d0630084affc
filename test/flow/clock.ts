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

/** How many times faster timers run within `hurried`. */
const HURRY = 50;

/** Runs `work` with timers that take a fiftieth of their time, and move the clock by all of it when they end. */
export async function hurried<T>(work: () => Promise<T>): Promise<T> {
  const real = globalThis.setTimeout;
  const faster = (callback: (...values: unknown[]) => void, ms = 0, ...values: unknown[]) => {
    const endMs = Date.now() + ms;
    return real(() => {
      if (Date.now() < endMs) vi.setSystemTime(endMs);
      callback(...values);
    }, ms / HURRY);
  };
  globalThis.setTimeout = faster as unknown as typeof setTimeout;
  try {
    return await work();
  } finally {
    globalThis.setTimeout = real;
  }
}
