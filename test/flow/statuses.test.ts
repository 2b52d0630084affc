import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { moveClock, startClock, stopClock } from "./clock.ts";
import { bytesOf, Origin } from "./origin.ts";
import { admin, ask, SECRET, Tenant } from "./tenant.ts";
import { failToStore, mend } from "./trouble.ts";

beforeEach(() => startClock());

afterEach(() => {
  vi.restoreAllMocks();
  stopClock();
});

/** Everything a sender can tell one answer from another by. */
async function faceOf(response: Response) {
  return {
    status: response.status,
    headers: [...response.headers].filter(([name]) => name !== "date"),
    text: await response.text(),
  };
}

test("[I11] stored is 202, a repeat 200, as JSON with the event's id", async () => {
  new Origin();
  const tenant = await Tenant.create();
  const stored = await tenant.post("evt_1", "{}");
  expect([stored.status, await stored.json()]).toEqual([202, { status: "buffered", eventId: "in:evt_1" }]);
  const repeat = await tenant.post("evt_1", "{}");
  expect([repeat.status, await repeat.json()]).toEqual([200, { status: "deduplicated", eventId: "in:evt_1" }]);
  expect(repeat.headers.get("content-type")).toBe("application/json");
});

test("[I1] [FR 38] one trailing slash and a query are tolerated; doubled slashes and longer paths are 404, never 3xx", async () => {
  new Origin();
  const tenant = await Tenant.create();
  const good = [`/webhook/${tenant.name}/`, `/webhook/${tenant.name}?x=1`, `/webhook/${tenant.name}/in`];
  const bad = [
    `/webhook//${tenant.name}`,
    `//webhook/${tenant.name}`,
    `/webhook/${tenant.name}/in/extra`,
    `/webhook/${tenant.name}//`,
    `/Webhook/${tenant.name}`,
  ];
  for (const [index, path] of good.entries()) {
    expect([path, (await tenant.post(`good_${index}`, "{}", {}, path)).status]).toEqual([path, 202]);
  }
  for (const [index, path] of bad.entries()) {
    expect([path, (await tenant.post(`bad_${index}`, "{}", {}, path)).status]).toEqual([path, 404]);
  }
  expect((await tenant.stats()).accepted).toBe(3);
});

test("[I5] [FR 41] names of properties, undecodable segments, unknown, inactive: one 404, byte for byte", async () => {
  new Origin();
  const tenant = await Tenant.create();
  const inactive = await Tenant.create({ active: false });
  const paths = [
    "/webhook/__proto__",
    "/webhook/constructor",
    "/webhook/prototype",
    "/webhook/%E0%A4%A",
    "/webhook/nobody",
    `/webhook/${inactive.name}`,
    `/webhook/${tenant.name}/constructor`,
    `/webhook/${tenant.name}/__proto__`,
    `/webhook/${tenant.name}/other`,
  ];
  const faces = await Promise.all(paths.map(async (path) => faceOf(await tenant.post("evt_1", "{}", {}, path))));
  for (const face of faces) expect(face).toEqual(faces[0]);
  expect(faces[0]?.status).toBe(404);
});

test("[I6] [FR 15] a missing, a wrong and a cut signature hear one plain 401, and nothing is stored", async () => {
  new Origin();
  const tenant = await Tenant.create();
  const headers: Record<string, string>[] = [
    { "x-signature": "" },
    { "x-signature": "00".repeat(32) },
    { "x-signature": "00" },
    { "x-signature": "not hex" },
  ];
  const faces = await Promise.all(headers.map(async (each) => faceOf(await tenant.post("evt_1", "{}", each))));
  for (const face of faces) expect(face).toEqual(faces[0]);
  expect(faces[0]?.status).toBe(401);
  expect((await tenant.stats()).accepted).toBe(0);
  expect((await tenant.post("evt_1", "{}")).status).toBe(202);
});

test("[I1] [FR 37] [I17] other methods are 405 with Allow, for a tenant that exists and for one that does not", async () => {
  const tenant = await Tenant.create();
  for (const method of ["GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS"]) {
    for (const name of [tenant.name, "nobody"]) {
      const response = await ask(`/webhook/${name}`, { method });
      expect([method, response.status, response.headers.get("allow")]).toEqual([method, 405, "POST"]);
    }
  }
});

test("[FR 39] an Origin header is no reason to refuse, and no answer carries CORS headers", async () => {
  new Origin();
  const tenant = await Tenant.create();
  const response = await tenant.post("evt_1", "{}", { origin: "https://manage.example.test" });
  expect(response.status).toBe(202);
  expect([...response.headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([]);
});

test("[I4] a body over the tenant's limit is 413 and stored nowhere; one of just that size is taken, byte for byte", async () => {
  const origin = new Origin();
  const tenant = await Tenant.create({ maxBodyBytes: 2_048 });
  const body = crypto.getRandomValues(new Uint8Array(2_048));
  expect((await tenant.post("fits", body)).status).toBe(202);
  const tooLarge = await tenant.post("too-large", new Uint8Array(2_049));
  expect([tooLarge.status, tooLarge.headers.get("content-type")]).toEqual([413, "application/problem+json"]);
  await tenant.settle();
  expect(origin.ids()).toEqual(["in:fits"]);
  expect(origin.accepted.map(bytesOf)).toEqual([body]);
});

test("[I3] [FR 49] half a megabyte arrives whole", async () => {
  const origin = new Origin();
  const tenant = await Tenant.create();
  const text = `{"p":"${"x".repeat(457_514)}"}`;
  expect((await tenant.post("evt_1", text)).status).toBe(202);
  await tenant.settle();
  const [event] = origin.accepted;
  const digest = await crypto.subtle.digest("SHA-256", event === undefined ? new Uint8Array() : bytesOf(event).slice());
  expect(new Uint8Array(digest).toHex()).toBe("fd8ff10979dbd9c4c2ba95a59a3f6613887fbb1df9a6f0966eba0d1886b7c879");
});

test("[R1] [R2] [I11] over the limit is 429 with Retry-After, the id is not remembered, and waiting that long is enough", async () => {
  new Origin();
  const tenant = await Tenant.create({ rateLimit: { events: 2, windowSeconds: 10 } });
  await tenant.accept("evt_1", "evt_2");
  const refused = await tenant.post("evt_3", "{}");
  expect([refused.status, await refused.json()]).toEqual([429, { status: "rate_limited" }]);
  const waitSeconds = Number(refused.headers.get("retry-after"));
  expect(waitSeconds).toBe(5);
  moveClock(waitSeconds * 1000);
  expect((await tenant.post("evt_3", "{}")).status).toBe(202);
});

test("[I12] [FR 48] what cannot be stored is 503 with Retry-After and not remembered: the repeat is stored and delivered", async () => {
  const origin = new Origin();
  const tenant = await Tenant.create();
  await tenant.accept("evt_1");
  await failToStore(tenant, "evt_2");
  const refused = await tenant.post("evt_2", "{}");
  expect([refused.status, await refused.json()]).toEqual([503, { status: "unavailable" }]);
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  await mend(tenant);
  expect((await tenant.post("evt_2", "{}")).status).toBe(202);
  await tenant.settle();
  expect(origin.ids()).toEqual(["in:evt_1", "in:evt_2"]);
});

test("[L5] [V20] [FR 71] one of 20 concurrent events fails in the store: 19 × 202, 1 × 503, and all 19 arrive with no further request", async () => {
  const origin = new Origin();
  const tenant = await Tenant.create();
  await tenant.accept("first");
  await tenant.settle();
  await failToStore(tenant, "evt_7");
  const ids = Array.from({ length: 20 }, (_, index) => `evt_${index}`);
  const answers = await Promise.all(ids.map(async (id) => [id, (await tenant.post(id, "{}")).status] as const));
  expect(answers.filter(([, status]) => status !== 202)).toEqual([["evt_7", 503]]);
  await tenant.runFor(60_000);
  const arrived = origin.ids().filter((id) => id !== "in:first");
  expect(new Set(arrived)).toEqual(new Set(ids.filter((id) => id !== "evt_7").map((id) => `in:${id}`)));
  expect(arrived).toHaveLength(19);
});

test("[D3] [FR 46] 20 racing copies: one 202, nineteen 200, one event at the origin", async () => {
  const origin = new Origin();
  const tenant = await Tenant.create();
  const answers = await Promise.all(Array.from({ length: 20 }, () => tenant.post("evt_1", "{}")));
  expect(answers.map((answer) => answer.status).sort()).toEqual([...Array.from({ length: 19 }, () => 200), 202]);
  await tenant.settle();
  expect(origin.ids()).toEqual(["in:evt_1"]);
  expect((await tenant.stats()).accepted).toBe(1);
});

test("[I13] [O4] an object that has lost its configuration answers 503, and stores nothing", async () => {
  new Origin();
  const tenant = await Tenant.create();
  await tenant.accept("evt_1");
  await tenant.sql("DELETE FROM tenant");
  await tenant.evict();
  const response = await tenant.post("evt_2", "{}");
  expect([response.status, await response.json()]).toEqual([503, { status: "unavailable" }]);
  expect(response.headers.get("retry-after")).toBe("30");
});

test("[I9] two live secrets are both good, a third is not", async () => {
  new Origin();
  const tenant = await Tenant.create({
    sources: { in: { provider: "generic", secrets: ["another-secret-0123456789", SECRET] } },
  });
  expect((await tenant.post("evt_1", "{}")).status).toBe(202);
  await tenant.reconfigure({ sources: { in: { provider: "generic", secrets: ["another-secret-0123456789"] } } });
  expect((await tenant.post("evt_2", "{}")).status).toBe(401);
});

test("[I14] [FR 52] kept headers reach the origin, cookies and addresses do not", async () => {
  const origin = new Origin();
  const tenant = await Tenant.create({
    sources: { in: { provider: "generic", secrets: [SECRET], forwardHeaders: ["X-Multi"] } },
  });
  const headers = {
    "x-multi": "a, b",
    cookie: "a=b",
    "cf-connecting-ip": "1.2.3.4",
    "content-type": "application/json",
  };
  expect((await tenant.post("evt_1", "{}", headers)).status).toBe(202);
  await tenant.settle();
  const [request] = origin.requests;
  const [event] = (JSON.parse(new TextDecoder().decode(request?.body)) as { events: Record<string, unknown>[] }).events;
  expect(event).toMatchObject({
    contentType: "application/json",
    headers: { "x-event-id": "evt_1", "x-multi": "a, b" },
  });
  expect(JSON.stringify(event)).not.toMatch(/cookie|1\.2\.3\.4|x-signature/);
});

test("[I5] [O2] a tenant without a configuration has no stats, and its object is left without a row", async () => {
  expect((await admin("GET", "/tenants/nobody-at-all/stats")).status).toBe(404);
  const nobody = new Tenant("nobody-at-all");
  expect(await nobody.sql("SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf%' ESCAPE '\\'")).toEqual([]);
});

test("[V23] ids that were not in the batch are ignored, and logged once in a while", async () => {
  const lines: string[] = [];
  vi.spyOn(console, "warn").mockImplementation((line: unknown) => void lines.push(String(line)));
  const origin = new Origin();
  origin.answer = () =>
    Response.json({ batchItemFailures: [{ itemIdentifier: "in:nobody" }, { itemIdentifier: "\u202ex" }] });
  const tenant = await Tenant.create();
  await tenant.accept("evt_1");
  await tenant.settle();
  await tenant.accept("evt_2");
  await tenant.settle();
  expect(await tenant.ledger()).toMatchObject({ delivered: 2, backlog: 0 });
  const logged = lines.filter((line) => line.includes("unknown-item-failures")).map((line) => JSON.parse(line));
  expect(logged).toEqual([
    {
      level: "warn",
      event: "unknown-item-failures",
      tenant: tenant.name,
      destination: "origin",
      count: 2,
      first: "in:nobody",
    },
  ]);
});
