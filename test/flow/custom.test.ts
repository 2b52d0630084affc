import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startClock, stopClock } from "./clock.ts";
import { Origin } from "./origin.ts";
import { ask, http, Tenant } from "./tenant.ts";

beforeEach(() => startClock());

afterEach(() => {
  vi.restoreAllMocks();
  stopClock();
});

const SECRET = "the-secret-of-acme-hooks";

/** A sender that no table knows: a signed time, the id and the type in the body, its own answer. */
const row = {
  scheme: {
    kind: "hmac",
    hash: "SHA-256",
    key: "utf8",
    signature: { from: "header:x-acme-signature", encoding: "base64", prefix: "acme=" },
    time: { from: "header:x-acme-time", unit: "seconds", toleranceSeconds: 60 },
    signed: "{time}.{body}",
  },
  identity: {
    ids: [{ from: "json:/event/id", key: "event" }],
    types: ["json:/event/kind"],
    severalItems: false,
    retriesChangeBody: false,
  },
  handshakes: [{ kind: "echo-query", method: "GET", param: "probe", alphabet: "a-z" }],
  answer: { success: { status: 200, body: { text: "ok", contentType: "text/plain" } }, overLimitStatus: 503 },
  timeLimitMs: 5_000,
  timeLimitIs: "assumed",
  retry: { forSeconds: 900, tries: 3, afterOverLimit: true, disables: null, overLimitDisables: false, is: "assumed" },
};

function config(custom: unknown = row): Record<string, unknown> {
  return { sources: { acme: { provider: "custom", secrets: [SECRET], custom } }, destinations: { origin: http() } };
}

async function signed(body: string, atMs = Date.now()): Promise<Record<string, string>> {
  const time = String(Math.floor(atMs / 1_000));
  const utf8 = new TextEncoder();
  const hmac = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", utf8.encode(SECRET), hmac, false, ["sign"]);
  const mac = new Uint8Array(await crypto.subtle.sign("HMAC", key, utf8.encode(`${time}.${body}`)));
  return { "x-signature": "", "x-acme-time": time, "x-acme-signature": `acme=${mac.toBase64()}` };
}

test("[P2] a row of the tenant's own verifies, names and answers like one of the table", async () => {
  const origin = new Origin();
  const tenant = await Tenant.create(config());
  const body = '{"event":{"id":"e-1","kind":"order.paid"}}';
  const answer = await tenant.post(null, body, await signed(body));
  expect([answer.status, answer.headers.get("content-type"), await answer.text()]).toEqual([200, "text/plain", "ok"]);
  const repeat = await tenant.post(null, body, await signed(body, Date.now() + 2_000));
  expect(repeat.status).toBe(200);
  await tenant.settle();
  expect(origin.accepted).toMatchObject([{ id: "acme:e-1", source: "acme", type: "order.paid", body }]);
  const stats = await tenant.stats();
  expect([stats.accepted, stats.deduplicated]).toEqual([1, 1]);
});

test("[P2] [I6] [I10] what is altered, too old or signed by nobody is refused", async () => {
  const tenant = await Tenant.create(config());
  const body = '{"event":{"id":"e-1"}}';
  const headers = await signed(body);
  expect((await tenant.post(null, `${body} `, headers)).status).toBe(401);
  expect((await tenant.post(null, body, await signed(body, Date.now() - 61_000))).status).toBe(401);
  expect((await tenant.post(null, body, { "x-acme-time": headers["x-acme-time"] ?? "" })).status).toBe(401);
  expect((await tenant.stats()).accepted).toBe(0);
});

test("[P2] [P3] its handshake is answered, and its methods are allowed", async () => {
  const tenant = await Tenant.create(config());
  const answer = await ask(`/webhook/${tenant.name}?probe=hello`);
  expect([answer.status, await answer.text()]).toEqual([200, "hello"]);
  const other = await ask(`/webhook/${tenant.name}`, { method: "PUT", body: "" });
  expect([other.status, other.headers.get("allow")]).toEqual([405, "POST, GET"]);
});

test("[P2] [O2] a wrong row is refused with the path of each problem, and nothing is stored", async () => {
  const tenant = new Tenant(`t-${crypto.randomUUID()}`);
  const wrong = {
    ...row,
    scheme: { ...row.scheme, signed: "{tine}.{body}" },
    identity: { ...row.identity, ids: [{ from: "json:id", key: "event" }] },
    timeLimitMs: 5,
    surprise: true,
  };
  const response = await tenant.configure(config(wrong));
  expect(response.status).toBe(400);
  const { errors } = (await response.json()) as { errors: { path: string }[] };
  expect(errors.map((error) => error.path)).toEqual(
    expect.arrayContaining([
      "sources.acme.custom.identity.ids.0.from",
      "sources.acme.custom.scheme.signed",
      "sources.acme.custom.surprise",
      "sources.acme.custom.timeLimitMs",
    ]),
  );
  expect((await tenant.admin("GET", "")).status).toBe(404);
});

test("[P2] a custom source without a row, and a row without a custom source, are refused", async () => {
  const tenant = new Tenant(`t-${crypto.randomUUID()}`);
  const paths = async (source: Record<string, unknown>): Promise<string[]> => {
    const response = await tenant.configure({ sources: { acme: source } });
    return ((await response.json()) as { errors: { path: string }[] }).errors.map((error) => error.path);
  };
  expect(await paths({ provider: "custom", secrets: [SECRET] })).toEqual(["sources.acme.custom"]);
  expect(await paths({ provider: "generic", secrets: [SECRET], custom: row })).toEqual(["sources.acme.custom"]);
});

test("[P2] [R3] its events over the limit are rejected, whatever its row says of retries", async () => {
  const patient = { ...row, retry: { ...row.retry, forSeconds: 0, tries: 0, afterOverLimit: false } };
  const tenant = await Tenant.create({ ...config(patient), rateLimit: { events: 1, windowSeconds: 60 } });
  const statuses: number[] = [];
  for (const id of ["e-1", "e-2"]) {
    const body = JSON.stringify({ event: { id } });
    statuses.push((await tenant.post(null, body, await signed(body))).status);
  }
  expect(statuses).toEqual([200, 503]);
});
