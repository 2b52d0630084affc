/** Requests that hang, without the wait: their deadline goes off as soon as the origin has been reached. */
import { vi } from "vitest";
import { hang, type Received } from "../origin.ts";

/** A figure that no other timer has: by it the deadlines of requests are known. */
export const TIMEOUT_MS = 7_919;

/** While there is one, globals are replaced: `vi.restoreAllMocks` and `vi.unstubAllGlobals` put them back. */
export class Deadlines {
  /** The signals of requests that hang; their deadlines are known by them. */
  readonly #hanging = new WeakSet<AbortSignal>();

  constructor() {
    let newest: AbortSignal | null = null;
    const Plain = AbortController;
    vi.stubGlobal(
      "AbortController",
      class extends Plain {
        constructor() {
          super();
          newest = this.signal;
        }
      },
    );
    const { setTimeout: set, setInterval: every, clearInterval: stop } = globalThis;
    const setQuick = (callback: () => void, ms?: number, ...values: unknown[]): unknown => {
      if (ms !== TIMEOUT_MS) return (set as (...all: unknown[]) => unknown)(callback, ms, ...values);
      // A request's controller is made right before its deadline is set.
      const signal = newest;
      const endMs = Date.now() + ms;
      // It has to go off in the object that set it: nothing of an object can be ended from outside.
      const timer = every(() => {
        if (signal === null || !this.#hanging.has(signal)) return;
        stop(timer);
        if (Date.now() < endMs) vi.setSystemTime(endMs);
        callback();
      }, 1);
      return timer;
    };
    vi.spyOn(globalThis, "setTimeout").mockImplementation(setQuick as unknown as typeof setTimeout);
  }

  /** No answer: the request ends when its sender gives up. */
  hang(request: Received): Promise<Response> {
    if (request.signal === null) throw new Error("a request without a signal would hang for ever");
    this.#hanging.add(request.signal);
    return hang(request);
  }
}
