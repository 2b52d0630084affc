import { expect, test } from "vitest";
import { call, freshName, input, post } from "./operator.ts";

async function tenant(): Promise<string> {
  const name = freshName();
  const created = await call("PUT", `/admin/tenants/${name}`, input());
  if (created.status !== 200) throw new Error(created.text);
  return name;
}

test("[X5] stats show what was accepted and where it waits", async () => {
  const name = await tenant();
  await post(name, "one", "{}");
  await post(name, "one", "{}");
  const stats = await call("GET", `/admin/tenants/${name}/stats`);
  expect(stats.json).toMatchObject({
    tenant: name,
    accepted: 1,
    deduplicated: 1,
    destinations: { origin: { state: "closed", offered: 1, backlog: 1, delivered: 0 } },
  });
  expect((await call("GET", `/admin/tenants/${freshName()}/stats`)).status).toBe(404);
});

test("[V18] a destination is paused and resumed by hand", async () => {
  const name = await tenant();
  expect((await call("POST", `/admin/tenants/${name}/destinations/origin/pause`)).json).toMatchObject({ paused: true });
  const paused = await call("GET", `/admin/tenants/${name}/stats`);
  expect(paused.json).toMatchObject({ destinations: { origin: { state: "paused" } } });
  expect((await call("POST", `/admin/tenants/${name}/destinations/origin/resume`, {})).json).toMatchObject({
    resumed: true,
  });
  const resumed = await call("GET", `/admin/tenants/${name}/stats`);
  expect(resumed.json).toMatchObject({ destinations: { origin: { state: "closed" } } });
  for (const destination of ["nothing", "__proto__", "constructor"]) {
    const missing = await call("POST", `/admin/tenants/${name}/destinations/${destination}/pause`);
    expect([missing.status, missing.json.code]).toEqual([404, "no-such-destination"]);
  }
});

test("[V20] drain is answered for a tenant that exists, 404 for another", async () => {
  expect((await call("POST", `/admin/tenants/${await tenant()}/drain`)).status).toBe(200);
  const missing = await call("POST", `/admin/tenants/${freshName()}/drain`);
  expect([missing.status, missing.json.code]).toEqual([404, "no-such-tenant"]);
});

test("[X7] an event is found by its id, whatever signs it holds", async () => {
  const name = await tenant();
  for (const id of ["one", "a/b", "a%2Fb", "100%", "x:y~z", "?q=1&#"]) {
    expect((await post(name, id, `{"id":${JSON.stringify(id)}}`)).status).toBe(202);
    const path = `/admin/tenants/${name}/events/${encodeURIComponent(`internal:${id}`)}`;
    const event = await call("GET", path);
    expect([id, event.status, event.json.id]).toEqual([id, 200, `internal:${id}`]);
    expect(event.json).toMatchObject({ source: "internal", provider: "generic", destinations: { origin: {} } });
    expect((await call("GET", `${path}/body`)).text).toBe(`{"id":${JSON.stringify(id)}}`);
  }
  const missing = await call("GET", `/admin/tenants/${name}/events/internal%3Anothing`);
  expect([missing.status, missing.json.code]).toEqual([404, "no-such-event"]);
});

test("[O11] stored bytes are data: no browser shows or runs them", async () => {
  const name = await tenant();
  await post(name, "one", "<script>alert(1)</script>");
  const body = await call("GET", `/admin/tenants/${name}/events/internal%3Aone/body`);
  expect(body.text).toBe("<script>alert(1)</script>");
  expect(body.headers.get("content-type")).toBe("application/octet-stream");
  expect(body.headers.get("content-disposition")).toBe("attachment");
  expect(body.headers.get("x-content-type-options")).toBe("nosniff");
  expect(body.headers.get("content-security-policy")).toBe("sandbox; default-src 'none'");
  expect((await call("GET", `/admin/tenants/${name}/events/internal%3Anothing/body`)).status).toBe(404);
});

test("[X1] dead letters are listed for the only destination, or for the one that is named", async () => {
  const name = await tenant();
  expect((await call("GET", `/admin/tenants/${name}/dead-letters`)).json).toEqual({ items: [], cursor: null });
  expect((await call("GET", `/admin/tenants/${name}/dead-letters?destination=origin&limit=1`)).status).toBe(200);
  expect((await call("GET", `/admin/tenants/${name}/dead-letters?destination=nothing`)).status).toBe(404);
  expect((await call("GET", `/admin/tenants/${name}/dead-letters?limit=0`)).status).toBe(400);
  await call("PATCH", `/admin/tenants/${name}`, { destinations: { second: { url: "https://second.test/" } } });
  const unclear = await call("GET", `/admin/tenants/${name}/dead-letters`);
  expect([unclear.status, unclear.json.code]).toEqual([400, "destination-required"]);
  expect(unclear.json.detail).toContain("origin, second");
});

test("[X2] a redrive by ids says how many it moved; what is not dead is not moved", async () => {
  const name = await tenant();
  await post(name, "one", "{}");
  const redrive = (body: unknown) => call("POST", `/admin/tenants/${name}/dead-letters/redrive`, body);
  expect((await redrive({ ids: ["internal:one", "internal:nothing"] })).json).toMatchObject({ count: 0 });
  expect((await redrive({ destination: "nothing", ids: ["x"] })).status).toBe(404);
  const wrong = await redrive({ ids: [], colour: "red", dryRun: "yes" });
  expect([wrong.status, (wrong.json.errors as { path: string }[]).map((error) => error.path)]).toEqual([
    400,
    ["colour", "dryRun", "ids"],
  ]);
  expect((await redrive({ ids: Array.from({ length: 1_001 }, () => "x") })).status).toBe(400);
});
