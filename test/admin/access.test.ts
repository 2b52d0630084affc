import { expect, test } from "vitest";
import { buildAdmin } from "../../src/admin/app.ts";
import type { AdminParts } from "../../src/admin/parts.ts";
import { parseSettings } from "../../src/env.ts";
import { call, freshName, input, worker } from "./operator.ts";

const strangers: readonly (readonly [string, Record<string, string>, string])[] = [
  ["no header", {}, ""],
  ["another token", { authorization: "Bearer another" }, ""],
  ["a longer token", { authorization: "Bearer test-admin-token-" }, ""],
  ["a shorter token", { authorization: "Bearer test-admin-toke" }, ""],
  ["an empty token", { authorization: "Bearer " }, ""],
  ["basic", { authorization: "Basic test-admin-token" }, ""],
  ["the token in the URL", {}, "?token=test-admin-token"],
];

test.each(strangers)("[O1] with %s every call is refused, known or not", async (_, headers, query) => {
  for (const path of ["/admin/tenants", "/admin/tenants/x", "/admin/tenants/x/stats", "/admin/nothing", "/admin"]) {
    const response = await worker.fetch(`https://hooks.example.com${path}${query}`, { headers });
    expect([path, response.status]).toEqual([path, 401]);
    expect(response.headers.get("www-authenticate")).toContain("Bearer");
    expect(await response.json()).toMatchObject({ code: "unauthorized", status: 401 });
  }
});

test("[O1] with the token calls are let in, whatever the case of the scheme's name", async () => {
  expect((await call("GET", "/admin/tenants")).status).toBe(200);
  expect((await call("GET", "/admin/tenants", undefined, { authorization: "bearer  test-admin-token" })).status).toBe(
    200,
  );
});

test("[O1] with no token configured everything is refused, also an empty one", async () => {
  const settings = parseSettings({});
  const app = buildAdmin({ settings } as AdminParts);
  for (const authorization of ["Bearer ", "Bearer null", "Bearer undefined", "Bearer x"]) {
    const response = await app.fetch(new Request("https://h/admin/tenants", { headers: { authorization } }));
    expect(response.status).toBe(401);
  }
});

test("[O11] a call that changes something needs Content-Type: application/json", async () => {
  const name = freshName();
  const body = JSON.stringify(input());
  for (const type of [
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data",
    "application/jsonp",
    "",
  ]) {
    const refused = await call("PUT", `/admin/tenants/${name}`, body, { "content-type": type });
    expect([type, refused.status, refused.json.code]).toEqual([type, 415, "content-type"]);
  }
  expect((await call("GET", `/admin/tenants/${name}`)).status).toBe(404);
  const taken = await call("PUT", `/admin/tenants/${name}`, body, {
    "content-type": "Application/JSON; charset=utf-8",
  });
  expect(taken.status).toBe(200);
});

test.each([
  "/admin/tenants/__proto__",
  "/admin/tenants/constructor",
  "/admin/tenants/prototype/stats",
  "/admin/tenants/%ff",
  "/admin/tenants/%E0%A4%A",
  "/admin/tenants/a%2Fb",
  "/admin/tenants/a.b",
  `/admin/tenants/${"x".repeat(65)}`,
  "/admin/tenants/acme/events/%ff",
  "/admin/nothing",
  "/admin",
  "/admin/",
])("[I1] [O2] %s is not found, by any method", async (path) => {
  for (const method of ["GET", "PUT", "DELETE"]) {
    const answer = await call(method, path, method === "PUT" ? input() : undefined);
    expect([method, answer.status, answer.headers.get("content-type")]).toEqual([
      method,
      404,
      "application/problem+json",
    ]);
  }
});

test("[O2] unknown parameters, repeated ones and odd values are named", async () => {
  const unknown = await call("GET", "/admin/tenants?colour=red&limit=0");
  expect([unknown.status, unknown.json.code]).toEqual([400, "invalid-query"]);
  expect(unknown.json.errors).toEqual([{ path: "colour", message: expect.stringContaining("limit") }]);
  for (const query of ["limit=0", "limit=1001", "limit=x", "limit=1&limit=2"]) {
    expect([query, (await call("GET", `/admin/tenants?${query}`)).status]).toEqual([query, 400]);
  }
  const forced = await call("DELETE", `/admin/tenants/${freshName()}?force=yes`);
  expect([forced.status, forced.json.errors]).toEqual([400, [{ path: "force", message: "must be true or false" }]]);
});

test("[O8] /healthz is open, and everything else beside the two sides is not found", async () => {
  const health = await worker.fetch("https://hooks.example.com/healthz");
  expect([health.status, await health.json()]).toEqual([200, { status: "ok" }]);
  for (const path of ["/", "/webhook", "/favicon.ico", "/administrator", "/healthz/x"]) {
    const response = await worker.fetch(`https://hooks.example.com${path}`);
    expect([path, response.status, response.headers.get("content-type")]).toEqual([
      path,
      404,
      "application/problem+json",
    ]);
  }
});
