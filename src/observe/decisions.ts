/**
 * What Spillway decided, for people and for charts [O8]: one JSON line of the log per decision, sampled, and a data point
 * of Analytics Engine for each where one is bound.
 */
import { logLine } from "./log-line.ts";
import { ThrottledLog } from "./throttled-log.ts";

export interface Decision {
  /** `webhook`: what a sender was told. `delivery`: what came of a request. `alert`: one was raised or cleared. */
  readonly about: "webhook" | "delivery" | "alert";
  readonly tenant: string;
  /** The source of a webhook, the destination of a delivery or an alert; "" where it is not known. */
  readonly at: string;
  readonly outcome: string;
  /** As it should be: of these a share is logged. Of the others the first of a kind in 10 s. */
  readonly isRoutine: boolean;
  /** Events it was about. */
  readonly events: number;
  readonly status?: number | null;
  readonly durationMs?: number;
}

/** The part of an Analytics Engine data set that this needs. */
export interface DataPoints {
  writeDataPoint(point: { indexes: string[]; blobs: string[]; doubles: number[] }): void;
}

/** One in so many routine decisions is logged. */
const SAMPLE_EVERY = 100;

/** Counts for all objects of an isolate together: most of them live too short a time to count for themselves. */
const ofIsolate = { routineCount: 0 };

export class Decisions {
  readonly #points: DataPoints | null;
  readonly #write: typeof logLine;
  readonly #throttled: ThrottledLog;
  readonly #counted: { routineCount: number };

  constructor(points: DataPoints | null, write: typeof logLine = logLine, counted = ofIsolate) {
    this.#points = points;
    this.#counted = counted;
    this.#write = write;
    this.#throttled = new ThrottledLog(write);
  }

  /** Never throws: what is observed must not suffer from it. */
  note(decision: Decision, nowMs: number): void {
    this.count(decision);
    const { about, tenant, at, outcome, events, status, durationMs } = decision;
    const place = about === "webhook" ? { source: at } : { destination: at };
    const fields = { tenant, ...place, outcome, events, status, durationMs };
    if (!decision.isRoutine) {
      this.#throttled.line(`${about} ${tenant} ${at} ${outcome}`, nowMs, "warn", about, fields);
      return;
    }
    this.#counted.routineCount += 1;
    if (this.#counted.routineCount % SAMPLE_EVERY === 1) {
      this.#write("info", about, { ...fields, sampledOneIn: SAMPLE_EVERY });
    }
  }

  /** The data point alone, where the log says it in its own words. */
  count({ about, tenant, at, outcome, events, status, durationMs }: Decision): void {
    try {
      this.#points?.writeDataPoint({
        indexes: [tenant],
        blobs: [about, at, outcome],
        doubles: [events, durationMs ?? 0, status ?? 0],
      });
    } catch {
      // A data set that takes no more points in this invocation is no reason to fail.
    }
  }
}
