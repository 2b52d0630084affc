import { type LogLevel, type LogValue, logLine } from "./log-line.ts";

const QUIET_MS = 10_000;
const KINDS_MAX = 500;

interface Seen {
  quietUntilMs: number;
  heldBackCount: number;
}

/**
 * Log lines of which many of one kind may come, as under a flood of forgeries: of each kind one line in 10 s, with the
 * number of those held back since the last one.
 */
export class ThrottledLog {
  readonly #seen = new Map<string, Seen>();
  readonly #write: typeof logLine;

  constructor(write: typeof logLine = logLine) {
    this.#write = write;
  }

  /** `kind` says which lines count as the same; it is not printed. */
  line(kind: string, nowMs: number, level: LogLevel, event: string, fields: Readonly<Record<string, LogValue>>): void {
    const seen = this.#seen.get(kind);
    if (seen !== undefined && nowMs < seen.quietUntilMs) {
      seen.heldBackCount += 1;
      return;
    }
    const heldBackCount = seen?.heldBackCount ?? 0;
    this.#seen.delete(kind);
    this.#seen.set(kind, { quietUntilMs: nowMs + QUIET_MS, heldBackCount: 0 });
    if (this.#seen.size > KINDS_MAX) {
      const oldest = this.#seen.keys().next();
      if (!oldest.done) this.#seen.delete(oldest.value);
    }
    this.#write(level, event, heldBackCount > 0 ? { ...fields, heldBack: heldBackCount } : fields);
  }
}
