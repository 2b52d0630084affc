import { inFile, type Mutant } from "../mutant.ts";

const backoff = inFile("src/core/delivery/backoff.ts");
const breaker = inFile("src/core/delivery/breaker.ts");
const guilt = inFile("src/core/delivery/guilt.ts");
const hold = inFile("src/core/delivery/hold.ts");
const isolation = inFile("src/core/delivery/isolation.ts");
const judge = inFile("src/core/delivery/judge.ts");
const operator = inFile("src/core/delivery/operator.ts");
const plan = inFile("src/core/delivery/plan.ts");
const ranges = inFile("src/core/delivery/ranges.ts");
const settleFailed = inFile("src/core/delivery/settle-failed.ts");
const typePattern = inFile("src/core/type-pattern.ts");

/** The state machine of delivery. */
export const DELIVERY_MUTANTS: readonly Mutant[] = [
  backoff("V10", "retry.factor ** (failures - 1)", "retry.factor ** failures"),
  backoff("V10", "const DELAY_MS_MIN = 1_000;", "const DELAY_MS_MIN = 0;"),
  breaker("V11", "const STREAK_COUNT_MIN = 5;", "const STREAK_COUNT_MIN = 6;"),
  breaker("V11", "const FAILED_RESULTS_MIN = 18;", "const FAILED_RESULTS_MIN = 20;"),
  breaker("V11", "breaker.openForMs * 2", "breaker.openForMs"),
  breaker("V13", 'breaker: { state: "closed" }, batchSize: 1 }', 'breaker: { state: "closed" } }'),
  isolation("V13", "Math.max(1, Math.floor(eventCount / 2))", "Math.max(1, eventCount)"),
  isolation("V9", "if (later.answer !== null) return first;", "if (first.answer === null) return first;"),
  isolation("V9", "else if (hasAccepted) draft.live", "else if (!hasAccepted) draft.live"),
  isolation(
    "V24",
    "return isolation.rest.toSeq === piece.toSeq && isolation.rest.fromSeq <= piece.fromSeq;",
    "return true;",
  ),
  operator("X6", "isOfStretch ? restOf(record, stretch.toSeq) : [record]", "isOfStretch ? [record] : [record]"),
  plan("V13", "if (live.flights.some((flight) => !flight.inLog)) return WAIT;", ""),
  guilt("V22", "acceptedWeight >= 9 * failedWeight", "acceptedWeight >= 8 * failedWeight"),
  guilt("V22", "result.atMs <= event.firstFailureAtMs || result.seq === event.seq", "result.seq === event.seq"),
  hold("V7", "HOLD_MS_MIN * 2 ** Math.min(count, 20)", "HOLD_MS_MIN"),
  hold("V7", "const HOLD_MS_FIRST_MAX = 60_000;", "const HOLD_MS_FIRST_MAX = 600_000;"),
  judge("V12", "settings.giveUpAfterSeconds * 1_000", "settings.giveUpAfterSeconds"),
  judge("V10", "after.charged >= attemptCountMax(settings.retry)", "after.charged > attemptCountMax(settings.retry)"),
  ranges(
    "V14",
    "if (last !== undefined && from <= last[1] + 1) last[1]",
    "if (last !== undefined && from <= last[1] + 2) last[1]",
  ),
  settleFailed("V24", "if (gone === null || gone.seq === event.seq) {", "if (gone === null) {"),
  typePattern("V16", "type.startsWith(pattern.slice(0, -1))", "type.startsWith(pattern)"),
];
