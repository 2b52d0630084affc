import { createScheduledController } from "cloudflare:test";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { tenantSummaries } from "../../src/admin/tenant-summaries.ts";
import worker from "../../src/index.ts";
import type { Summary } from "../../src/sweep/summaries.ts";
import { moveClock, startClock, stopClock } from "../flow/clock.ts";
import { Origin, status } from "../flow/origin.ts";
import { admin, ask, bindings, Tenant } from "../flow/tenant.ts";

beforeEach(() => startClock());

afterEach(() => {
  vi.restoreAllMocks();
  stopClock();
});

async function sweepNow(): Promise<void> {
  await worker.scheduled(createScheduledController(), bindings);
}

function metrics(token = "test-admin-token"): Promise<Response> {
  return ask("/metrics", { headers: { authorization: `Bearer ${token}` } });
}

/** The samples of one tenant, as `name{labels but the tenant}` → value. */
function samplesOf(text: string, tenant: string): Record<string, number> {
  const label = `tenant="${tenant}"`;
  const lines = text.split("\n").filter((line) => line.includes(label));
  return Object.fromEntries(
    lines.map((line) => {
      const [name = "", value = ""] = line.split("} ");
      return [name.replace(label, "").replace("{,", "{"), Number(value)];
    }),
  );
}

test("[O8] [O1] metrics want the admin token, and are only read", async () => {
  expect((await ask("/metrics")).status).toBe(401);
  expect((await metrics("wrong")).status).toBe(401);
  const post = await ask("/metrics", { method: "POST", headers: { authorization: "Bearer test-admin-token" } });
  expect(post.status).toBe(405);
});

test("[O8] metrics and the list of tenants say what the sweep heard, with its age, and call no object", {
  timeout: 20_000,
}, async () => {
  const origin = new Origin();
  origin.answer = (_, events) => status(events.some((event) => event.id === "in:evt_2") ? 500 : 204);
  const tenant = await Tenant.create();
  await tenant.accept("evt_1");
  await tenant.runAlarm();
  await tenant.accept("evt_2", "evt_3");
  await tenant.runAlarm();
  const known = async () => (await bindings.TENANT_CONFIG.list({ prefix: "registry:" })).keys.map((key) => key.name);
  await vi.waitFor(async () => expect(await known()).toContain(`registry:${tenant.name}`));
  await sweepNow();
  moveClock(60_000);
  await tenant.accept("evt_4");
  const calls = vi.spyOn(bindings.TENANT_BUFFER, "getByName");
  const response = await metrics();
  expect(response.headers.get("content-type")).toContain("version=0.0.4");
  const text = await response.text();
  expect(text).toContain("# TYPE spillway_events gauge");
  const samples = samplesOf(text, tenant.name);
  const of = (name: string, state = "") => samples[`${name}{destination="origin"${state && `,state="${state}"`}`];
  expect(samples["spillway_accepted_total{"]).toBe(3);
  expect(samples["spillway_summary_age_seconds{"]).toBe(60);
  expect(of("spillway_offered_total")).toBe(3);
  expect(of("spillway_events", "delivered")).toBe(2);
  expect(of("spillway_events", "backlog")).toBe(1);
  expect(of("spillway_retrying_events")).toBe(1);
  expect(of("spillway_destination_state", "closed")).toBe(1);
  expect(of("spillway_destination_state", "open")).toBe(0);
  expect(samples["spillway_rows_written_total{"]).toBeGreaterThan(0);

  const list = (await (await admin("GET", "/tenants")).json()) as {
    tenants: string[];
    summaries: Record<string, { ageSeconds: number; accepted: number; acceptedPerSecond: number | null }>;
  };
  expect(list.tenants).toContain(tenant.name);
  expect(list.summaries[tenant.name]).toMatchObject({
    ageSeconds: 60,
    accepted: 3,
    acceptedPerSecond: null,
    destinations: { origin: { delivered: 2, backlog: 1, retrying: 1, state: "closed" } },
  });
  expect(calls).not.toHaveBeenCalled();
  calls.mockRestore();

  await sweepNow();
  const later = (await (await admin("GET", "/tenants")).json()) as typeof list;
  expect(later.summaries[tenant.name]).toMatchObject({ ageSeconds: 0, accepted: 4, acceptedPerSecond: 0.02 });
});

test("[O8] [S1] the objects of a tenant are one summary, as old as its oldest part; who never answered is left out", () => {
  const stats = (accepted: number): Summary["stats"] => ({
    tenant: "acme",
    version: 1,
    accepted,
    deduplicated: 0,
    deduplicatedWithOtherBody: 0,
    rateLimited: 0,
    reopened: 0,
    destinations: {},
    storage: { bytes: 10, segments: 1 },
    cost: { since: "2026-11-29T00:00:00.000Z", rowsWritten: 1, rowsRead: 1, setupRows: 0, commits: 1 },
    alerts: [],
  });
  const summaries = tenantSummaries(
    new Map<string, Summary>([
      ["zeta", { calledAtMs: 9, collectedAtMs: null, stats: null, acceptedPerSecond: null }],
      ["acme.1", { calledAtMs: 9, collectedAtMs: 5, stats: stats(2), acceptedPerSecond: 0.5 }],
      ["acme", { calledAtMs: 9, collectedAtMs: 9, stats: stats(3), acceptedPerSecond: 1 }],
    ]),
  );
  expect([...summaries.keys()]).toEqual(["acme"]);
  expect(summaries.get("acme")).toMatchObject({ collectedAtMs: 5, acceptedPerSecond: 1.5, stats: { accepted: 5 } });
});
