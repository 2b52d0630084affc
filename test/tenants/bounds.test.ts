import { expect, test } from "vitest";
import { parseConfig } from "../../src/tenants/parse.ts";
import { context, minimal, SIGNING_SECRET, withDestination, withValue } from "./sample.ts";

/** The paths that are named for an input, in order, without repeats. */
function pathsOf(input: unknown): string[] {
  const parsed = parseConfig(input, context);
  return parsed.kind === "problems" ? [...new Set(parsed.problems.map((problem) => problem.path))] : [];
}

/** Each number of the schema with the least and the greatest value it may have. */
const bounds: readonly (readonly [string, number, number])[] = [
  ["maxBodyBytes", 1_024, 26_214_400],
  ["rateLimit.events", 1, 100_000],
  ["rateLimit.windowSeconds", 1, 3_600],
  ["dedupeWindowSeconds", 3_600, 2_592_000],
  ["contentDedupeSeconds", 0, 86_400],
  ["retainSeconds", 0, 2_592_000],
  ["retainBytes", 0, 4_000_000_000],
  ["deadLetterTtlSeconds", 86_400, 2_592_000],
  ["maxBacklogEvents", 100, 10_000_000],
  ["maxBacklogBytes", 1_000_000, 6_000_000_000],
  ["sources.internal.toleranceSeconds", 1, 1_000_000_000],
  ["destinations.api.batch.maxEvents", 1, 1_000],
  ["destinations.api.batch.maxBytes", 1_000, 5_000_000],
  ["destinations.api.batch.flushDelayMs", 0, 60_000],
  ["destinations.api.timeoutMs", 1_000, 60_000],
  ["destinations.api.maxInFlight", 1, 5],
  ["destinations.api.retry.maxAttempts", 1, 50],
  ["destinations.api.retry.baseMs", 100, 3_600_000],
  ["destinations.api.retry.factor", 1.5, 4],
  ["destinations.api.retry.maxMs", 1_000, 43_200_000],
  ["destinations.api.retryAfterMaxSeconds", 1, 86_400],
  ["destinations.api.giveUpAfterSeconds", 3_600, 2_592_000],
  ["destinations.api.circuitBreaker.openMs", 100, 3_600_000],
];

test.each(bounds)("[O2] %s is taken from %d to %d, and refused outside by its path", (path, min, max) => {
  expect(pathsOf(withValue(withDestination, path, min))).toEqual([]);
  expect(pathsOf(withValue(withDestination, path, max))).toEqual([]);
  const step = path.endsWith("factor") ? 0.01 : 1;
  for (const outside of [min - step, max + step, -max, Number.MAX_SAFE_INTEGER, min + 0.3, "7", true, null, [], {}]) {
    if (path.endsWith("factor") && outside === min + 0.3) continue;
    if (outside === null && /(dedupeWindowSeconds|toleranceSeconds)$/.test(path)) continue;
    expect([outside, pathsOf(withValue(withDestination, path, outside))]).toEqual([outside, [path]]);
  }
});

/** Each value is refused, and the path that is named. */
const refused: readonly (readonly [string, string, unknown, string?])[] = [
  ["no sources", "sources", {}],
  ["sources missing", "sources", undefined],
  [
    "51 sources",
    "sources",
    Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`s${i}`, minimal.sources.internal])),
  ],
  ["a list of sources", "sources", []],
  ["a source id with a dot", "sources", { "a.b": minimal.sources.internal }, 'sources["a.b"]'],
  ["an empty source id", "sources", { "": minimal.sources.internal }, 'sources[""]'],
  ["a source id of 65", "sources", { ["x".repeat(65)]: minimal.sources.internal }, `sources.${"x".repeat(65)}`],
  ["a source called constructor", "sources", { constructor: minimal.sources.internal }, "sources.constructor"],
  ["a source called prototype", "sources", { prototype: minimal.sources.internal }, "sources.prototype"],
  ["an unknown provider", "sources.internal.provider", "nobody"],
  ["an inherited name as provider", "sources.internal.provider", "toString"],
  ["an empty provider", "sources.internal.provider", ""],
  ["no provider", "sources.internal.provider", undefined],
  ["no secrets", "sources.internal.secrets", []],
  ["secrets missing", "sources.internal.secrets", undefined],
  ["9 secrets", "sources.internal.secrets", Array.from({ length: 9 }, (_, i) => `0123456789abcdef-${i}`)],
  ["an empty secret", "sources.internal.secrets", [""], "sources.internal.secrets.0"],
  ["a secret with a line end", "sources.internal.secrets", ["0123456789abcdef\n"], "sources.internal.secrets.0"],
  ["a secret of white space", "sources.internal.secrets", ["   "], "sources.internal.secrets.0"],
  ["a number as secret", "sources.internal.secrets", [7], "sources.internal.secrets.0"],
  ["a masked secret", "sources.internal.secrets", [{ fingerprint: "00" }], "sources.internal.secrets.0"],
  [
    "a secret that retires at no time",
    "sources.internal.secrets",
    [{ value: "0123456789abcdef", retiresAt: "soon" }],
    "sources.internal.secrets.0.retiresAt",
  ],
  ["33 forwardHeaders", "sources.internal.forwardHeaders", Array.from({ length: 33 }, (_, i) => `x-${i}`)],
  ["a header name with a space", "sources.internal.forwardHeaders", ["x y"], "sources.internal.forwardHeaders.0"],
  ["an eventId of both kinds", "sources.internal.eventId", { header: "x-id", pointer: "/id" }],
  [
    "an eventId pointer that is none",
    "sources.internal.eventId",
    { pointer: "id" },
    "sources.internal.eventId.pointer",
  ],
  ["an unknown parameter", "sources.internal.params", { colour: "red" }, "sources.internal.params.colour"],
  ["a publicUrl that is none", "sources.internal.publicUrl", "hooks.example.com"],
  ["custom without the provider", "sources.internal.custom", { a: 1 }],
  ["a verify token that is the secret", "sources.internal.verifyToken", minimal.sources.internal.secrets[0]],
  ["an unknown field", "colour", "red"],
  ["an unknown field of a source", "sources.internal.colour", "red"],
  ["an unknown field of a destination", "destinations.api.colour", "red"],
  ["an unknown field of a batch", "destinations.api.batch", { colour: "red" }, "destinations.api.batch.colour"],
  ["an unknown action", "rateLimit.action", "drop"],
  ["an active that is text", "active", "yes"],
  [
    "17 destinations",
    "destinations",
    Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`d${i}`, { url: "https://api.example.org" }])),
  ],
  [
    "a destination id with a slash",
    "destinations",
    { "a/b": { url: "https://api.example.org" } },
    'destinations["a/b"]',
  ],
  ["a destination without a URL", "destinations.api.url", undefined],
  ["a token with a space", "destinations.api.bearerToken", "two words"],
  [
    "a signing secret that is not base64",
    "destinations.api.signingSecrets",
    ["whsec_?"],
    "destinations.api.signingSecrets.0",
  ],
  ["an empty signing secret", "destinations.api.signingSecrets", ["whsec_"], "destinations.api.signingSecrets.0"],
  ["9 signing secrets", "destinations.api.signingSecrets", Array.from({ length: 9 }, () => SIGNING_SECRET)],
  [
    "openMs over openMsMax",
    "destinations.api.circuitBreaker",
    { openMs: 2_000, openMsMax: 1_000 },
    "destinations.api.circuitBreaker.openMsMax",
  ],
  ["an unknown jitter", "destinations.api.retry.jitter", "some"],
  ["a queue's field on an http destination", "destinations.api.queue", "DELIVERY_QUEUE"],
];

for (const [what, path, value, named = path] of refused) {
  test(`[O2] ${what} is refused by its path`, () => {
    expect(pathsOf(withValue(withDestination, path, value))).toContain(named);
  });
}

test("[O2] retainBytes and maxBacklogBytes together stay under what an object can hold", () => {
  const both = withValue(withValue(minimal, "retainBytes", 4_000_000_001), "maxBacklogBytes", 4_000_000_000);
  expect(pathsOf(both)).toEqual(["retainBytes"]);
  expect(pathsOf(withValue(minimal, "maxBacklogBytes", 6_000_000_000))).toEqual([]);
});

test("[O2] __proto__ is refused wherever it stands", () => {
  expect(
    pathsOf(JSON.parse('{"sources":{"a":{"provider":"generic","secrets":["0123456789abcdef"]}},"__proto__":{}}')),
  ).toEqual(["__proto__"]);
  expect(
    pathsOf(JSON.parse('{"sources":{"__proto__":{"provider":"generic","secrets":["0123456789abcdef"]}}}')),
  ).toContain("sources.__proto__");
});

/** Spellings of addresses that are not public; parsed as the platform parses them. */
const unsafe = [
  "http://api.example.org/",
  "ftp://api.example.org/",
  "https://user:pass@api.example.org/",
  "https://localhost/",
  "https://127.0.0.1/",
  "https://2130706433/",
  "https://0x7f.1/",
  "https://169.254.169.254/latest/meta-data/",
  "https://10.0.0.1/",
  "https://[::1]/",
  "https://[::ffff:10.0.0.1]/",
  "https://hooks.example.com/webhook/acme",
  "https://hooks.example.com./webhook/acme",
  "//api.example.org",
  "not a url",
];

test.each(unsafe)("[V17] [O2] %s is no destination, and the URL is named by its path", (url) => {
  expect(pathsOf(withValue(withDestination, "destinations.api.url", url))).toEqual(["destinations.api.url"]);
});

test("[V17] ALLOW_INSECURE_DESTINATIONS lifts it for local runs", () => {
  const input = withValue(withDestination, "destinations.api.url", "http://127.0.0.1:8080/hook");
  expect(parseConfig(input, { ...context, allowInsecureDestinations: true }).kind).toBe("config");
});

test("[O2] every problem is named at once, those of form and those of meaning", () => {
  const input = {
    maxBodyBytes: 0,
    colour: "red",
    rateLimit: { events: 0 },
    sources: {
      "a b": { provider: "generic", secrets: [""] },
      pay: { provider: "stripe", secrets: ["whsec_0123456789abcdef"], toleranceSeconds: 0, zzz: 1 },
      odd: { provider: "nobody" },
    },
    destinations: { api: { url: "https://127.0.0.1/", maxInFlight: 9, format: "cloudevents" }, b: {} },
    jurisdiction: "moon",
  };
  expect(pathsOf(input)).toEqual([
    "colour",
    "destinations.api.maxInFlight",
    "destinations.api.url",
    "destinations.b.url",
    "jurisdiction",
    "maxBodyBytes",
    "rateLimit.events",
    "sources.odd.provider",
    "sources.pay.toleranceSeconds",
    "sources.pay.zzz",
    'sources["a b"]',
    'sources["a b"].secrets.0',
  ]);
});

test("[O13] (by construction) a jurisdiction is taken where the runtime keeps it, and refused by its path where it does not", () => {
  const input = withValue(withValue(withDestination, "jurisdiction", "eu"), "locationHint", "weur");
  const parsed = parseConfig(input, { ...context, hasJurisdiction: () => true });
  expect(parsed.kind === "config" && parsed.config.place).toEqual({ jurisdiction: "eu", locationHint: "weur" });
  const refused = parseConfig(input, { ...context, hasJurisdiction: () => false });
  expect(refused.kind === "problems" && refused.problems).toEqual([
    { path: "jurisdiction", message: expect.stringContaining("no jurisdictions") },
  ]);
  const anywhere = parseConfig(withDestination, { ...context, hasJurisdiction: () => false });
  expect(anywhere.kind === "config" && "place" in anywhere.config).toBe(false);
});

test("[O2] an unknown provider is told which one was meant, or where all of them are", () => {
  const messageOf = (provider: string): string | undefined => {
    const parsed = parseConfig(withValue(minimal, "sources.internal.provider", provider), context);
    return parsed.kind === "problems" ? parsed.problems[0]?.message : undefined;
  };
  expect(messageOf("shopfy")).toMatch(
    /^is not a known provider; did you mean shopify\? docs\/PROVIDERS\.md lists them/,
  );
  expect(messageOf("nobody")).toMatch(/^is not a known provider: docs\/PROVIDERS\.md lists them/);
});
