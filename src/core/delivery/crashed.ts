import { longer } from "./breaker.ts";
import { finishDraft, type SettleFacts, type Settlement, settlePiece, startDraft } from "./draft.ts";
import { bury, historyOf } from "./judge.ts";
import { createLive, type Live, type Piece } from "./live.ts";
import { type Plan, WAIT } from "./planned.ts";
import { rangesOf, seqsOf } from "./ranges.ts";
import type { DeliveryRow, InFlightRecord } from "./row.ts";
import type { DeliverySettings } from "./settings.ts";

/** Unfinished runs in a row after which a batch is sent event by event, and an event alone is dead [V26]. */
const CRASHES_ALONE_MIN = 2;
const CRASHES_DEAD_MIN = 5;

/**
 * The object starts, or starts a run over: what memory held is made anew from the row. What was in flight is to be
 * sent again [V26]; a probe that was in flight counts as failed [V11]. Isolations begin anew from what is not settled.
 */
export function wakeUp(
  row: DeliveryRow,
  facts: { readonly nowMs: number; readonly random: number; readonly settings: DeliverySettings },
): { row: DeliveryRow; live: Live } {
  const wasProbing = row.breaker.state === "half-open" && row.inFlight.some((record) => record.state === "sent");
  const inFlight = row.inFlight.map(
    (record): InFlightRecord =>
      record.state === "again" ? record : { ...record, state: "again", crashes: record.crashes + 1 },
  );
  const woken: DeliveryRow = { ...row, inFlight };
  if (!wasProbing || row.breaker.state !== "half-open") return { row: woken, live: createLive(woken) };
  const { openMsMax } = facts.settings.circuitBreaker;
  const breaker = longer(row.breaker, row.breaker.few, facts.nowMs, openMsMax, facts.random);
  const reopened = { ...woken, breaker, results: [] };
  return { row: reopened, live: createLive(reopened) };
}

export function recordSeqs(record: InFlightRecord): number[] {
  return seqsOf(record.seqs ?? [[record.fromSeq, record.toSeq]]);
}

/** What is left to be sent again of a record, after `lastSeq`. */
export function restOf(record: InFlightRecord, lastSeq: number): InFlightRecord[] {
  if (lastSeq < record.fromSeq) return [record];
  const left = recordSeqs(record).filter((seq) => seq > lastSeq);
  const [first] = left;
  if (first === undefined) return [];
  // Other events, so another batch [V4].
  return [{ ...record, batchId: "", fromSeq: record.inLog ? lastSeq + 1 : first, seqs: rangesOf(left) }];
}

/** An event that was alone in flight in five unfinished runs. */
export function planBurial(row: DeliveryRow): Plan | null {
  const record = row.inFlight.find(isDeadly);
  if (record === undefined) return null;
  const { fromSeq, toSeq, inLog } = record;
  return { kind: "bury", seq: recordSeqs(record)[0] ?? toSeq, fromSeq, toSeq, inLog };
}

function isDeadly(record: InFlightRecord): boolean {
  return record.state === "again" && record.crashes >= CRASHES_DEAD_MIN && recordSeqs(record).length === 1;
}

/** What is to be sent again and may be now: in strict order only what comes next, or what is outside the order [V15]. */
function recordsAgain(row: DeliveryRow, settings: DeliverySettings): readonly InFlightRecord[] {
  const isNext = (record: InFlightRecord): boolean => !record.inLog || record.fromSeq <= row.position + 1;
  const again = row.inFlight.filter((record) => record.state === "again");
  return settings.ordering === "strict" ? again.filter(isNext) : again;
}

/** The request of an unfinished run that goes first: unchanged after one such run, event by event after two. */
export function planResend(row: DeliveryRow, live: Live, settings: DeliverySettings): Plan | null {
  if (isAloneInFlight(row)) return WAIT;
  const records = recordsAgain(row, settings);
  if (records.length === 0) return null;
  const unchanged = records.find((record) => record.crashes < CRASHES_ALONE_MIN);
  if (unchanged !== undefined) {
    return live.flights.length < settings.maxInFlight ? resend(unchanged, false) : WAIT;
  }
  return live.flights.length > 0 ? WAIT : planAlone(row, settings);
}

/** Nothing goes beside an event that may be what kills the object. */
function isAloneInFlight(row: DeliveryRow): boolean {
  return row.inFlight.some((record) => record.state === "sent" && record.crashes >= CRASHES_ALONE_MIN);
}

/**
 * One event of what is to be sent again: the one least suspected, so that its neighbours are delivered first; in strict
 * order, or where that would leave too many gaps in what is settled [V14], the first one.
 */
export function planAlone(row: DeliveryRow, settings: DeliverySettings): Plan | null {
  const inOrder = settings.ordering === "strict" || row.settledRanges.length > settings.maxInFlight;
  const [record] = [...recordsAgain(row, settings)].sort(
    (a, b) => (inOrder ? 0 : a.crashes - b.crashes) || a.fromSeq - b.fromSeq,
  );
  return record === undefined ? null : resend(record, true);
}

function resend(record: InFlightRecord, isAlone: boolean): Plan {
  const { inLog, fromSeq } = record;
  const all = recordSeqs(record);
  const isWhole = !isAlone || all.length === 1;
  const seqs = isWhole ? all : all.slice(0, 1);
  const toSeq = isWhole ? record.toSeq : (seqs[0] ?? record.toSeq);
  const isUnchanged = isWhole && record.batchId !== "" && record.crashes < CRASHES_ALONE_MIN;
  const batchId = isUnchanged ? record.batchId : null;
  const exclusive = record.crashes >= CRASHES_ALONE_MIN;
  return { kind: "send", request: { lane: "resend", seqs, fromSeq, toSeq, inLog, batchId, exclusive } };
}

/** The event of a `bury` plan becomes a dead letter, reason `crash`. `piece` holds it and what was passed over. */
export function buryCrashed(row: DeliveryRow, live: Live, piece: Piece, facts: SettleFacts): Settlement {
  const draft = startDraft(row, live, facts);
  const [event] = piece.events;
  const isOfPiece = (record: InFlightRecord): boolean => isDeadly(record) && record.toSeq === piece.toSeq;
  draft.row = { ...draft.row, inFlight: draft.row.inFlight.filter((record) => !isOfPiece(record)) };
  if (event !== undefined) bury(draft, piece, event, historyOf(draft, event), "crash");
  else settlePiece(draft, piece);
  return finishDraft(draft);
}
