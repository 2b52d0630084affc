import { freshWindow, type Live, type Piece } from "./live.ts";
import type { AsideEvent, DeliveryRow } from "./row.ts";
import type { DeliverySettings } from "./settings.ts";

/** What the buffer knows when it asks what to do next. */
export interface PlanFacts {
  readonly nowMs: number;
  readonly settings: DeliverySettings;
  /**
   * The events within `freshWindow(row, live)` that the filter lets pass, looked ahead up to `freshEventsMax` events or
   * `batch.maxBytes`, or null where there is none. `full`: one of these limits was reached.
   */
  readonly fresh: { readonly firstReceivedAtMs: number; readonly full: boolean } | null;
  /** The set-aside and redriven events that are due first and not in flight: at least 8, where there are as many. */
  readonly asideDue: readonly AsideEvent[];
  readonly otherDestinationsWaiting: boolean;
}

/** What to send. The buffer loads it, and calls `begin` with what it found. */
export type PlannedRequest =
  /** From `fromSeq` on, within the window; `probe`: one event, whatever the flush delay. */
  | {
      readonly lane: "fresh" | "probe";
      readonly takeMax: number;
      readonly fromSeq: number;
      readonly toSeq: number | null;
    }
  /** Exactly these events of the log. */
  | { readonly lane: "isolation"; readonly seqs: readonly number[]; readonly fromSeq: number; readonly toSeq: number }
  | { readonly lane: "aside"; readonly seq: number }
  /** As many of these as `batch.maxBytes` allows, from the first on. */
  | { readonly lane: "redrive"; readonly seqs: readonly number[] }
  /** What was in flight in a run that did not end. `batchId` null: its events are sent one by one now. */
  | {
      readonly lane: "resend";
      readonly seqs: readonly number[];
      readonly fromSeq: number;
      readonly toSeq: number;
      readonly inLog: boolean;
      readonly batchId: string | null;
      /** Nothing else of this object should be in flight beside it: it may be what kills it. */
      readonly exclusive: boolean;
    };

export type Plan =
  | { readonly kind: "send"; readonly request: PlannedRequest }
  /** Load that event (and what the filter passes over before it), and call `buryCrashed`. */
  | {
      readonly kind: "bury";
      readonly seq: number;
      readonly fromSeq: number;
      readonly toSeq: number;
      readonly inLog: boolean;
    }
  /** All that was received, or has waited, since before that instant dies: `giveUp` [V12]. */
  | { readonly kind: "give-up"; readonly waitingSinceMs: number }
  /** null: only an arrival, an outcome or an operator changes something. */
  | { readonly kind: "wait"; readonly untilMs: number | null };

export const WAIT: Plan = { kind: "wait", untilMs: null };

export function waitUntil(...instantsMs: readonly (number | null)[]): Plan {
  const known = instantsMs.filter((atMs) => atMs !== null);
  return known.length === 0 ? WAIT : { kind: "wait", untilMs: Math.min(...known) };
}

export function sendFresh(row: DeliveryRow, live: Live, lane: "fresh" | "probe", takeMax: number): Plan {
  return { kind: "send", request: { lane, takeMax, ...freshWindow(row, live) } };
}

export function sendPiece(piece: Piece): Plan {
  const seqs = piece.events.map((event) => event.seq);
  return { kind: "send", request: { lane: "isolation", seqs, fromSeq: piece.fromSeq, toSeq: piece.toSeq } };
}
