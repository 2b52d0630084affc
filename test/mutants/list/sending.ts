import { inFile, type Mutant } from "../mutant.ts";

const http = inFile("src/sinks/http.ts");
const request = inFile("src/sinks/request.ts");
const classify = inFile("src/sinks/classify.ts");
const signing = inFile("src/sinks/signing.ts");
const itemFailures = inFile("src/sinks/item-failures.ts");
const headerText = inFile("src/sinks/header-text.ts");
const batch = inFile("src/sinks/formats/batch.ts");
const single = inFile("src/sinks/formats/single.ts");
const retryAfter = inFile("src/core/retry-after.ts");
const destinationUrl = inFile("src/core/destination-url.ts");

/** What leaves for a destination, and what its answer means. */
export const SENDING_MUTANTS: readonly Mutant[] = [
  http("V8", 'redirect: "manual"', 'redirect: "follow"'),
  http("V8", "if (timer !== undefined) clearTimeout(timer);", ""),
  request("V17", "String(delivery.hops + 1)", "String(delivery.hops)"),
  classify("V6", "new Set([400, 409, 413, 414, 415, 422])", "new Set([400, 409, 413, 414, 415])"),
  classify("V6", "(status === 503 && retryAfterMs !== null)", "status === 503"),
  classify(
    "V7",
    "if (status !== 429 && status < 500) return null;",
    "if (status !== 429 && status !== 503) return null;",
  ),
  signing("V4", "content.set(body, head.length);", "content.set(body.subarray(1), head.length);"),
  signing(
    "V4",
    'Promise.all(secrets.map((secret) => hmacSha256(secret, "base64", content)))',
    'Promise.all(secrets.slice(0, 1).map((secret) => hmacSha256(secret, "base64", content)))',
  ),
  itemFailures("V23", "if (!Array.isArray(value)) return UNREADABLE;", "if (!Array.isArray(value)) return NONE;"),
  itemFailures("V23", "(inBatch.has(id) ? refused : unknown).add(id);", "refused.add(id);"),
  headerText("D8", "/[^A-Za-z0-9_:~-]/gu", "/[^A-Za-z0-9_:.~-]/gu"),
  batch("V2", "seq: String(event.seq)", "seq: event.seq"),
  single("V3", "proxy-.*|cf-.*|webhook-.*|spillway-.*", "proxy-.*|cf-.*|webhook-.*"),
  retryAfter("V7", "Math.max(waitMs, 1_000)", "Math.max(waitMs, 0)"),
  destinationUrl("V17", '  ["169.254.0.0", 16],\n', ""),
  destinationUrl("V17", "if (first >>> 13 !== 1) return false;", ""),
];
