/** Events handed straight to a tenant's object, as the Worker hands them over, without the way through HTTP. */
import type { IngestAnswer, IngestCall } from "../../src/buffer/contract.ts";
import type { IdTrust } from "../../src/core/event.ts";
import { bodyDigest, ingestKeys } from "../../src/ingress/digests.ts";
import type { Tenant } from "../flow/tenant.ts";

export interface Arrival {
  readonly id: string;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly source?: string;
  readonly trust?: IdTrust;
  readonly type?: string | null;
  readonly overLimit?: "reject" | "absorb";
  readonly version?: number;
}

/** Text as the bytes a sender sends. */
export function utf8(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(new TextEncoder().encode(text));
}

/** The call for one event; ids are signed unless said otherwise. */
export async function callFor(tenant: Tenant, arrival: Arrival): Promise<IngestCall> {
  const { id, body = `{"id":"${id}"}`, source = "in", trust = "signed", type = null } = arrival;
  const bytes = typeof body === "string" ? utf8(body) : body;
  const eventId = `${source}:${id}`;
  return {
    tenant: tenant.name,
    version: arrival.version ?? Number.MAX_SAFE_INTEGER,
    source,
    provider: "generic",
    eventId,
    trust,
    type,
    contentType: "application/json",
    headers: "",
    hops: 0,
    overLimit: arrival.overLimit ?? "reject",
    keys: ingestKeys(eventId, trust, await bodyDigest(bytes)),
    body: bytes,
  };
}

export async function arrive(tenant: Tenant, ...arrivals: readonly Arrival[]): Promise<IngestAnswer[]> {
  const calls = await Promise.all(arrivals.map((arrival) => callFor(tenant, arrival)));
  return Promise.all(calls.map(async (call) => tenant.ingest(call)));
}

export async function arriveOne(tenant: Tenant, arrival: Arrival): Promise<IngestAnswer> {
  return tenant.ingest(await callFor(tenant, arrival));
}

/** `count` events `<prefix>0` … of `bodySizeBytes`, made in advance so that only the object is measured. */
export async function manyCalls(
  tenant: Tenant,
  prefix: string,
  count: number,
  bodySizeBytes = 64,
  changes: Partial<IngestCall> = {},
): Promise<IngestCall[]> {
  const body = new Uint8Array(bodySizeBytes).fill(0x61);
  const digest = await bodyDigest(body);
  const calls: IngestCall[] = [];
  for (let index = 0; index < count; index += 1) {
    const eventId = `in:${prefix}${index}`;
    const keys = ingestKeys(eventId, "signed", digest);
    calls.push({
      tenant: tenant.name,
      version: Number.MAX_SAFE_INTEGER,
      source: "in",
      provider: "generic",
      eventId,
      trust: "signed",
      type: null,
      contentType: "application/json",
      headers: "",
      hops: 0,
      overLimit: "reject",
      keys,
      body,
      ...changes,
    });
  }
  return calls;
}
