import { inFile, type Mutant } from "../mutant.ts";

const deadLetters = inFile("src/log/dead-letters.ts");
const deadRanges = inFile("src/log/dead-ranges.ts");
const intake = inFile("src/buffer/intake.ts");
const ledger = inFile("src/core/ledger.ts");
const meter = inFile("src/log/meter.ts");
const rateLimit = inFile("src/core/rate-limit.ts");
const retention = inFile("src/buffer/retention.ts");
const roster = inFile("src/buffer/roster.ts");
const segments = inFile("src/core/segments.ts");
const logSegments = inFile("src/log/segments.ts");
const wake = inFile("src/buffer/wake.ts");

/** The tenant's object: its log, what it takes in, what it lets go. */
export const STORING_MUTANTS: readonly Mutant[] = [
  rateLimit("R1", "tokens: Math.max(0, refilled.tokens - 1)", "tokens: Math.max(0, refilled.tokens)"),
  rateLimit("R1", "tokens: Math.min(limit.events, bucket.tokens + gained)", "tokens: bucket.tokens + gained"),
  rateLimit("R2", "Math.ceil(waitSeconds + shareSeconds)", "Math.floor(waitSeconds + shareSeconds)"),
  rateLimit("R3", "export const ABSORB_FACTOR = 10;", "export const ABSORB_FACTOR = 11;"),
  segments("L1", "return referenceCount * 100 <= eventCount;", "return referenceCount * 10 <= eventCount;"),
  segments("L2", "    bytes -= segment.sizeBytes;\n", ""),
  segments("L2", "Math.max(BODY_SEGMENT_BYTES_MIN, retainBytes / 4)", "Math.max(BODY_SEGMENT_BYTES_MIN, retainBytes)"),
  logSegments("L3", 'if (kind === "body") this.#storeHighWater(meter);', ""),
  intake("L5", "if (group.length === 1) {", "if (group.length > 0) {"),
  intake("L7", "const receivedAtMs = Math.max(nowMs, segments.high.receivedAtMs);", "const receivedAtMs = nowMs;"),
  intake("D3", "known.receivedAtMs < seconds * 1000;", "known.receivedAtMs < seconds;"),
  intake(
    "D1",
    'call.trust === "content" ? this.#config.contentDedupeSeconds :',
    'call.trust === "content" ? this.#config.dedupeWindowSeconds :',
  ),
  intake(
    "D7",
    'call.trust === "signed" && !sameBytes(known.bodyDigest, digest)',
    'call.trust !== "unsigned" && !sameBytes(known.bodyDigest, digest)',
  ),
  deadLetters("D6", 'letter.state !== "purged" && letter.reason !== ERASED;', "letter.reason !== ERASED;"),
  roster("R4", "if (!isStopped || !isOtherOpen ||", "if (!isStopped ||"),
  deadRanges(
    "L6",
    "before.eventCount + range.eventCount <= RANGE_EVENTS_MAX",
    "before.eventCount + range.eventCount <= 1",
  ),
  ledger("X5", "markSeq - position - rangeSpan(ranges) + asideCount", "markSeq - position + asideCount"),
  meter("C1", "this.totals.rowsWritten += 1;", ""),
  retention(
    "X1",
    "this.#roster.count(destination, { dead: -eventCount, expired: eventCount });",
    "this.#roster.count(destination, { dead: -eventCount });",
  ),
  wake("V20", "const isMissing = armed === null || nowMs - armed > OVERDUE_MS;", "const isMissing = armed === null;"),
];
