import { spreadMs } from "./backoff.ts";
import { asideCountAfter, type Draft, draw, isStrict } from "./draft.ts";
import { heldPieces, type PlannedEvent } from "./live.ts";
import { isSettled } from "./ranges.ts";
import { ASIDE_COUNT_MAX, type Breaker, NO_STREAK } from "./row.ts";

const STREAK_COUNT_MIN = 5;
/** From so many different events on it is the destination's fault for certain, and an arrival is no longer a probe. */
const DIFFERENT_EVENTS_MIN = 10;
const FAILED_RESULTS_MIN = 18;
const REFUSED_PROBES_MAX = 3;

/** A request with these events did not succeed, and that may be the destination's fault [V11]. */
export function countAgainst(draft: Draft, events: readonly PlannedEvent[]): void {
  const { streak } = draft.row;
  draft.row = { ...draft.row, streak: { ...streak, count: streak.count + 1, seqs: addSeqs(streak.seqs, events) } };
}

function addSeqs(seqs: readonly number[], events: readonly PlannedEvent[]): readonly number[] {
  const all = new Set(seqs);
  for (const { seq } of events) if (all.size < DIFFERENT_EVENTS_MIN) all.add(seq);
  return [...all];
}

/** Why the breaker has to open now, or null. */
export function reasonToOpen(
  draft: Draft,
): { few: readonly number[] | null; detail: string; tooManyAside?: boolean } | null {
  if (draft.row.breaker.state !== "closed") return null;
  if (draft.asideDelta > 0 && asideCountAfter(draft) > ASIDE_COUNT_MAX) {
    return { few: null, detail: `more than ${ASIDE_COUNT_MAX} events are set aside`, tooManyAside: true };
  }
  const { count, seqs } = draft.row.streak;
  if (count >= STREAK_COUNT_MIN) {
    if (seqs.length >= DIFFERENT_EVENTS_MIN || isStrict(draft)) {
      return { few: null, detail: `${count} requests in a row did not succeed` };
    }
    if (isAllThatWaits(draft, seqs)) {
      return { few: seqs, detail: `${count} requests in a row did not succeed, with all events that wait` };
    }
  }
  const failedCount = draft.row.results.filter((result) => result.against).length;
  if (failedCount >= FAILED_RESULTS_MIN) {
    return { few: null, detail: `${failedCount} of the last ${draft.row.results.length} requests did not succeed` };
  }
  return null;
}

/** Settled numbers of the streak are set-aside events, or dead ones: a delivered one would have ended it. */
function isAllThatWaits(draft: Draft, seqs: readonly number[]): boolean {
  const { row, live } = draft;
  if (draft.facts.freshWaiting || live.flights.length > 0) return false;
  const settledCount = seqs.filter((seq) => isSettled(row.position, row.settledRanges, seq)).length;
  if (asideCountAfter(draft) > settledCount - row.streak.deadCount) return false;
  const known = new Set(seqs);
  return heldPieces(live).every((piece) => piece.events.every((event) => known.has(event.seq)));
}

/** Nothing is sent any more for `openMs`, and the results are forgotten. */
export function openBreaker(draft: Draft, few: readonly number[] | null, detail: string): void {
  const { nowMs, settings } = draft.facts;
  const openForMs = settings.circuitBreaker.openMs;
  draft.row = {
    ...draft.row,
    breaker: { state: "open", untilMs: nowMs + spreadMs(openForMs, draw(draft)), openForMs, few, probedSeq: null },
    results: [],
    streak: NO_STREAK,
  };
  draft.raise.push({ kind: "breaker-open", detail });
}

/** A probe did not succeed: open again, twice as long. */
export function reopenBreaker(draft: Draft, events: readonly PlannedEvent[]): void {
  const { breaker } = draft.row;
  if (breaker.state === "closed") return;
  const few = addFew(breaker.few, events);
  if (breaker.state === "open") {
    draft.row = { ...draft.row, breaker: { ...breaker, few } };
    return;
  }
  const { nowMs, settings } = draft.facts;
  draft.row = {
    ...draft.row,
    breaker: longer(breaker, few, nowMs, settings.circuitBreaker.openMsMax, draw(draft)),
    results: [],
  };
}

/** The next state of a half-open breaker whose probe came to nothing. */
export function longer(
  breaker: Breaker & { state: "half-open" },
  few: readonly number[] | null,
  nowMs: number,
  openMsMax: number,
  random: number,
): Breaker {
  const openForMs = Math.min(breaker.openForMs * 2, openMsMax);
  return { state: "open", untilMs: nowMs + spreadMs(openForMs, random), openForMs, few, probedSeq: breaker.probedSeq };
}

function addFew(few: readonly number[] | null, events: readonly PlannedEvent[]): readonly number[] | null {
  if (few === null) return null;
  const all = addSeqs(few, events);
  return all.length >= DIFFERENT_EVENTS_MIN ? null : all;
}

/** A refused probe: the next event decides at once, until three different ones were refused [V11]. */
export function countRefusedProbe(draft: Draft, events: readonly PlannedEvent[]): void {
  const { breaker } = draft.row;
  if (breaker.state !== "half-open") {
    reopenBreaker(draft, events);
    return;
  }
  const refusedSeqs = [...new Set([...breaker.refusedSeqs, ...events.map((event) => event.seq)])];
  draft.row = { ...draft.row, breaker: { ...breaker, refusedSeqs, few: addFew(breaker.few, events) } };
  const hasAnother = draft.facts.freshWaiting || asideCountAfter(draft) > refusedSeqs.length;
  if (refusedSeqs.length >= REFUSED_PROBES_MAX || !hasAnother || isStrict(draft)) reopenBreaker(draft, events);
}

/** A probe was accepted: closed, and the batch size begins at 1 [V13]. */
export function closeBreaker(draft: Draft): void {
  draft.row = { ...draft.row, breaker: { state: "closed" }, batchSize: 1 };
  draft.clear.push("breaker-open", "aside-full");
}
