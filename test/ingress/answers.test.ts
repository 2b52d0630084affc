import { expect, test } from "vitest";
import { generic, SECRET, Site, signatureOf, signed } from "./fakes.ts";

const tenant = { sources: { internal: generic() } };

async function siteWith(input: unknown = tenant, version = 1): Promise<Site> {
  const site = new Site();
  await site.configure("acme", input, version);
  return site;
}

test("[I11] a stored webhook is answered 202 with its event id", async () => {
  const site = await siteWith();
  const response = await site.send("/webhook/acme/internal", await signed("{}", { "x-event-id": "one" }));
  expect(response.status).toBe(202);
  expect(response.headers.get("content-type")).toBe("application/json");
  expect(await response.json()).toEqual({ status: "buffered", eventId: "internal:one" });
  expect(site.lines).toEqual([]);
});

test("[I11] each answer of the object has its own status and body", async () => {
  const site = await siteWith();
  const object = site.object("acme");
  const answerTo = async () => site.send("/webhook/acme", await signed("{}", { "x-event-id": "one" }));
  object.answer = () => ({ kind: "deduplicated", eventId: "internal:one" });
  let response = await answerTo();
  expect([response.status, await response.json()]).toEqual([200, { status: "deduplicated", eventId: "internal:one" }]);
  object.answer = () => ({ kind: "reopened", eventId: "internal:one" });
  response = await answerTo();
  expect([response.status, await response.json()]).toEqual([202, { status: "reopened", eventId: "internal:one" }]);
  object.answer = () => ({ kind: "rate-limited", retryAfterSeconds: 7 });
  response = await answerTo();
  expect([response.status, response.headers.get("retry-after"), await response.json()]).toEqual([
    429,
    "7",
    { status: "rate_limited" },
  ]);
  object.answer = () => ({ kind: "unavailable", code: "not-stored", retryAfterSeconds: 30 });
  response = await answerTo();
  expect([response.status, response.headers.get("retry-after"), await response.json()]).toEqual([
    503,
    "30",
    { status: "unavailable" },
  ]);
  object.answer = () => ({ kind: "unconfigured" });
  response = await answerTo();
  expect([response.status, response.headers.get("retry-after")]).toEqual([503, "30"]);
});

test.each([
  [0.2, "1"],
  [6.1, "7"],
  [7, "7"],
])("[I11] [R2] Retry-After is whole seconds, never short of %s and at least one", async (retryAfterSeconds, told) => {
  const site = await siteWith();
  site.object("acme").answer = () => ({ kind: "rate-limited", retryAfterSeconds });
  const response = await site.send("/webhook/acme", await signed("{}", { "x-event-id": "one" }));
  expect(response.headers.get("retry-after")).toBe(told);
});

test("[P4] Slack hears 200 without a body, and 503 over the limit if its row says so", async () => {
  const site = await siteWith({ sources: { slack: { provider: "slack", secrets: [SECRET] } } });
  const body = '{"type":"event_callback","event_id":"Ev1","event":{"type":"message"}}';
  const time = String(Math.floor(site.nowMs / 1_000));
  const headers = {
    "x-slack-request-timestamp": time,
    "x-slack-signature": `v0=${await signatureOf(`v0:${time}:${body}`)}`,
  };
  const response = await site.send("/webhook/acme", { body, headers });
  expect([response.status, await response.text()]).toEqual([200, ""]);
  expect(site.object("acme").calls[0]).toMatchObject({ eventId: "slack:Ev1", type: "message", trust: "signed" });
});

test("[P3] Slack's signed question is answered without the object; an unsigned one is not", async () => {
  const site = await siteWith({ sources: { slack: { provider: "slack", secrets: [SECRET] } } });
  const body = '{"type":"url_verification","challenge":"abc123"}';
  const time = String(Math.floor(site.nowMs / 1_000));
  const headers = {
    "x-slack-request-timestamp": time,
    "x-slack-signature": `v0=${await signatureOf(`v0:${time}:${body}`)}`,
  };
  const response = await site.send("/webhook/acme", { body, headers });
  expect([response.status, await response.text(), response.headers.get("x-content-type-options")]).toEqual([
    200,
    "abc123",
    "nosniff",
  ]);
  const forged = await site.send("/webhook/acme", {
    body,
    headers: { ...headers, "x-slack-signature": `v0=${"0".repeat(64)}` },
  });
  expect(forged.status).toBe(401);
  expect(site.object("acme").calls).toEqual([]);
});
