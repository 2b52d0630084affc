import { Webhook } from "standardwebhooks";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type AlertAddresses, type Channel, channelsOf } from "../../src/alerts/channel.ts";
import type { EmailBinding } from "../../src/alerts/email.ts";
import { plain } from "../../src/core/alert-text.ts";
import { type Answer, Origin, status } from "../flow/origin.ts";
import { NOW_MS, news } from "./news.ts";

const SECRET = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
const URL_ = "https://alerts.example.com/in";
const POLICY = { allowInsecure: false, ownHosts: ["hooks.example.com"] };
const NOBODY: AlertAddresses = { webhookUrl: null, format: "webhook", signingSecrets: [], email: null };

let origin: Origin;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: NOW_MS });
  origin = new Origin();
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

function channel(addresses: Partial<AlertAddresses>, mail: EmailBinding | null = null): Channel {
  const [first] = channelsOf({ ...NOBODY, ...addresses }, { policy: POLICY, mail });
  if (first === undefined) throw new Error("no channel");
  return first;
}

function sent(): { text: string; headers: Record<string, string>; json: Record<string, unknown> } {
  const [request] = origin.requests;
  if (request === undefined) throw new Error("nothing was sent");
  const text = new TextDecoder().decode(request.body);
  return { text, headers: Object.fromEntries(request.headers), json: JSON.parse(text) as Record<string, unknown> };
}

/** Every channel that posts somewhere, and what it is named. */
const posting = [
  ["webhook", { webhookUrl: URL_, signingSecrets: [SECRET] }],
  ["slack", { webhookUrl: URL_, format: "slack" }],
] as const;

describe.each(posting)("[O9] %s", (name, addresses) => {
  test("[O9] names tenant and destination, what happened, since when, how much waits, and a link", async () => {
    expect(await channel(addresses).tell(news(), NOW_MS)).toBe("");
    const { text } = sent();
    for (const part of [
      "acme / origin",
      "deliveries are suspended",
      "5 requests in a row did not succeed",
      "Since: 2026-11-29T11:59:00.000Z",
      "Waiting: 120 events",
      "https://hooks.example.com/admin/tenants/acme/stats",
    ]) {
      expect(text).toContain(part);
    }
    expect(channel(addresses).name).toBe(name);
  });

  test("[O9] says that it is over, and when", async () => {
    await channel(addresses).tell(news({ what: "cleared", clearedAtMs: NOW_MS }), NOW_MS);
    const { text } = sent();
    expect(text).toContain("over: ");
    expect(text).toContain("Until: 2026-11-29T12:00:00.000Z");
  });

  const failures: readonly (readonly [string, Answer, string])[] = [
    ["500", () => status(500), "answered 500"],
    ["a redirect", () => status(302, null, { location: "https://elsewhere.example.com/" }), "answered 302"],
    ["a broken connection", () => Promise.reject(new TypeError("Network connection lost.")), "no connection"],
  ];
  test.each(failures)("[O9] %s is a failure with its reason", async (_, answer, reason) => {
    origin.answer = answer;
    expect(await channel(addresses).tell(news(), NOW_MS)).toBe(reason);
    expect(origin.requests).toHaveLength(1);
  });

  test.each(["http://alerts.example.com/", "https://127.0.0.1/", "https://hooks.example.com/webhook/acme"])(
    "[V17] nothing is sent to %s",
    async (webhookUrl) => {
      expect(await channel({ ...addresses, webhookUrl }).tell(news(), NOW_MS)).not.toBe("");
      expect(origin.requests).toHaveLength(0);
    },
  );

  test("[O11] what senders wrote neither mentions nor links, and begins no line", async () => {
    const detail = "answered 422 to an event of type <!channel> <https://evil.example|here>\nSince: never \u202e";
    await channel(addresses).tell(news({ kind: "event-refused", detail, subject: detail }), NOW_MS);
    const { json } = sent();
    const text = name === "slack" ? String(json.text) : String((json.data as { text: string }).text);
    expect(text).toContain("\\u000aSince: never \\u202e");
    expect(text.split("\n").filter((line) => line.startsWith("Since:"))).toHaveLength(1);
    if (name === "slack") expect(text).toContain("&lt;!channel&gt; &lt;https://evil.example|here&gt;");
  });
});

test("[O9] a webhook is signed as Standard Webhooks says; a repeat has the same id, another message another one", async () => {
  const webhook = channel({ webhookUrl: URL_, signingSecrets: [SECRET] });
  await webhook.tell(news(), NOW_MS);
  const { text, headers } = sent();
  expect(new Webhook(SECRET).verify(text, headers)).toMatchObject({
    type: "alert.raised",
    data: { tenant: "acme", destination: "origin", kind: "breaker-open", waitingEvents: 120 },
  });
  expect(() => new Webhook(SECRET).verify(`${text} `, headers)).toThrow("No matching signature");
  await webhook.tell(news(), NOW_MS + 30_000);
  await webhook.tell(news({ what: "cleared" }), NOW_MS + 60_000);
  await webhook.tell(news({ level: 2 }), NOW_MS + 60_000);
  const ids = origin.requests.map((request) => request.headers.get("webhook-id"));
  expect(ids[1]).toBe(ids[0]);
  expect(new Set(ids).size).toBe(3);
});

test("[O9] without a secret the webhook is not signed", async () => {
  await channel({ webhookUrl: URL_ }).tell(news(), NOW_MS);
  expect(sent().headers).not.toHaveProperty("webhook-signature");
});

test("[O9] [O11] mail is plain text by the binding; a subject never breaks out of its line", async () => {
  const mails: Parameters<EmailBinding["send"]>[0][] = [];
  const mail = { send: async (message: Parameters<EmailBinding["send"]>[0]) => void mails.push(message) };
  const email = { from: "alerts@example.com", to: "oncall@example.com" };
  expect(await channel({ email }, mail).tell(news({ tenant: "ac\r\nBcc: x@evil.example\r\nme" }), NOW_MS)).toBe("");
  expect(mails[0]).toMatchObject(email);
  expect(mails[0]?.subject).toContain("ac\\u000d\\u000aBcc:");
  expect(mails[0]?.subject).not.toContain("\n");
  expect(mails[0]?.text).toContain("Waiting: 120 events");
});

test("[O9] mail without the binding, or one that is refused, is a failure with its reason", async () => {
  const email = { from: "alerts@example.com", to: "oncall@example.com" };
  expect(await channel({ email }).tell(news(), NOW_MS)).toContain("ALERT_EMAIL is not bound");
  const refusing = { send: () => Promise.reject(new Error("destination address is not verified")) };
  expect(await channel({ email }, refusing).tell(news(), NOW_MS)).toBe("destination address is not verified");
});

test("[O9] a tenant may have a webhook and mail; none is told where none is named", () => {
  const email = { from: "alerts@example.com", to: "oncall@example.com" };
  const parts = { policy: POLICY, mail: null };
  expect(channelsOf({ ...NOBODY, webhookUrl: URL_, email }, parts).map((each) => each.name)).toEqual([
    "webhook",
    "email",
  ]);
  expect(channelsOf(NOBODY, parts)).toEqual([]);
});

test("[O11] long text is cut, and nothing in it acts", () => {
  expect(plain("x".repeat(400))).toHaveLength(301);
  expect(plain("a\u0000b\u001b[31m\u2028c")).toBe("a\\u0000b\\u001b[31m\\u2028c");
});
