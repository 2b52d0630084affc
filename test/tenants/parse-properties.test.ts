import fc from "fast-check";
import { expect, test } from "vitest";
import { mergePatch } from "../../src/tenants/merge-patch.ts";
import { parseConfig } from "../../src/tenants/parse.ts";
import { context, withDestination, withValue } from "./sample.ts";

const PATHS = [
  "active",
  "maxBodyBytes",
  "shards",
  "sources",
  "sources.internal",
  "sources.internal.provider",
  "sources.internal.secrets",
  "sources.internal.eventId",
  "sources.internal.params",
  "sources.internal.custom",
  "rateLimit",
  "dedupeWindowSeconds",
  "destinations",
  "destinations.api",
  "destinations.api.url",
  "destinations.api.signingSecrets",
  "destinations.api.filter",
  "destinations.api.retry",
  "destinations.api.circuitBreaker",
  "alerts",
];

function isWellNamed(input: unknown): boolean {
  const parsed = parseConfig(input, context);
  if (parsed.kind === "config") return true;
  return (
    parsed.problems.length > 0 &&
    parsed.problems.every((problem) => typeof problem.path === "string" && problem.message.length > 5)
  );
}

test("[O2] any JSON at all is judged without an exception, and every problem has a path", () => {
  fc.assert(fc.property(fc.jsonValue({ maxDepth: 6 }), isWellNamed), { numRuns: 500 });
});

test("[O2] a good configuration with any JSON put anywhere in it is judged without an exception", () => {
  fc.assert(
    fc.property(fc.constantFrom(...PATHS), fc.jsonValue({ maxDepth: 3 }), (path, value) =>
      isWellNamed(withValue(withDestination, path, value)),
    ),
    { numRuns: 1_000 },
  );
});

test("[O2] a patch of any JSON is merged and judged without an exception, and leaves no prototype behind", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (patch) => {
      const merged = mergePatch(withDestination, patch);
      return isWellNamed(merged) && !("polluted" in {});
    }),
    { numRuns: 500 },
  );
});

test("[O2] an input nested thousands deep is refused, not a stack that overflows", () => {
  const deep = JSON.parse(`${"[".repeat(50_000)}${"]".repeat(50_000)}`);
  expect(parseConfig(deep, context)).toMatchObject({ kind: "problems" });
  expect(parseConfig({ sources: deep }, context)).toMatchObject({ kind: "problems" });
});

test("[O2] what is accepted is accepted again: the kept input gives the same configuration", () => {
  const once = parseConfig(withDestination, context);
  if (once.kind !== "config") throw new Error("the sample is good");
  expect(parseConfig(once.config.input, context)).toEqual(once);
});
