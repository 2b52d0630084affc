/**
 * What has to be told of an alert, and when [O9]: once when it is raised, once when it is cleared, the same alert raised
 * again after an hour at the earliest, five tries.
 */
import { PASSING_ALERTS } from "./alert-rules.ts";

/** A message on its way. */
export interface AlertMessage {
  readonly what: "raised" | "cleared";
  /** Channels that still have to hear it; null: all that are configured when it is sent. */
  readonly to: readonly string[] | null;
  readonly tries: number;
  /** null: given up. */
  readonly nextTryAtMs: number | null;
  /** Why the last try failed; "": it has not been tried. */
  readonly failure: string;
}

export interface Telling {
  /** When it was last told that it is up; outlives its end. */
  readonly toldAtMs: number | null;
  readonly message: AlertMessage | null;
}

const REPEAT_MS = 3_600_000;
const TRIES_MAX = 5;
/** The waits after the first, second, … failed try. */
const RETRY_DELAYS_MS = [30_000, 120_000, 600_000, 1_800_000];

export const UNTOLD: Telling = { toldAtMs: null, message: null };

/** It is raised, or raised anew by a larger figure. */
export function afterRaised({ toldAtMs }: Telling, nowMs: number): Telling {
  const nextTryAtMs = toldAtMs === null ? nowMs : Math.max(nowMs, toldAtMs + REPEAT_MS);
  return { toldAtMs, message: { what: "raised", to: null, tries: 0, nextTryAtMs, failure: "" } };
}

/** It is cleared: worth a word only to who was told that it was up, and not where it told of the past. */
export function afterCleared(telling: Telling, kind: string, raisedAtMs: number, nowMs: number): Telling {
  const { toldAtMs } = telling;
  const isPassing = PASSING_ALERTS.some((each) => each === kind);
  if (isPassing || toldAtMs === null || toldAtMs < raisedAtMs) return { toldAtMs, message: null };
  return { toldAtMs, message: { what: "cleared", to: null, tries: 0, nextTryAtMs: nowMs, failure: "" } };
}

/** A try begins: written before it, so that one that kills the object is counted too. */
export function afterTryBegan(telling: Telling, nowMs: number): Telling {
  const { message } = telling;
  if (message === null) return telling;
  const tries = message.tries + 1;
  const delayMs = RETRY_DELAYS_MS[tries - 1];
  const nextTryAtMs = delayMs === undefined || tries >= TRIES_MAX ? null : nowMs + delayMs;
  return { ...telling, message: { ...message, tries, nextTryAtMs } };
}

/** What came of a try: the channels that took it, and why the others did not. */
export interface TryResult {
  readonly took: readonly string[];
  readonly failed: ReadonlyMap<string, string>;
}

/** The try of `began` has ended; the alert may have been cleared, or raised again, meanwhile. */
export function afterTry(
  telling: Telling,
  began: AlertMessage,
  { took, failed }: TryResult,
  alert: { readonly kind: string; readonly clearedAtMs: number | null },
  nowMs: number,
): Telling {
  const { message } = telling;
  // Whoever took it was told that it is up, and is to hear of the end.
  const toldAtMs = began.what === "raised" && took.length > 0 ? nowMs : telling.toldAtMs;
  if (message !== null && message.what === began.what && message.tries === began.tries) {
    if (failed.size === 0) return { toldAtMs, message: null };
    const failure = [...failed].map(([channel, reason]) => `${channel}: ${reason}`).join("; ");
    return { toldAtMs, message: { ...message, to: [...failed.keys()], failure } };
  }
  if (began.what !== "raised" || took.length === 0) return telling;
  const told = { toldAtMs, message: null };
  return alert.clearedAtMs === null ? afterRaised(told, nowMs) : afterCleared(told, alert.kind, nowMs, nowMs);
}
