import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { moveClock, startClock, stopClock } from "./clock.ts";
import { ask, bindings, Tenant } from "./tenant.ts";

beforeEach(() => startClock());

afterEach(() => {
  vi.restoreAllMocks();
  stopClock();
});

const MINUTE_MS = 60_000;
const HANDED = "hook-secret-0123456789abcdef";

function asana(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return { sources: { tasks: { provider: "asana", ...changes } } };
}

function shakeHands(tenant: Tenant, secret = HANDED): Promise<Response> {
  return ask(`/webhook/${tenant.name}/tasks`, { method: "POST", headers: { "x-hook-secret": secret }, body: "" });
}

async function deliver(tenant: Tenant, secret = HANDED): Promise<number> {
  const utf8 = new TextEncoder();
  const body = '{"events":[{"action":"changed"}]}';
  const hmac = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", utf8.encode(secret), hmac, false, ["sign"]);
  const mac = new Uint8Array(await crypto.subtle.sign("HMAC", key, utf8.encode(body))).toHex();
  const headers = { "x-hook-signature": mac, "content-type": "application/json" };
  return (await ask(`/webhook/${tenant.name}/tasks`, { method: "POST", headers, body })).status;
}

function expectHandshake(tenant: Tenant, source = "tasks"): Promise<Response> {
  return tenant.admin("POST", `/sources/${source}/expect-handshake`);
}

async function state(tenant: Tenant): Promise<unknown> {
  return (await tenant.admin("GET", "/sources/tasks/expect-handshake")).json();
}

test("[I7] a source may be created without the secret that its provider hands over, and accepts nothing until it has it", async () => {
  const tenant = await Tenant.create(asana());
  expect(await deliver(tenant)).toBe(401);
  expect((await shakeHands(tenant)).status).toBe(401);
  expect(await state(tenant)).toMatchObject({ state: "closed", until: null });
  const opened = await expectHandshake(tenant);
  expect(opened.status).toBe(200);
  expect(await state(tenant)).toMatchObject({ state: "expecting" });
  const answer = await shakeHands(tenant);
  expect([answer.status, answer.headers.get("x-hook-secret")]).toEqual([200, HANDED]);
  expect(await deliver(tenant)).toBe(200);
  expect(await deliver(tenant, "another-secret-0123456789")).toBe(401);
  expect((await tenant.stats()).accepted).toBe(1);
  expect(await state(tenant)).toMatchObject({ state: "taken" });
});

test("[I7] it is taken once: another secret is refused, the same one is only confirmed", async () => {
  const tenant = await Tenant.create(asana());
  await expectHandshake(tenant);
  expect((await shakeHands(tenant)).status).toBe(200);
  const { version } = (await tenant.calls.readConfig()) ?? { version: 0 };
  expect((await shakeHands(tenant, "the-secret-of-a-stranger")).status).toBe(401);
  expect((await shakeHands(tenant)).status).toBe(200);
  expect((await tenant.calls.readConfig())?.version).toBe(version);
  expect(await deliver(tenant)).toBe(200);
  const again = await expectHandshake(tenant);
  expect([again.status, ((await again.json()) as { code: string }).code]).toEqual([409, "has-secret"]);
});

test("[I7] of two secrets that race through the window one wins, and the other is refused", async () => {
  const tenant = await Tenant.create(asana());
  await expectHandshake(tenant);
  const names = ["the-first-secret-0123", "the-second-secret-456", "the-third-secret-789"];
  const answers = await Promise.all(names.map((secret) => tenant.calls.takeSecret({ source: "tasks", secret })));
  expect(answers.map((answer) => answer.kind).sort()).toEqual(["closed", "closed", "taken"]);
  const winner = names[answers.findIndex((answer) => answer.kind === "taken")] ?? "";
  expect(await deliver(tenant, winner)).toBe(200);
});

test("[I7] [I2] the window closes after 15 minutes, and without one a stranger's handshake never reaches the object", async () => {
  const tenant = await Tenant.create(asana());
  const take = vi.spyOn(bindings.TENANT_BUFFER, "getByName");
  await expectHandshake(tenant);
  moveClock(15 * MINUTE_MS);
  take.mockClear();
  for (let tries = 0; tries < 3; tries += 1) expect((await shakeHands(tenant)).status).toBe(401);
  // One call asks for a newer configuration [O4], one reports what was turned away [O7].
  expect(take.mock.calls.length).toBeLessThanOrEqual(2);
  expect(await tenant.calls.takeSecret({ source: "tasks", secret: HANDED })).toEqual({ kind: "closed" });
  expect(await state(tenant)).toMatchObject({ state: "closed" });
});

test("[I7] [O4] a Worker with an older configuration finds the open window before it refuses", async () => {
  const tenant = await Tenant.create(asana());
  expect((await shakeHands(tenant)).status).toBe(401);
  moveClock(6_000);
  await expectHandshake(tenant);
  expect((await shakeHands(tenant)).status).toBe(200);
});

test("[I7] [O3] the secret is stored sealed and shown nowhere; it outlives eviction, PATCH, and a PUT that does not name it", async () => {
  const tenant = await Tenant.create(asana());
  await expectHandshake(tenant);
  await shakeHands(tenant);
  const kv = await bindings.TENANT_CONFIG.get(`tenant:${tenant.name}`);
  const rows = await tenant.sql("SELECT * FROM tenant");
  const shown = [await state(tenant), await (await tenant.admin("GET", "")).json(), kv, rows];
  expect(JSON.stringify(shown)).not.toContain(HANDED);
  await tenant.evict();
  expect(await deliver(tenant)).toBe(200);
  await tenant.admin("PATCH", "", { retainSeconds: 3_600 });
  expect(await deliver(tenant)).toBe(200);
  await tenant.reconfigure(asana());
  expect(await deliver(tenant)).toBe(200);
  await tenant.reconfigure(asana({ secrets: [] }));
  expect(await deliver(tenant)).toBe(401);
});

test("[I7] a provider whose page wants the text typed in shows it nowhere: it is shown to the operator until the window ends", async () => {
  const tenant = await Tenant.create({ sources: { tasks: { provider: "notion" } } });
  await expectHandshake(tenant);
  const body = JSON.stringify({ verification_token: "secret_notion0123456789" });
  const headers = { "content-type": "application/json" };
  const answer = await ask(`/webhook/${tenant.name}/tasks`, { method: "POST", headers, body });
  expect(answer.status).toBe(200);
  expect(await state(tenant)).toMatchObject({ state: "taken", typeIn: "secret_notion0123456789" });
  moveClock(15 * MINUTE_MS);
  expect(await state(tenant)).not.toHaveProperty("typeIn");
});

test("[I7] [O2] no window for providers that hand nothing over, none for a missing source, and none longer than 15 minutes", async () => {
  const tenant = await Tenant.create();
  expect((await expectHandshake(tenant, "in")).status).toBe(409);
  expect((await expectHandshake(tenant, "nowhere")).status).toBe(404);
  const until = (ms: number) => new Date(Date.now() + ms).toISOString();
  const late = await tenant.configure(asana({ handshakeUntil: until(16 * MINUTE_MS) }));
  expect(((await late.json()) as { errors: { path: string }[] }).errors).toMatchObject([
    { path: "sources.tasks.handshakeUntil" },
  ]);
  const other = { sources: { in: { provider: "generic", secrets: ["0123456789abcdef"], handshakeUntil: until(1) } } };
  expect((await tenant.configure(other)).status).toBe(400);
  expect((await tenant.configure({ sources: { in: { provider: "generic" } } })).status).toBe(400);
});
