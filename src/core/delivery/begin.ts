import { invariant } from "../assert.ts";
import { recordSeqs, restOf } from "./crashed.ts";
import { halfOf } from "./isolation.ts";
import { type Flight, freshWindow, type Live, type PlannedEvent, rangeOf, type Waiting } from "./live.ts";
import { rangesOf } from "./ranges.ts";
import type { DeliveryRow, InFlightRecord, Lane } from "./row.ts";
import type { DeliverySettings } from "./settings.ts";

/** What the buffer has loaded for a planned request, and is about to send. */
export interface StartedRequest {
  /** Unlike any other id in this object's life. */
  readonly id: number;
  /** Derived from the destination, the ids and the job [V4]; for `resend` that of the plan. */
  readonly batchId: string;
  readonly lane: Lane;
  /** Of a stretch of the log: the plan's `fromSeq` … the last number looked at. Else the first and last event. */
  readonly fromSeq: number;
  readonly toSeq: number;
  /** At least one, in ascending order. */
  readonly events: readonly PlannedEvent[];
  /** Numbers in the stretch that the filter passed over; those that are in neither list are settled silently. */
  readonly passedOver: readonly number[];
}

/**
 * The request is about to leave. The row that comes back must be written before it does [V26] (in the same write as
 * the outcome before it, where there is one).
 */
export function begin(
  row: DeliveryRow,
  live: Live,
  started: StartedRequest,
  facts: { readonly nowMs: number; readonly settings: DeliverySettings },
): { row: DeliveryRow; live: Live } {
  const { events, lane } = started;
  const inLog = events.every((event) => event.aside === null);
  invariant(events.length > 0, "a request holds at least one event");
  invariant(inLog || events.every((event) => event.aside !== null), "a request never mixes fresh and set-aside events");
  if (inLog && (lane === "fresh" || lane === "probe")) {
    const window = freshWindow(row, live);
    invariant(started.fromSeq === window.fromSeq, "a fresh request begins at nextFreshSeq");
    invariant(window.toSeq === null || started.toSeq <= window.toSeq, "a fresh request ends within its window");
  }
  const isProbe = row.breaker.state !== "closed";
  const old = lane === "resend" ? row.inFlight.find((record) => isTakenFrom(record, started, inLog)) : undefined;
  const waiting = live.waiting.find((piece) => piece.mode === "whole" && piece.fromSeq === started.fromSeq && inLog);
  const half = halfOfStarted(live, started, inLog);
  const flight: Flight = {
    ...started,
    inLog,
    probe: isProbe,
    busies: waiting?.busies ?? half?.busies ?? 0,
    firstBusyAtMs: waiting?.firstBusyAtMs ?? half?.firstBusyAtMs ?? 0,
  };
  const record = recordOf(started, inLog, old?.crashes ?? 0);
  return {
    row: {
      ...row,
      inFlight: [
        ...row.inFlight.flatMap((other) =>
          other === old ? restOf(other, inLog ? started.toSeq : lastSeqOf(started)) : [other],
        ),
        record,
      ],
      breaker: probing(row, events),
    },
    live: {
      ...takeFromIsolation(live, started, waiting, inLog),
      flights: [...live.flights, flight],
      window: inLog && (lane === "fresh" || lane === "probe") ? [...live.window, rangeOf(started)] : live.window,
      asideTurn: inLog,
      ...pace(live, events.length, facts),
    },
  };
}

function lastSeqOf(started: StartedRequest): number {
  return started.events.at(-1)?.seq ?? started.toSeq;
}

function isTakenFrom(record: InFlightRecord, started: StartedRequest, inLog: boolean): boolean {
  const first = started.events[0]?.seq ?? 0;
  return record.state === "again" && record.inLog === inLog && recordSeqs(record).includes(first);
}

function recordOf(started: StartedRequest, inLog: boolean, crashes: number): InFlightRecord {
  const { batchId, lane, fromSeq, toSeq, events } = started;
  const ranges = rangesOf(events.map((event) => event.seq));
  const isWhole = ranges.length === 1 && ranges[0]?.[0] === fromSeq && ranges[0][1] === toSeq;
  return { batchId, lane, fromSeq, toSeq, inLog, seqs: isWhole ? null : ranges, crashes, state: "sent" };
}

function probing(row: DeliveryRow, events: readonly PlannedEvent[]): DeliveryRow["breaker"] {
  const { breaker } = row;
  const probedSeq = events[0]?.seq ?? null;
  if (breaker.state === "closed") return breaker;
  if (breaker.state === "half-open") return { ...breaker, probedSeq };
  return { state: "half-open", openForMs: breaker.openForMs, few: breaker.few, probedSeq, refusedSeqs: [] };
}

function halfOfStarted(live: Live, started: StartedRequest, inLog: boolean) {
  const side = inLog && started.lane === "isolation" ? halfOf(live.isolation, started) : null;
  return side !== null && live.isolation?.kind === "halves" ? live.isolation[side] : undefined;
}

/** Events that were erased meanwhile are in the piece no more. */
function takeFromIsolation(live: Live, started: StartedRequest, taken: Waiting | undefined, inLog: boolean): Live {
  const waiting = live.waiting.filter((piece) => piece !== taken);
  const side = inLog && started.lane === "isolation" ? halfOf(live.isolation, started) : null;
  if (side === null || live.isolation?.kind !== "halves") return { ...live, waiting };
  const half = { ...live.isolation[side], events: started.events, passedOver: started.passedOver };
  return { ...live, waiting, isolation: { ...live.isolation, [side]: half } };
}

function pace(
  live: Live,
  eventCount: number,
  facts: { readonly nowMs: number; readonly settings: DeliverySettings },
): Pick<Live, "paceUntilMs" | "paceSpanMs"> {
  const { maxEventsPerSecond } = facts.settings;
  if (maxEventsPerSecond === null) return { paceUntilMs: 0, paceSpanMs: 0 };
  const aheadMs = live.paceUntilMs - facts.nowMs;
  const owedMs = aheadMs > 0 && aheadMs <= live.paceSpanMs ? aheadMs : 0;
  const paceSpanMs = Math.ceil(owedMs + (eventCount * 1_000) / maxEventsPerSecond);
  return { paceUntilMs: facts.nowMs + paceSpanMs, paceSpanMs };
}
