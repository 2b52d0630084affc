/**
 * Delivery as one pure state machine: given a destination's row, what is due, the time and a random number it says what
 * to send next; given an outcome it says what becomes of each event and of the row.
 *
 * How it is driven, per destination:
 *
 * 1. When the object starts: `wakeUp(row, …)`, then write the row (one destination after another; no request yet).
 * 2. Look at the log within `freshWindow(row, live)`, up to `freshEventsMax` events or `batch.maxBytes`. Where the filter
 *    lets nothing pass in what was looked at: `passOver` that stretch, write, look further. At most a bounded number of
 *    numbers in one turn.
 * 3. `plan(row, live, facts)`:
 *    - `send`: load what the plan names, take as many as `batch.maxBytes` allows (fresh, probe, redrive), make the batch id,
 *      `begin`, write the row, send without waiting for the outcome, and go back to 2: there may be room for another.
 *      If nothing of what was planned is left: `passOver` (fresh, isolation, resend of the log), `forgetResend`, or delete the rows.
 *    - `bury`: `buryCrashed`, write. `give-up`: record `unsettledRanges` up to the last event that old as dead ranges,
 *      the set-aside events that old as dead letters, `giveUp`, write.
 *    - `wait`: until then, or until an arrival, an outcome or an operator's act.
 * 4. When an outcome arrives: `settle`, and write all of the settlement in one transaction: row, ledger, set-aside rows,
 *    dead letters, alerts. Then 2. The write of the next `begin` may be the same one.
 *
 * Rows are replaced, never changed in place. After a failed write take row and live as they were before the call.
 * If memory and row may differ (a run that was cut off), call `wakeUp` on the row that is stored.
 */
export { retryDelayMs } from "./backoff.ts";
export { freshEventsMax } from "./batch-size.ts";
export { begin, type StartedRequest } from "./begin.ts";
export { buryCrashed, wakeUp } from "./crashed.ts";
export type { AlertKind, DeadEvent, DeathReason, RaisedAlert, SettleFacts, Settlement } from "./draft.ts";
export { firstUntouchedSeq, freshWindow, type Live, nextFreshSeq, type Piece, type PlannedEvent } from "./live.ts";
export {
  disable,
  drainNow,
  enable,
  forgetIsolation,
  forgetResend,
  giveUp,
  passOver,
  pause,
  remove,
  resume,
  unsettledRanges,
} from "./operator.ts";
export { plan } from "./plan.ts";
export type { Plan, PlanFacts, PlannedRequest } from "./planned.ts";
export type { Range } from "./ranges.ts";
export { type AsideEvent, createRow, type DeliveryRow, type DestinationState, type Lane, stateOf } from "./row.ts";
export { settle } from "./settle.ts";
