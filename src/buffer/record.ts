/** Writes what the machine decided: set-aside rows, dead letters, attempts, alerts, and the ledger of the destination. */
import type { AsideEvent, DeadEvent, Settlement } from "../core/delivery/machine.ts";
import type { Outcome } from "../core/delivery/outcome.ts";
import { newlyCovered, rangeSpan } from "../core/ledger.ts";
import { type Attempt, appendAttempt } from "../log/attempts.ts";
import type { Log } from "../log/log.ts";
import { diedNow } from "./died-now.ts";
import type { LoadedRequest } from "./load-request.ts";
import { asideChanged, counted, type Memory, settledAhead } from "./memory.ts";

/** What recording needs to know beside the decision. */
export interface Recording {
  readonly log: Log;
  readonly destination: string;
  readonly nowMs: number;
  readonly deadLetterTtlSeconds: number;
  /** It began with what was stored, so that events ahead may have been erased before it knew of them. */
  readonly mayMeetErased: boolean;
  /** The request whose outcome it is, and the attempt it was; null where the machine decided without one. */
  readonly request: LoadedRequest | null;
  readonly attempt: Attempt | null;
  /** A copied-out event that this destination is done with. */
  readonly released: number[];
}

/** Writes a settlement; answers the memory to believe once the transaction is committed. */
export function recordSettlement(before: Memory, settlement: Settlement, recording: Recording): Memory {
  const { log, destination, request, attempt, nowMs } = recording;
  const { row, live } = settlement;
  let memory: Memory = { ...before, row, live };
  if (request !== null && attempt !== null) {
    log.attempts.record(destination, request.started.fromSeq, request.started.toSeq, attempt);
  }
  for (const seq of settlement.delivered) memory = dropAside(memory, seq, recording);
  let fresh = settlement.delivered.filter((seq) => !hadRow(request, seq)).length;
  for (const event of settlement.setAside) {
    if (!hadRow(request, event.seq)) fresh += 1;
    memory = putAside(memory, event, recording);
  }
  for (const death of settlement.dead) {
    if (!hadRow(request, death.seq)) fresh += 1;
    memory = recordDeath(memory, death, recording);
  }
  memory = counted(memory, { delivered: settlement.delivered.length, filtered: settlement.filtered.length });
  // Numbers that the stretch covers and nobody names were settled before, one by one: erased, unreadable, given up by hand.
  const silent = spanOf(memory) - spanOf(before) - fresh - settlement.filtered.length;
  if (silent > 0) memory = passSilently(memory, silent, coveredBy(before, memory), recording);
  noteRefusals([...settlement.setAside, ...settlement.dead.map((death) => death.aside)], recording);
  for (const { kind, detail } of settlement.alerts.raise) log.alerts.raise(kind, destination, nowMs, detail);
  for (const kind of settlement.alerts.clear) log.alerts.clear(kind, destination, nowMs);
  return memory;
}

/** Refusals looked at for one answer: one that names many events names them for one reason, mostly. */
const REFUSALS_NOTED_MAX = 5;

/** The first event refused with a status that events of its type have not met yet is worth an alert [O9]. */
function noteRefusals(events: readonly AsideEvent[], recording: Recording): void {
  const { log, destination, nowMs, attempt } = recording;
  const refused = events.filter((event) => event.reason === "refused" && event.failures === 1);
  for (const { seq } of refused.slice(0, REFUSALS_NOTED_MAX)) {
    const meta = log.events.meta(seq);
    if (meta === null) continue;
    const type = meta.type ?? "";
    const answer = `${attempt?.status ?? "no status"} to an event of type ${type === "" ? "unknown" : type}`;
    const subject = `${attempt?.status ?? ""} ${type}`;
    log.alerts.raiseNew("event-refused", destination, nowMs, `answered ${answer} (${meta.eventId})`, subject);
  }
}

/**
 * Passes over `count` events of these stretches that nothing is to be sent of. Those that were erased before the
 * destination began (`from: "oldest"`) are met here for the first time.
 */
export function passSilently(
  memory: Memory,
  count: number,
  stretches: readonly (readonly [number, number])[],
  { log, destination }: Pick<Recording, "log" | "destination">,
): Memory {
  let erased = 0;
  for (const [first, last] of stretches) {
    for (const head of log.events.heads(first - 1, last - first + 1)) {
      if (!head.erased || head.seq > last || log.dead.find(destination, head.seq) !== null) continue;
      log.dead.mark(destination, head.seq, "erased");
      erased += 1;
    }
  }
  return counted(settledAhead(memory, erased - count), { erased });
}

function coveredBy(before: Memory, after: Memory): [number, number][] {
  const covered = ({ row }: Memory) => ({ position: row.position, ranges: row.settledRanges });
  return newlyCovered(covered(before), covered(after));
}

/** The attempt as its event's rows and the log keep it [X7]. */
export function attemptOf(outcome: Outcome, batchId: string, nowMs: number): Attempt {
  const isAccepted = outcome.kind === "accepted" && outcome.refusedIds.length === 0;
  return {
    atMs: Math.max(0, nowMs - outcome.durationMs),
    batchId,
    durationMs: Math.round(outcome.durationMs),
    status: outcome.status,
    outcome: outcome.cause === undefined ? outcome.kind : `${outcome.kind}:${outcome.cause}`,
    excerpt: isAccepted ? "" : outcome.excerpt,
  };
}

/** An event that is stored but cannot be read is a dead letter, and never stops the position [L7]. */
export function recordUnreadable(memory: Memory, seq: number, recording: Recording): Memory {
  const { log, destination, nowMs } = recording;
  const wasAside = recording.request?.asideRows.has(seq) ?? false;
  if (!wasAside && log.dead.find(destination, seq) !== null) return memory;
  log.dead.insert(destination, diedNow(seq, "unreadable", recording));
  log.alerts.raise("event-unreadable", destination, nowMs, `event ${seq} cannot be read from storage`);
  const left = wasAside ? dropAside(memory, seq, recording) : settledAhead(memory, 1);
  return counted(left, { dead: 1 });
}

function recordDeath(memory: Memory, death: DeadEvent, recording: Recording): Memory {
  const { log, destination } = recording;
  const history = { charged: death.aside.charged, attempts: attemptsWith(recording, death.seq) };
  log.dead.insert(destination, diedNow(death.seq, death.reason, recording, history));
  return counted(dropAside(memory, death.seq, recording), { dead: 1 });
}

function putAside(memory: Memory, event: AsideEvent, recording: Recording): Memory {
  const { log, destination, request } = recording;
  log.aside.put(destination, {
    seq: event.seq,
    dueAtMs: event.dueAtMs,
    event: JSON.stringify(event),
    attempts: attemptsWith(recording, event.seq),
  });
  if (hadRow(request, event.seq)) return memory;
  return asideChanged(memory, 1, bytesOf(log, event.seq));
}

function dropAside(memory: Memory, seq: number, recording: Recording): Memory {
  const { log, destination, request } = recording;
  if (!hadRow(request, seq)) return memory;
  log.aside.remove(destination, seq);
  recording.released.push(seq);
  return asideChanged(memory, -1, -bytesOf(log, seq));
}

function hadRow(request: LoadedRequest | null, seq: number): boolean {
  return request?.asideRows.has(seq) ?? false;
}

/** The attempts of an event, this one included; one that is judged when another's answer came has its own in the log. */
function attemptsWith(recording: Recording, seq: number): string {
  const { log, destination, request, attempt } = recording;
  const stored = request?.asideRows.get(seq)?.attempts ?? "";
  const wasSent = request?.started.events.some((event) => event.seq === seq) ?? false;
  if (attempt !== null && wasSent) return appendAttempt(stored, attempt);
  if (stored !== "") return stored;
  return log.attempts.of(destination, seq).reduce(appendAttempt, "");
}

function bytesOf(log: Log, seq: number): number {
  return log.events.head(seq)?.sizeBytes ?? 0;
}

function spanOf(memory: Memory): number {
  return memory.row.position + rangeSpan(memory.row.settledRanges);
}
