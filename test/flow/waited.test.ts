import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startClock, stopClock } from "./clock.ts";
import { Origin, status } from "./origin.ts";
import { ask, http, Tenant } from "./tenant.ts";
import { failToStore, mend } from "./trouble.ts";

beforeEach(() => startClock());

afterEach(() => {
  vi.restoreAllMocks();
  stopClock();
});

const STRIPE_SECRET = "whsec_stripe_local_01";

async function stripeSignature(body: string): Promise<string> {
  const atS = Math.floor(Date.now() / 1_000);
  const encode = (text: string) => new TextEncoder().encode(text);
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", encode(STRIPE_SECRET), algorithm, false, ["sign"]);
  const mac = new Uint8Array(await crypto.subtle.sign("HMAC", key, encode(`${atS}.${body}`)));
  return `t=${atS},v1=${mac.toHex()}`;
}

test("[FR 26] [I10] [V4] [I14] verified once, on receipt: an event that waited an hour arrives, with its receipt time and a fresh signature", async () => {
  const origin = new Origin();
  origin.answer = () => status(503);
  const tenant = await Tenant.create({
    sources: { st: { provider: "stripe", secrets: [STRIPE_SECRET], forwardHeaders: ["stripe-signature"] } },
    destinations: { origin: http("origin.test", { signingSecrets: [`whsec_${btoa("k".repeat(32))}`] }) },
  });
  const body = '{"id":"evt_waits","object":"event"}';
  const signature = await stripeSignature(body);
  const receivedAtMs = Date.now();
  const headers = { "stripe-signature": signature, "content-type": "application/json" };
  const answer = await ask(`/webhook/${tenant.name}/st`, { method: "POST", body, headers });
  expect([200, 202]).toContain(answer.status);
  await tenant.runFor(3_600_000);
  expect(await tenant.ledger()).toMatchObject({ backlog: 1, dead: 0 });
  origin.answer = () => status(200);
  await tenant.runFor(3_600_000);
  expect(await tenant.ledger()).toMatchObject({ delivered: 1, backlog: 0 });
  const sent = origin.requests.at(-1);
  const [event] = origin.accepted as unknown as { receivedAt: string; headers: Record<string, string>; body: string }[];
  expect(event).toMatchObject({ body, headers: { "stripe-signature": signature } });
  expect(Date.parse(event?.receivedAt ?? "")).toBe(receivedAtMs);
  expect(Number(sent?.headers.get("webhook-timestamp")) * 1_000).toBeGreaterThanOrEqual(receivedAtMs + 3_600_000);
  expect(sent?.headers.get("webhook-signature")).toMatch(/^v1,/);
});

test("[FR 35] [I5] [I13] [V18] our own trouble is never a 4xx: a store that fails 503, a pause 202, an unknown tenant 404 and not 410", async () => {
  new Origin();
  const tenant = await Tenant.create();
  await tenant.accept("first");
  await failToStore(tenant, "second");
  const failed = await tenant.post("second", "{}");
  expect(failed.status).toBe(503);
  expect(failed.headers.get("retry-after")).toMatch(/^\d+$/);
  await mend(tenant);
  expect((await tenant.post("second", "{}")).status).toBe(202);
  await tenant.admin("POST", "/destinations/origin/pause");
  expect((await tenant.post("third", "{}")).status).toBe(202);
  const unknown = await ask("/webhook/nobody", { method: "POST", body: "{}" });
  expect(unknown.status).toBe(404);
  await tenant.reconfigure({ active: false });
  const inactive = await tenant.post("fourth", "{}");
  expect(inactive.status).toBe(404);
  expect(await inactive.text()).toBe(await unknown.text());
});
