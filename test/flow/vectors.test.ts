import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { providerRow } from "../../src/providers/catalogue.ts";
import { REASONS } from "../providers/reasons.ts";
import type { Vector } from "../providers/vectors.ts";
import { clockMs, configure, recorded, send, signedLikeAnEvent } from "./recorded.ts";
import { Tenant } from "./tenant.ts";

/** Recorded requests that are judged by another rule than their own, and why. */
const OTHERWISE: Readonly<Record<string, { readonly status: number; readonly why: string }>> = {
  "hubspot-185": { status: 405, why: "genuine, but by GET: events come by POST alone [I1]" },
  "discord-167": { status: 200, why: "genuine, but a ping: answered, and nothing to store [P3]" },
  "discord-172": { status: 204, why: "genuine, but a ping: answered, and nothing to store [P3]" },
};

const log: string[] = [];

beforeEach(() => {
  log.length = 0;
  vi.useFakeTimers({ toFake: ["Date"] });
  vi.spyOn(console, "warn").mockImplementation((line: unknown) => void log.push(String(line)));
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** A tenant of its own for one vector, at the vector's time. */
async function tenantFor(vector: Vector): Promise<{ readonly tenant: Tenant; readonly put: Response }> {
  vi.setSystemTime(clockMs(vector));
  const tenant = new Tenant(`v-${crypto.randomUUID()}`);
  return { tenant, put: await configure(tenant.name, vector) };
}

function rowOf(vector: Vector) {
  const row = providerRow(vector.spec);
  if (row === undefined) throw new Error(`no row ${vector.spec}`);
  return row;
}

const events = recorded.filter((vector) => vector.kind === "event");
const genuine = events.filter((vector) => vector.valid);
const forged = events.filter((vector) => !vector.valid);
const handshakes = recorded.filter((vector) => vector.kind === "handshake");
const named = (vectors: readonly Vector[]) => vectors.map((vector) => [vector.id, vector] as const);

describe("recorded requests at the running Worker", () => {
  test.each(named(genuine))("[P5] [P4] %s is taken in", async (_, vector) => {
    const { tenant, put } = await tenantFor(vector);
    expect([put.status, put.ok ? "" : await put.text()]).toEqual([200, ""]);
    const response = await send(tenant.name, vector);
    const otherwise = OTHERWISE[vector.id];
    if (otherwise !== undefined) {
      expect(response.status).toBe(otherwise.status);
      return;
    }
    const { success } = rowOf(vector).answer;
    const text = await response.text();
    expect([response.status, log]).toEqual([success.status, []]);
    if (success.body === "status") {
      const { status, eventId } = JSON.parse(text) as { status: string; eventId: string };
      expect(status).toBe("buffered");
      if (vector.expectedEventId !== undefined) expect(eventId).toBe(`src:${vector.expectedEventId}`);
    } else {
      expect(text).toBe(success.body === "none" ? "" : success.body.text);
    }
    expect((await tenant.stats()).accepted).toBe(1);
  });

  test.each(named(forged))("[I6] %s is turned away", async (_, vector) => {
    const { tenant, put } = await tenantFor(vector);
    if (!put.ok) {
      // A secret that can be none is refused when it is configured [I7].
      expect(put.status).toBe(400);
      expect(vector.reason).toMatch(/secret/);
      return;
    }
    const response = await send(tenant.name, vector);
    expect(response.status).toBe(401);
    expect(await response.text()).toBe(
      '{"type":"about:blank","title":"Unauthorized","status":401,"code":"unauthorized","detail":"The request could not be verified."}',
    );
    const codes = log.map((line) => JSON.parse(line) as { event: string; code: string }).map(({ code }) => code);
    expect(codes).toHaveLength(1);
    expect(REASONS[vector.reason ?? ""]).toContain(codes[0]);
    expect((await tenant.stats()).accepted).toBe(0);
  });

  test.each(named(handshakes))("[P3] %s is answered", async (_, vector) => {
    const question = ["slack", "zoom"].includes(vector.spec) ? await signedLikeAnEvent(vector) : vector;
    const { tenant, put } = await tenantFor(question);
    expect([put.status, put.ok ? "" : await put.text()]).toEqual([200, ""]);
    const response = await send(tenant.name, question);
    const { expectResponse: expected } = vector;
    expect(response.status).toBe(expected?.status);
    const text = await response.text();
    if (expected?.body !== undefined) expect(text).toBe(expected.body);
    if (expected?.bodyOneOf !== undefined) expect(expected.bodyOneOf).toContain(text);
    if (expected?.bodyEmpty === true) expect(text).toBe("");
    if (expected?.json !== undefined) expect(JSON.parse(text)).toEqual(expected.json);
    for (const [name, value] of Object.entries(expected?.headers ?? {})) {
      expect(response.headers.get(name)).toContain(value);
    }
  });
});
