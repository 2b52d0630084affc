import { expect, test } from "vitest";
import { ADMIN_TOKEN, call, freshName, input, kv, post, SECRET, SIGNING_SECRET, worker } from "./operator.ts";

test("[O2] [O4] a tenant is created, read, changed and listed; its version grows", async () => {
  const name = freshName();
  const created = await call("PUT", `/admin/tenants/${name}`, input());
  expect(created.status).toBe(200);
  expect(created.json).toMatchObject({ tenant: name, warnings: [], config: { maxBodyBytes: 1_048_576 } });
  const version = created.json.version as number;
  expect(created.headers.get("etag")).toBe(`"${version}"`);
  const read = await call("GET", `/admin/tenants/${name}`);
  expect(read.json).toEqual(created.json);
  const changed = await call("PUT", `/admin/tenants/${name}`, input({ maxBodyBytes: 2_048 }));
  expect(changed.json).toMatchObject({ config: { maxBodyBytes: 2_048 } });
  expect(changed.json.version).toBeGreaterThan(version);
  expect((await call("GET", "/admin/tenants")).json.tenants).toContain(name);
});

test("[O3] no answer holds a secret, and neither does KV", async () => {
  const name = freshName();
  const answers = [
    await call("PUT", `/admin/tenants/${name}`, input()),
    await call("GET", `/admin/tenants/${name}`),
    await call("PATCH", `/admin/tenants/${name}`, { retainSeconds: 0 }),
    await call("POST", `/admin/tenants/${name}/sources/internal/rotate`, { secret: "rotated-0123456789abc" }),
  ];
  for (const answer of answers) {
    expect(answer.status).toBe(200);
    for (const secret of [SECRET, SIGNING_SECRET, "rotated-"]) expect(answer.text).not.toContain(secret);
  }
  const stored = await kv.get(`tenant:${name}`);
  expect(stored).toContain('"sealed"');
  for (const secret of [SECRET, SIGNING_SECRET, "rotated-"]) expect(stored).not.toContain(secret);
});

test("[O2] a wrong configuration is refused with every problem named, and nothing is stored", async () => {
  const name = freshName();
  const wrong = input({ maxBodyBytes: 1, colour: "red", rateLimit: { events: 0 } });
  const refused = await call("PUT", `/admin/tenants/${name}`, wrong);
  expect([refused.status, refused.headers.get("content-type"), refused.json.code]).toEqual([
    400,
    "application/problem+json",
    "invalid-configuration",
  ]);
  expect((refused.json.errors as { path: string }[]).map((error) => error.path)).toEqual([
    "colour",
    "maxBodyBytes",
    "rateLimit.events",
  ]);
  expect((await call("GET", `/admin/tenants/${name}`)).status).toBe(404);
  await call("PUT", `/admin/tenants/${name}`, input());
  expect((await call("PATCH", `/admin/tenants/${name}`, { maxBodyBytes: 1 })).status).toBe(400);
  expect((await call("GET", `/admin/tenants/${name}`)).json).toMatchObject({ config: { maxBodyBytes: 1_048_576 } });
});

test.each([
  ["", "empty"],
  ["{", "line 1, column 2"],
  ['{\n  "sources": {,}\n}', "line 2, column 15"],
  ["\u0000", "line 1, column 1"],
  ['{"sources": undefined}', "expected a value"],
])("[O2] the malformed body %j is refused, and the answer says where", async (body, where) => {
  const answer = await call("PUT", `/admin/tenants/${freshName()}`, body);
  expect([answer.status, answer.json.code]).toEqual([400, "malformed-json"]);
  expect(answer.json.detail).toContain(where);
});

test("[O2] a body that is no UTF-8, none at all, or too large is refused", async () => {
  const path = `/admin/tenants/${freshName()}`;
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" };
  const send = (body: BodyInit | null) => worker.fetch(`https://h${path}`, { method: "PUT", headers, body });
  expect((await send(Uint8Array.of(0x7b, 0xff, 0x7d))).status).toBe(400);
  expect((await send(null)).status).toBe(400);
  const large = await send(JSON.stringify({ sources: "x".repeat(262_144) }));
  expect([large.status, ((await large.json()) as { code: string }).code]).toEqual([413, "body-too-large"]);
  for (const body of ["[]", '"text"', "7", "null"]) expect((await send(body)).status).toBe(400);
});

test("[O2] (RFC 7396) a patch changes what it names, removes what is null, and leaves secrets and defaults alone", async () => {
  const name = freshName();
  await call("PUT", `/admin/tenants/${name}`, input({ rateLimit: { events: 7, windowSeconds: 3 } }));
  const patched = await call("PATCH", `/admin/tenants/${name}`, {
    rateLimit: { events: null },
    sources: { hub: { provider: "github", secrets: ["github-0123456789abc"] } },
  });
  expect(patched.json).toMatchObject({
    config: { rateLimit: { events: 100, windowSeconds: 3 }, sources: { internal: {}, hub: {} } },
  });
  expect((await post(name, "one", "{}")).status).toBe(202);
  const without = await call("PATCH", `/admin/tenants/${name}`, { sources: { hub: null } });
  expect(Object.keys((without.json.config as { sources: object }).sources)).toEqual(["internal"]);
  for (const patch of [[], "x", 7, null]) {
    expect((await call("PATCH", `/admin/tenants/${name}`, JSON.stringify(patch))).status).toBe(400);
  }
  expect((await call("PATCH", `/admin/tenants/${freshName()}`, {})).status).toBe(404);
});

test("[O4] If-Match guards against two writers", async () => {
  const name = freshName();
  const { version } = (await call("PUT", `/admin/tenants/${name}`, input())).json;
  const wrong = await call("PUT", `/admin/tenants/${name}`, input(), { "if-match": `"${(version as number) - 1}"` });
  expect([wrong.status, wrong.json.code]).toEqual([412, "version-conflict"]);
  expect(wrong.json.detail).toContain(String(version));
  const patched = await call("PATCH", `/admin/tenants/${name}`, {}, { "if-match": "1" });
  expect(patched.status).toBe(412);
  expect((await call("DELETE", `/admin/tenants/${name}`, undefined, { "if-match": "1" })).status).toBe(412);
  const right = await call("PATCH", `/admin/tenants/${name}`, {}, { "if-match": `"${version}"` });
  expect(right.status).toBe(200);
  for (const header of ["yes", "*", '"a"', "1, 2"]) {
    const odd = await call("PUT", `/admin/tenants/${name}`, input(), { "if-match": header });
    expect([header, odd.status, odd.json.code]).toEqual([header, 400, "invalid-if-match"]);
  }
});

test("[O4] patches at the same time all count", async () => {
  const name = freshName();
  await call("PUT", `/admin/tenants/${name}`, input());
  const answers = await Promise.all([
    call("PATCH", `/admin/tenants/${name}`, { retainSeconds: 1 }),
    call("PATCH", `/admin/tenants/${name}`, { contentDedupeSeconds: 2 }),
    call("PATCH", `/admin/tenants/${name}`, { maxBacklogEvents: 300 }),
  ]);
  expect(answers.map((answer) => answer.status)).toEqual([200, 200, 200]);
  expect((await call("GET", `/admin/tenants/${name}`)).json).toMatchObject({
    config: { retainSeconds: 1, contentDedupeSeconds: 2, maxBacklogEvents: 300 },
  });
});

test("[I9] [O4] a rotation adds a secret that works at once, and keeps the old one for a while", async () => {
  const name = freshName();
  await call("PUT", `/admin/tenants/${name}`, input());
  expect((await post(name, "one", "{}")).status).toBe(202);
  const rotated = await call("POST", `/admin/tenants/${name}/sources/internal/rotate`, {
    secret: "rotated-0123456789abc",
  });
  expect(rotated.status).toBe(200);
  const { secrets } = (rotated.json.config as { sources: { internal: { secrets: { retiresAt: string | null }[] } } })
    .sources.internal;
  expect(secrets.map((secret) => secret.retiresAt === null)).toEqual([true, false]);
  const keptMs = Date.parse(secrets[1]?.retiresAt ?? "") - Date.now();
  expect(Math.abs(keptMs - 86_400_000)).toBeLessThan(10_000);
  expect((await post(name, "two", "{}", "rotated-0123456789abc")).status).toBe(202);
  expect((await post(name, "three", "{}")).status).toBe(202);

  await call("POST", `/admin/tenants/${name}/sources/internal/rotate`, {
    secret: "third-0123456789abcd",
    keepOldSeconds: 0,
  });
  expect((await post(name, "four", "{}", "rotated-0123456789abc")).status).toBe(401);
  expect((await post(name, "four", "{}", "third-0123456789abcd")).status).toBe(202);
});

test("[O2] a rotation is checked like a configuration", async () => {
  const name = freshName();
  await call("PUT", `/admin/tenants/${name}`, input());
  const rotate = (body: unknown, source = "internal") =>
    call("POST", `/admin/tenants/${name}/sources/${source}/rotate`, body);
  const wrong = await rotate({ keepOldSeconds: -1, colour: "red" });
  expect([wrong.status, (wrong.json.errors as { path: string }[]).map((error) => error.path)]).toEqual([
    400,
    ["colour", "keepOldSeconds", "secret"],
  ]);
  expect((await rotate({ secret: " spaces around " })).status).toBe(400);
  expect((await rotate({ secret: "x".repeat(20), keepOldSeconds: 2_592_001 })).status).toBe(400);
  expect((await rotate({ secret: "x".repeat(20) }, "nothing")).status).toBe(404);
  expect((await rotate({ secret: "x".repeat(20) }, "constructor")).status).toBe(404);
});

test("[O4] deleting is refused while there is a backlog, unless forced; afterwards the tenant is gone at once", async () => {
  const name = freshName();
  await call("PUT", `/admin/tenants/${name}`, input());
  await post(name, "one", "{}");
  const refused = await call("DELETE", `/admin/tenants/${name}`);
  expect([refused.status, refused.json.code]).toEqual([409, "has-backlog"]);
  expect(refused.json.detail).toContain("origin (1)");
  expect((await post(name, "two", "{}")).status).toBe(202);
  const deleted = await call("DELETE", `/admin/tenants/${name}?force=true`);
  expect([deleted.status, deleted.json]).toEqual([200, { tenant: name, version: expect.any(Number), deleted: true }]);
  expect((await post(name, "three", "{}")).status).toBe(404);
  for (const path of ["", "/stats", "/events/internal%3Aone"]) {
    expect((await call("GET", `/admin/tenants/${name}${path}`)).status).toBe(404);
  }
  expect((await call("GET", "/admin/tenants")).json.tenants).not.toContain(name);
  expect((await call("DELETE", `/admin/tenants/${freshName()}`)).status).toBe(404);

  const again = await call("PUT", `/admin/tenants/${name}`, input());
  expect(again.json.version).toBeGreaterThan(deleted.json.version as number);
  expect((await post(name, "three", "{}")).status).toBe(202);
});

test("[V21] removing a destination with a backlog is refused unless forced", async () => {
  const name = freshName();
  await call("PUT", `/admin/tenants/${name}`, input());
  await post(name, "one", "{}");
  const other = input({
    destinations: { other: { url: "https://other.test/hooks", signingSecrets: [SIGNING_SECRET] } },
  });
  expect((await call("PUT", `/admin/tenants/${name}`, other)).status).toBe(409);
  expect((await call("PUT", `/admin/tenants/${name}?force=true`, other)).status).toBe(200);
});

test("[V17] a URL that leads back to this Worker is refused, by the name it was called by", async () => {
  // The test's Worker allows insecure destinations; what it checks then is the form alone.
  const looped = input({ destinations: { origin: { url: "https://user:pass@origin.test/" } } });
  const refused = await call("PUT", `/admin/tenants/${freshName()}`, looped);
  expect(refused.json.errors).toEqual([{ path: "destinations.origin.url", message: expect.any(String) }]);
});
