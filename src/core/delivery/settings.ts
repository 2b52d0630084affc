/** How a destination is served; every field present, defaults filled in. Times in milliseconds where the name says so. */
export interface DeliverySettings {
  readonly batch: { readonly maxEvents: number; readonly maxBytes: number; readonly flushDelayMs: number };
  readonly timeoutMs: number;
  readonly maxInFlight: number;
  readonly ordering: "relaxed" | "strict";
  readonly maxEventsPerSecond: number | null;
  readonly retry: {
    readonly maxAttempts: number;
    readonly baseMs: number;
    readonly factor: number;
    readonly maxMs: number;
    readonly jitter: "full" | "equal" | "proportional";
    readonly scheduleSeconds: readonly number[] | null;
    readonly countDestinationFaults: boolean;
  };
  readonly retryAfterMaxSeconds: number;
  readonly giveUpAfterSeconds: number;
  readonly circuitBreaker: { readonly openMs: number; readonly openMsMax: number };
}

/** The defaults of docs/SPEC.md. */
export const DELIVERY_DEFAULTS: DeliverySettings = {
  batch: { maxEvents: 50, maxBytes: 1_000_000, flushDelayMs: 2_000 },
  timeoutMs: 10_000,
  maxInFlight: 1,
  ordering: "relaxed",
  maxEventsPerSecond: null,
  retry: {
    maxAttempts: 15,
    baseMs: 5_000,
    factor: 2,
    maxMs: 21_600_000,
    jitter: "full",
    scheduleSeconds: null,
    countDestinationFaults: false,
  },
  retryAfterMaxSeconds: 43_200,
  giveUpAfterSeconds: 259_200,
  circuitBreaker: { openMs: 60_000, openMsMax: 900_000 },
};
