import type { DeadLetter } from "../log/dead-letters.ts";

/** Of whatever gives an event up: the time, and how long the destination's dead letters are kept. */
interface Occasion {
  readonly nowMs: number;
  readonly deadLetterTtlSeconds: number;
}

/** What the event went through before; nothing is known of one that was not set aside. */
type History = Pick<DeadLetter, "charged" | "attempts">;
const NO_HISTORY: History = { charged: 0, attempts: "" };

/** The dead letter of an event that is given up now; it expires when its time to live is over [X1]. */
export function diedNow(seq: number, reason: string, occasion: Occasion, history = NO_HISTORY): DeadLetter {
  const { charged, attempts } = history;
  return { seq, ...deathNow(reason, occasion), charged, attempts };
}

/** What one dead letter and a range of them have in common. */
export function deathNow(reason: string, { nowMs, deadLetterTtlSeconds }: Occasion) {
  const expiresAtMs = nowMs + deadLetterTtlSeconds * 1000;
  return { state: "dead", reason, diedAtMs: nowMs, expiresAtMs } as const;
}
