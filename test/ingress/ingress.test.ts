import { expect, test } from "vitest";
import { generic, SECRET, Site, signed } from "./fakes.ts";

const tenant = { sources: { internal: generic() } };

async function siteWith(input: unknown = tenant, version = 1): Promise<Site> {
  const site = new Site();
  await site.configure("acme", input, version);
  return site;
}

async function problemOf(response: Response): Promise<unknown> {
  expect(response.headers.get("content-type")).toBe("application/problem+json");
  return response.json();
}

test("[I1] without a source in the path the signature header decides; where none fits it is 401", async () => {
  const site = await siteWith({
    sources: {
      hub: { provider: "github", secrets: [SECRET] },
      internal: generic(),
      other: generic("another-secret-0123456789"),
      door: { provider: "token", secrets: ["token-0123456789abcdef"], params: { in: "query" } },
    },
  });
  expect((await site.send("/webhook/acme", await signed("{}"))).status).toBe(202);
  expect((await site.send("/webhook/acme", await signed("{}", {}, "another-secret-0123456789"))).status).toBe(202);
  expect((await site.send("/webhook/acme/", { body: "{}" })).status).toBe(401);
  // A token in the URL is no header: it needs its source.
  expect((await site.send("/webhook/acme?token=token-0123456789abcdef", { body: "{}" })).status).toBe(401);
  expect((await site.send("/webhook/acme/door?token=token-0123456789abcdef", { body: "{}" })).status).toBe(202);
  expect(site.object("acme").calls.map((call) => call.source)).toEqual(["internal", "other", "door"]);
});

test("[I1] at most 4 sources are tried", async () => {
  const sources = Object.fromEntries(
    Array.from({ length: 5 }, (_, index) => [`s${index}`, generic(`secret-${index}-0123456789abcdef`)]),
  );
  const site = await siteWith({ sources });
  expect((await site.send("/webhook/acme", await signed("{}", {}, "secret-3-0123456789abcdef"))).status).toBe(202);
  expect((await site.send("/webhook/acme", await signed("{}", {}, "secret-4-0123456789abcdef"))).status).toBe(401);
  expect((await site.send("/webhook/acme/s4", await signed("{}", {}, "secret-4-0123456789abcdef"))).status).toBe(202);
});

test("[I5] unknown tenant, inactive tenant, unknown source and odd paths give the same 404, byte for byte", async () => {
  const site = await siteWith();
  await site.configure("gone", { ...tenant, active: false });
  const faces = new Set<string>();
  const paths = [
    "/webhook/nobody",
    "/webhook/gone",
    "/webhook/gone/internal",
    "/webhook/acme/nothing",
    "/webhook/__proto__",
    "/webhook/constructor",
    "/webhook/acme/__proto__",
    "/webhook/acme/constructor",
    "/webhook/acme/toString",
    "/webhook/hasOwnProperty",
    "/webhook/%ff",
    "/webhook/%",
    "/webhook/acme/internal/more",
    "/webhook/",
  ];
  for (const path of paths) {
    const response = await site.send(path, await signed("{}"));
    faces.add(JSON.stringify([response.status, [...response.headers], await response.text()]));
  }
  expect(faces.size).toBe(1);
  expect([...faces][0]).toContain("404");
});

test("[I6] a request that fails verification hears one plain 401, and the reason stays here", async () => {
  const site = await siteWith();
  const faces = new Set<string>();
  const forgeries: RequestInit[] = [
    { body: "{}" },
    { body: "{}", headers: { "x-signature": "" } },
    { body: "{}", headers: { "x-signature": "zz" } },
    { body: "{}", headers: { "x-signature": "00" } },
    { body: "{}", headers: { "x-signature": "\u00e9" } },
    { body: "{}", headers: { "x-signature": "0".repeat(64) } },
    { ...(await signed("{}")), body: "{} " },
    await signed("{}", {}, "another-secret"),
  ];
  for (const init of forgeries) {
    const response = await site.send("/webhook/acme/internal", init);
    expect(response.status).toBe(401);
    faces.add(JSON.stringify([[...response.headers], await response.text()]));
  }
  expect(faces.size).toBe(1);
  expect(await problemOf(await site.send("/webhook/acme", { body: "{}" }))).toMatchObject({ code: "unauthorized" });
  expect(site.object("acme").calls).toEqual([]);
  const reasons = new Set(site.lines.map((line) => line.fields.code));
  expect(reasons).toEqual(new Set(["missing-signature", "malformed-signature", "signature-mismatch"]));
});

test("[I15] [I18] a flood of one kind of forgery writes one line in 10 s, which says how many were held back", async () => {
  const site = await siteWith();
  for (let i = 0; i < 50; i++) await site.send("/webhook/acme?key=sesame", { body: "{}" });
  expect(site.lines).toHaveLength(1);
  site.nowMs += 10_000;
  await site.send("/webhook/acme?key=sesame", { body: "{}" });
  expect(site.lines).toHaveLength(2);
  expect(site.lines[1]?.fields).toMatchObject({ heldBack: 49, tenant: "acme" });
  expect(JSON.stringify(site.lines)).not.toContain("sesame");
});

test("[I1] other methods are 405 with Allow, for a tenant that exists and for one that does not", async () => {
  const site = await siteWith();
  for (const path of ["/webhook/acme", "/webhook/nobody", "/webhook/acme/nothing"]) {
    for (const method of ["GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS"]) {
      const response = await site.send(path, { method });
      expect([path, method, response.status, response.headers.get("allow")]).toEqual([path, method, 405, "POST"]);
    }
  }
  expect((await site.send("/webhook/__proto__", { method: "GET" })).status).toBe(404);
});

test("[I4] the tenant's own limit counts, and 25 MiB for all before anything is looked up", async () => {
  const site = await siteWith({ ...tenant, maxBodyBytes: 1_024 });
  const exact = await site.send("/webhook/acme", await signed("x".repeat(1_024)));
  expect(exact.status).toBe(202);
  const over = await site.send("/webhook/acme", await signed("x".repeat(1_025)));
  expect([over.status, await problemOf(over)]).toEqual([413, expect.objectContaining({ code: "body-too-large" })]);
  const reads = site.kvReads;
  const huge = await site.send("/webhook/new", { body: "{}", headers: { "content-length": "26214401" } });
  expect([huge.status, site.kvReads]).toEqual([413, reads]);
});

test("[I4] [I19] [S3] while large bodies of a tenant fill the isolate a further one hears 503 and Retry-After: 2; other tenants' small ones are taken", async () => {
  const site = await siteWith({ ...tenant, maxBodyBytes: 1_500_000 });
  const ends: (() => void)[] = [];
  const waiting = Array.from({ length: 37 }, () => {
    const body = new ReadableStream<Uint8Array>({ start: (controller) => void ends.push(() => controller.close()) });
    return site.send("/webhook/acme", { body, headers: { "content-length": "1500000", "x-signature": "00" } });
  });
  await new Promise((resolve) => setTimeout(resolve, 0));
  const headers = { "content-length": "1500000" };
  const busy = await site.send("/webhook/acme", { body: "{}", headers });
  expect([busy.status, busy.headers.get("retry-after"), await problemOf(busy)]).toEqual([
    503,
    "2",
    expect.objectContaining({ code: "busy" }),
  ]);
  await site.configure("other", tenant);
  const init = await signed('{"id":1}', { "content-length": "8" });
  expect((await site.send("/webhook/other", init)).status).toBe(202);
  for (const end of ends) end();
  for (const response of await Promise.all(waiting)) expect(response.status).toBe(401);
  expect((await site.send("/webhook/acme", { body: "{}", headers })).status).toBe(401);
});

test("[V17] a request that has been through Spillway three times is refused before anything is looked up", async () => {
  const site = await siteWith();
  const answerTo = async (hops: string) => site.send("/webhook/acme", await signed("{}", { "spillway-hops": hops }));
  expect((await answerTo("2")).status).toBe(202);
  expect(site.object("acme").calls[0]?.hops).toBe(2);
  const looped = await answerTo("3");
  expect([looped.status, await problemOf(looped)]).toEqual([508, expect.objectContaining({ code: "loop" })]);
  expect((await answerTo("99")).status).toBe(508);
  expect((await answerTo("nonsense")).status).toBe(202);
});

test("[I7] a configuration that cannot be opened is our fault: 503, not 401 or 404", async () => {
  const site = await siteWith();
  const record = site.kv.get("acme");
  if (record !== undefined) site.kv.set("acme", { ...record, keyId: "another" });
  const response = await site.send("/webhook/acme", await signed("{}"));
  expect([response.status, response.headers.has("retry-after"), await problemOf(response)]).toEqual([
    503,
    true,
    expect.objectContaining({ code: "source-unusable" }),
  ]);
  expect(site.lines).toMatchObject([{ event: "webhook-refused" }]);
});

test("[I7] [I9] a source whose last secret has retired answers 503; until then both secrets are good", async () => {
  const site = new Site();
  const retiresAt = new Date(site.nowMs + 60_000).toISOString();
  await site.configure("acme", {
    sources: { internal: { provider: "generic", secrets: [{ value: SECRET, retiresAt }] } },
  });
  expect((await site.send("/webhook/acme", await signed("{}"))).status).toBe(202);
  site.nowMs += 60_000;
  const response = await site.send("/webhook/acme", await signed("{}"));
  expect([response.status, await problemOf(response)]).toEqual([
    503,
    expect.objectContaining({ code: "source-unusable" }),
  ]);
});

test("[C4] when KV fails and memory knows nothing it is 503 with Retry-After; with memory it goes on", async () => {
  const site = await siteWith();
  expect((await site.send("/webhook/acme", await signed("{}"))).status).toBe(202);
  site.kvFails = true;
  site.nowMs += 31_000;
  expect((await site.send("/webhook/acme", await signed("{}"))).status).toBe(202);
  const response = await site.send("/webhook/other", await signed("{}"));
  expect([response.status, response.headers.get("retry-after")]).toEqual([503, "30"]);
});

test("[C4] a thousand webhooks read KV once", async () => {
  const site = await siteWith();
  const init = await signed("{}");
  await Promise.all(Array.from({ length: 200 }, () => site.send("/webhook/acme", init)));
  for (let i = 0; i < 50; i++) await site.send("/webhook/nobody", init);
  expect(site.kvReads).toBe(2);
});
