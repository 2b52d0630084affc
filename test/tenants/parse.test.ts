import { expect, test } from "vitest";
import { DELIVERY_DEFAULTS } from "../../src/core/delivery/settings.ts";
import type { TenantConfig } from "../../src/tenants/config.ts";
import { parseConfig } from "../../src/tenants/parse.ts";
import { withRotatedSecret } from "../../src/tenants/secrets.ts";
import { context, minimal, NOW_MS, SIGNING_SECRET, withDestination, withValue } from "./sample.ts";

function configOf(input: unknown): TenantConfig {
  const parsed = parseConfig(input, context);
  if (parsed.kind === "problems") throw new Error(JSON.stringify(parsed.problems));
  return parsed.config;
}

function warningsOf(input: unknown): string {
  const parsed = parseConfig(input, context);
  if (parsed.kind === "problems") throw new Error(JSON.stringify(parsed.problems));
  return parsed.warnings.join("\n");
}

test("[O2] [V5] one source is enough: every default is filled in, and the destination is the default one", () => {
  const { input, ...config } = configOf(minimal);
  expect(input).toEqual(minimal);
  expect(config).toEqual({
    active: true,
    maxBodyBytes: 1_048_576,
    shards: 1,
    sources: {
      internal: {
        provider: "generic",
        secrets: [{ value: "0123456789abcdef0123456789abcdef", retiresAtMs: null }],
        toleranceSeconds: null,
        forwardHeaders: [],
        eventId: null,
        publicUrl: null,
        verifyToken: null,
        params: {},
        custom: null,
      },
    },
    rateLimit: { events: 100, windowSeconds: 10, action: "auto" },
    dedupeWindowSeconds: 345_600,
    contentDedupeSeconds: 600,
    retainSeconds: 259_200,
    retainBytes: 2_000_000_000,
    deadLetterTtlSeconds: 604_800,
    maxBacklogEvents: 1_000_000,
    maxBacklogBytes: 4_000_000_000,
    destinations: {
      origin: {
        kind: "http",
        url: null,
        bearerToken: null,
        signingSecrets: [],
        signature: "standard",
        format: "batch",
        filter: null,
        from: "now",
        queue: null,
        delivery: DELIVERY_DEFAULTS,
      },
    },
    alerts: null,
  });
});

test("[V5] an empty object of destinations means the default one, too; without ORIGIN_BASE_URL both are refused", () => {
  expect(Object.keys(configOf(withValue(minimal, "destinations", {})).destinations)).toEqual(["origin"]);
  const without = { ...context, origin: { baseUrl: null, token: null, signingSecret: null } };
  for (const input of [minimal, withValue(minimal, "destinations", {})]) {
    const parsed = parseConfig(input, without);
    expect(parsed).toMatchObject({ kind: "problems", problems: [{ path: "destinations" }] });
    expect(JSON.stringify(parsed)).toContain("ORIGIN_BASE_URL");
  }
  expect(parseConfig(withDestination, without).kind).toBe("config");
});

test("[V5] [V17] a default destination that may not be called is refused like any other", () => {
  const parsed = parseConfig(minimal, { ...context, origin: { ...context.origin, baseUrl: "https://10.0.0.1" } });
  expect(parsed).toMatchObject({ kind: "problems", problems: [{ path: "destinations" }] });
});

test("[D3] the window for duplicates is as long as the tenant's providers go on trying, at least 4 days", () => {
  const pay = { provider: "stripe", secrets: ["whsec_0123456789abcdef"] };
  expect(configOf(withValue(minimal, "sources.pay", pay)).dedupeWindowSeconds).toBe(345_600);
  expect(configOf(withValue(minimal, "dedupeWindowSeconds", 3_600)).dedupeWindowSeconds).toBe(3_600);
});

test("[I1] the sources keep the order of the input", () => {
  const source = minimal.sources.internal;
  const config = configOf({ sources: { zulu: source, alpha: source, mike: source } });
  expect(Object.keys(config.sources)).toEqual(["zulu", "alpha", "mike"]);
});

test("[O2] what a destination names goes over the defaults, the rest stays", () => {
  const config = configOf(
    withValue(withDestination, "destinations.api", {
      url: "https://api.example.org/hooks",
      batch: { maxEvents: 7 },
      retry: { baseMs: 100 },
      circuitBreaker: { openMs: 1_000_000 },
      timeoutMs: 1_000,
    }),
  );
  expect(config.destinations.api?.delivery).toEqual({
    ...DELIVERY_DEFAULTS,
    batch: { ...DELIVERY_DEFAULTS.batch, maxEvents: 7 },
    retry: { ...DELIVERY_DEFAULTS.retry, baseMs: 100 },
    // A longer openMs alone takes the longest time along.
    circuitBreaker: { openMs: 1_000_000, openMsMax: 1_000_000 },
    timeoutMs: 1_000,
  });
});

test("[I14] forwardHeaders are kept in lower case, each once", () => {
  const config = configOf(withValue(minimal, "sources.internal.forwardHeaders", ["X-Trace", "x-trace", "X-Other"]));
  expect(config.sources.internal?.forwardHeaders).toEqual(["x-trace", "x-other"]);
});

test("[I9] a secret may say when it retires; one whose time has come is left out", () => {
  const at = (ms: number) => new Date(NOW_MS + ms).toISOString();
  const config = configOf(
    withValue(minimal, "sources.internal.secrets", [
      "current-0123456789",
      { value: "old-0123456789abc", retiresAt: at(1_000) },
      { value: "older-0123456789a", retiresAt: at(0) },
    ]),
  );
  expect(config.sources.internal?.secrets).toEqual([
    { value: "current-0123456789", retiresAtMs: null },
    { value: "old-0123456789abc", retiresAtMs: NOW_MS + 1_000 },
  ]);
  expect(JSON.stringify(config.input)).not.toContain("older-");
});

test("[I9] [O14] a rotation puts the new secret first and retires the others, none later than it would have", () => {
  const base = withValue(minimal, "sources.internal.secrets", [
    "first-0123456789",
    { value: "second-0123456789", retiresAt: new Date(NOW_MS + 5_000).toISOString() },
  ]);
  const config = configOf(withRotatedSecret(base, "internal", "new-0123456789abc", NOW_MS + 60_000));
  expect(config.sources.internal?.secrets).toEqual([
    { value: "new-0123456789abc", retiresAtMs: null },
    { value: "first-0123456789", retiresAtMs: NOW_MS + 60_000 },
    { value: "second-0123456789", retiresAtMs: NOW_MS + 5_000 },
  ]);
});

test("[O2] what is allowed and dangerous is warned of", () => {
  expect(warningsOf(withDestination)).toBe("");
  expect(warningsOf(withValue(withDestination, "active", false))).toContain("404");
  expect(warningsOf(withValue(withDestination, "destinations.api.signingSecrets", []))).toContain("not signed");
  expect(warningsOf(withValue(withDestination, "destinations.api.signingSecrets", ["whsec_AAECAw=="]))).toContain(
    "destinations.api.signingSecrets.0",
  );
  expect(warningsOf(withValue(withDestination, "sources.internal.secrets", ["short"]))).toContain(
    "sources.internal.secrets.0",
  );
  expect(warningsOf(withValue(withDestination, "sources.internal.forwardHeaders", ["Cookie"]))).toContain("cookie");
  expect(warningsOf(withValue(withDestination, "dedupeWindowSeconds", 3_600))).toContain("dedupeWindowSeconds");
  const noSecret = { ...context, origin: { ...context.origin, signingSecret: null } };
  const parsed = parseConfig(minimal, noSecret);
  expect(parsed.kind === "config" && parsed.warnings.join()).toContain("destinations.origin.signingSecrets");
});

test("[O2] warnings and problems never repeat a secret", () => {
  const secret = "tiny-secret";
  const text = warningsOf(withValue(withDestination, "sources.internal.secrets", [secret]));
  expect(text).not.toContain(secret);
  const parsed = parseConfig(
    { sources: { a: { provider: "standard-webhooks", secrets: ["whsec_tiny-secret"] } }, x: SIGNING_SECRET },
    context,
  );
  expect(parsed.kind).toBe("problems");
  expect(JSON.stringify(parsed)).not.toContain("tiny-secret");
  expect(JSON.stringify(parsed)).not.toContain(SIGNING_SECRET);
});
