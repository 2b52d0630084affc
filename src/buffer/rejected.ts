/**
 * The tenant's recent rejections [O7], kept by its first object as the Worker's isolates report them. Memory holds them; a
 * report writes them when the last writing is a minute ago, so that forgeries cost at most one row a minute.
 */
import { type Rejection, withRejections } from "../core/rejections.ts";
import type { Log } from "../log/log.ts";

const WRITE_EVERY_MS = 60_000;
/** A report holds no more kinds than an isolate tells apart. */
const REPORTED_MAX = 20;
/** What nobody but the operator can mend: an alert says so [I7]. */
const OUR_FAULT = "source-unusable";

export class Rejected {
  readonly #log: Log;
  #list: readonly Rejection[] | null = null;
  #writtenAtMs = 0;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Counts what an isolate reports; answers how many requests failed their verification. */
  report(reported: readonly Rejection[], nowMs: number): number {
    const taken = reported.slice(0, REPORTED_MAX);
    this.#list = withRejections(this.#known(), taken);
    const unusable = taken.filter(({ reason }) => reason === OUR_FAULT);
    const forged = taken.filter(({ reason }) => reason !== OUR_FAULT);
    const count = forged.reduce((sum, each) => sum + each.count, 0);
    const { alerts, meter } = this.#log;
    meter.totals.rejected += count;
    const isNew = unusable.some(({ source }) => !alerts.isUp(OUR_FAULT, "", source ?? ""));
    if (isNew || Math.abs(nowMs - this.#writtenAtMs) >= WRITE_EVERY_MS) this.#write(unusable, nowMs);
    return count;
  }

  /** Newest first. */
  list(): readonly Rejection[] {
    return this.#known();
  }

  /** A new configuration may have mended what was unusable; what it has not mended is reported again. */
  reconfigured(nowMs: number): void {
    const { alerts } = this.#log;
    for (const { kind, subject } of alerts.up()) if (kind === OUR_FAULT) alerts.clear(OUR_FAULT, "", nowMs, subject);
  }

  #write(unusable: readonly Rejection[], nowMs: number): void {
    this.#writtenAtMs = nowMs;
    const { alerts, rejections } = this.#log;
    try {
      this.#log.transaction(() => {
        rejections.write(this.#known());
        for (const { source, explanation } of unusable) {
          alerts.raise(OUR_FAULT, "", nowMs, explanation, { subject: source ?? "" });
        }
      });
    } catch {
      // They stay in memory and come with a later writing.
    }
  }

  #known(): readonly Rejection[] {
    this.#list ??= this.#log.rejections.read();
    return this.#list;
  }
}
