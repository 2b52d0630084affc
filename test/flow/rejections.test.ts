import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { RejectionView } from "../../src/core/rejections.ts";
import { moveClock, startClock, stopClock } from "./clock.ts";
import { Origin } from "./origin.ts";
import { admin, ask, http, SECRET, Tenant } from "./tenant.ts";

beforeEach(() => startClock());

afterEach(() => {
  vi.restoreAllMocks();
  stopClock();
});

async function shown(tenant: Tenant): Promise<RejectionView[]> {
  const response = await tenant.admin("GET", "/rejections");
  expect(response.status).toBe(200);
  return ((await response.json()) as { rejections: RejectionView[] }).rejections;
}

/** What the object has been told; reports are on their way after the answer. */
async function told(tenant: Tenant): Promise<readonly { reason: string; count: number }[]> {
  return (await tenant.calls.rejections()) ?? [];
}

const forged = { "x-signature": "0".repeat(64) };

test("[O7] [I6] what was turned away is shown by source and reason, with what to do about it; the sender hears nothing of it", async () => {
  const tenant = await Tenant.create();
  const answers = [
    await tenant.post("e-1", '{"a": 1}', forged),
    await tenant.post("e-2", '{"a": 1}', forged),
    await tenant.post("e-3", "{}", { "x-signature": "" }),
    await tenant.post("e-4", "{}", {}, `/webhook/${tenant.name}/nowhere`),
  ];
  expect(answers.map((answer) => answer.status)).toEqual([401, 401, 401, 404]);
  expect(new Set(await Promise.all(answers.slice(0, 3).map((answer) => answer.text()))).size).toBe(1);
  const kinds = await vi.waitFor(async () => {
    const all = await shown(tenant);
    expect(all.find((each) => each.reason === "signature-mismatch")?.explanation).toMatch(/another secret/);
    return all;
  });
  expect(kinds.map((each) => [each.source, each.reason, each.count])).toEqual(
    expect.arrayContaining([
      ["in", "signature-mismatch", 2],
      [null, "unknown-source", 1],
    ]),
  );
  expect(kinds.find((each) => each.reason === "unknown-source")?.explanation).toContain("nowhere");
  expect(kinds[0]?.example).toMatchObject({ method: "POST", headerNames: expect.arrayContaining(["x-signature"]) });
});

test("[O7] the diagnosis names what a person did wrong with the secret", async () => {
  const tenant = await Tenant.create({
    sources: {
      newline: { provider: "generic", secrets: [SECRET] },
      slack: { provider: "slack", secrets: ["0123456789abcdef0123456789abcdef"] },
    },
  });
  const body = '{"a":1}';
  const mac = await hmacHex(`${SECRET}\n`, body);
  const path = `/webhook/${tenant.name}`;
  const post = (source: string, headers: Record<string, string>) =>
    ask(`${path}/${source}`, { method: "POST", headers, body });
  await post("newline", { "x-signature": mac });
  const late = String(Math.floor(Date.now() / 1_000) - 412);
  const slack = await hmacHex("0123456789abcdef0123456789abcdef", `v0:${late}:${body}`);
  await post("slack", { "x-slack-request-timestamp": late, "x-slack-signature": `v0=${slack}` });
  await post("slack", { "x-hub-signature-256": `sha256=${mac}` });
  await vi.waitFor(async () => {
    const explanations = new Map(
      (await shown(tenant)).map((each) => [`${each.source} ${each.reason}`, each.explanation]),
    );
    expect(explanations.get("newline signature-mismatch")).toMatch(/line end/);
    expect([...explanations.values()].join()).toMatch(/412/);
    expect(explanations.get("slack missing-signature")).toMatch(/is the provider right/);
  });
});

test("[O7] an isolate reports at most once in 30 s; what came meanwhile goes with the next request after that", async () => {
  const origin = new Origin();
  const tenant = await Tenant.create();
  await tenant.post("e-1", "{}", forged);
  await vi.waitFor(async () => expect(await told(tenant)).toMatchObject([{ count: 1 }]));
  for (let index = 0; index < 5; index += 1) await tenant.post("e-1", "{}", forged);
  moveClock(29_000);
  await tenant.accept("good-1");
  expect(await told(tenant)).toMatchObject([{ count: 1 }]);
  expect(await shown(tenant)).toMatchObject([{ count: 6 }]);
  moveClock(1_001);
  await tenant.accept("good-2");
  await vi.waitFor(async () => expect(await told(tenant)).toMatchObject([{ count: 6 }]));
  expect(await shown(tenant)).toMatchObject([{ count: 6 }]);
  await tenant.settle();
  expect(origin.ids()).toEqual(["in:good-1", "in:good-2"]);
});

test("[O7] [C1] [X9] forgeries cost at most one row a minute, and outlive an eviction as far as they were written", async () => {
  const tenant = await Tenant.create();
  const rows = async (): Promise<number> => (await tenant.stats()).cost.rowsWritten;
  const report = async (reason: string, count: number): Promise<void> => {
    const atMs = Date.now();
    const example = { atMs, method: "POST", contentType: null, userAgent: null, bodySizeBytes: 2, headerNames: [] };
    const kind = { source: "in", reason, count, firstAtMs: atMs, lastAtMs: atMs, explanation: "", example };
    await tenant.calls.reportRejections({ tenant: tenant.name, kinds: [kind] });
  };
  const before = await rows();
  await report("signature-mismatch", 3);
  expect((await rows()) - before).toBe(1);
  moveClock(30_000);
  await report("timestamp-too-old", 2);
  expect((await rows()) - before).toBe(1);
  await tenant.evict();
  expect((await told(tenant)).map((each) => [each.reason, each.count])).toEqual([["signature-mismatch", 3]]);
  moveClock(30_001);
  await report("timestamp-too-old", 1);
  await tenant.evict();
  expect(await told(tenant)).toMatchObject([{ reason: "timestamp-too-old" }, { reason: "signature-mismatch" }]);
});

test("[O7] [I2] nothing is reported of a tenant that does not exist, and there is nothing to see of it", async () => {
  const name = `t-${crypto.randomUUID()}`;
  expect((await ask(`/webhook/${name}`, { method: "POST", body: "{}" })).status).toBe(404);
  expect((await admin("GET", `/tenants/${name}/rejections`)).status).toBe(404);
  const tenant = new Tenant(name);
  await tenant.calls.reportRejections({ tenant: name, kinds: [] });
  expect(await tenant.sql("SELECT name FROM sqlite_master")).toEqual([]);
});

test("[O7] [I15] query strings and values of headers are nowhere in what is shown", async () => {
  const tenant = await Tenant.create();
  const path = `/webhook/${tenant.name}?token=very-secret-query`;
  await tenant.post("e-1", '{"card":"very-secret-body"}', { ...forged, "x-api-key": "very-secret-header" }, path);
  await vi.waitFor(async () => expect(await told(tenant)).toHaveLength(1));
  expect(JSON.stringify(await shown(tenant))).not.toContain("very-secret");
});

test("[I7] a source without a live secret answers 503 and raises an alert, which a new configuration clears", async () => {
  const sources = (secrets: unknown[]) => ({ sources: { in: { provider: "generic", secrets } } });
  const retiresAt = new Date(Date.now() + 60_000).toISOString();
  const tenant = await Tenant.create(sources([{ value: SECRET, retiresAt }]));
  moveClock(61_000);
  const answer = await tenant.post("e-1", "{}");
  expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "60"]);
  expect(await answer.json()).toMatchObject({ code: "source-unusable" });
  const up = async () => (await tenant.stats()).alerts.filter((alert) => alert.kind === "source-unusable");
  await vi.waitFor(async () => expect(await up()).toMatchObject([{ subject: "in", clearedAt: null }]));
  await tenant.reconfigure({ ...sources([SECRET]), destinations: { origin: http() } });
  expect(await up()).toMatchObject([{ subject: "in", clearedAt: new Date().toISOString() }]);
});

async function hmacHex(secret: string, body: string): Promise<string> {
  const utf8 = new TextEncoder();
  const key = await crypto.subtle.importKey("raw", utf8.encode(secret), { name: "HMAC", hash: "SHA-256" }, false, [
    "sign",
  ]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, utf8.encode(body))).toHex();
}
