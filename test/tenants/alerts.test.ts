import { expect, test } from "vitest";
import { maskConfig } from "../../src/tenants/mask.ts";
import { parseConfig } from "../../src/tenants/parse.ts";
import { context, SIGNING_SECRET, withDestination, withValue } from "./sample.ts";

const WEBHOOK = { webhookUrl: "https://alerts.example.org/in", signingSecrets: [SIGNING_SECRET] };

function parsed(alerts: unknown, more: Readonly<Record<string, unknown>> = {}) {
  const input = Object.entries(more).reduce(
    (base, [path, value]) => withValue(base, path, value),
    withDestination as unknown,
  );
  return parseConfig(withValue(input, "alerts", alerts), context);
}

function pathsOf(result: ReturnType<typeof parsed>): string[] {
  return result.kind === "problems" ? result.problems.map((problem) => problem.path) : [];
}

test("[O9] [O2] alerts are taken with every default filled in, and a host for links", () => {
  const result = parsed(WEBHOOK);
  expect(result).toMatchObject({ kind: "config", warnings: [] });
  expect(result.kind === "config" && result.config.alerts).toEqual({
    ...WEBHOOK,
    format: "webhook",
    email: null,
    silentSourceSeconds: null,
    linkHost: "hooks.example.com",
  });
  const full = { ...WEBHOOK, email: { from: "a@example.com", to: "b@example.com" }, silentSourceSeconds: 300 };
  expect(parsed(full)).toMatchObject({ kind: "config", warnings: [], config: { alerts: full } });
});

const refused: readonly (readonly [string, unknown, Readonly<Record<string, unknown>>])[] = [
  ["alerts.webhookUrl", { webhookUrl: "https://10.0.0.1/" }, {}],
  ["alerts.webhookUrl", { webhookUrl: "https://hooks.example.com/webhook/acme" }, {}],
  ["alerts.format", { ...WEBHOOK, format: "teams" }, {}],
  ["alerts.signingSecrets.0", { ...WEBHOOK, signingSecrets: ["not base64!"] }, {}],
  ["alerts.signingSecrets", { ...WEBHOOK, format: "slack" }, {}],
  ["alerts.email.to", { email: { from: "a@example.com", to: "b@example.com, c@example.com" } }, {}],
  ["alerts.email.from", { email: { from: "a@example.com\r\nBcc: x@example.com", to: "b@example.com" } }, {}],
  ["alerts.email.to", { email: { from: "a@example.com" } }, {}],
  ["alerts.silentSourceSeconds", { ...WEBHOOK, silentSourceSeconds: 299 }, {}],
  ["alerts.silentSourceSeconds", { ...WEBHOOK, silentSourceSeconds: 2_592_001 }, {}],
  ["alerts.silentSourceSeconds", { ...WEBHOOK, silentSourceSeconds: 3_600 }, { shards: 2 }],
  ["alerts.chat", { chat: "yes" }, {}],
];

test.each(refused)("[O9] [O2] [V17] %s is named for %j", (path, alerts, more) => {
  expect(pathsOf(parsed(alerts, more))).toEqual([path]);
});

test("[O9] [O2] what cannot be heard, or trusted, is worth a word", () => {
  expect(parsed({})).toMatchObject({ warnings: [expect.stringContaining("nobody is told")] });
  expect(parsed({ webhookUrl: WEBHOOK.webhookUrl })).toMatchObject({
    warnings: [expect.stringContaining("not signed")],
  });
  expect(parsed({ webhookUrl: WEBHOOK.webhookUrl, format: "slack" })).toMatchObject({ warnings: [] });
});

test("[O3] the address and the secrets of alerts are shown as fingerprints only", async () => {
  const result = parsed(WEBHOOK);
  if (result.kind !== "config") throw new Error("refused");
  const keys = { current: new Uint8Array(32), previous: null };
  const text = JSON.stringify((await maskConfig(result.config, "acme", keys, context.origin)).alerts);
  expect(text).not.toContain("alerts.example.org");
  expect(text).not.toContain(SIGNING_SECRET);
  expect(text.match(/"fingerprint"/g)).toHaveLength(2);
});
