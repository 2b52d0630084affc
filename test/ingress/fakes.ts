/** What the ingress needs around it, in the test's own hands: objects, KV, clock. */
import type { IngestAnswer, IngestCall, TenantBufferCalls, TenantObjects } from "../../src/buffer/contract.ts";
import { Ingress } from "../../src/ingress/ingress.ts";
import { ThrottledLog } from "../../src/observe/throttled-log.ts";
import { TenantCache } from "../../src/tenants/cache.ts";
import type { ConfigRecord } from "../../src/tenants/config.ts";
import { parseConfig } from "../../src/tenants/parse.ts";
import { sealConfig } from "../../src/tenants/sealing.ts";
import { context } from "../tenants/sample.ts";

export const SECRET = "0123456789abcdef0123456789abcdef";
export const keys = { current: new Uint8Array(32).fill(1), previous: null };

/** Seals an operator's input as the admin API would. */
export async function recordOf(tenant: string, input: unknown, version: number): Promise<ConfigRecord> {
  const parsed = parseConfig(input, { ...context, allowInsecureDestinations: true });
  if (parsed.kind === "problems") throw new Error(JSON.stringify(parsed.problems));
  return sealConfig(keys, tenant, parsed.config, version, "live");
}

/** A tenant's object whose answers the test decides. */
export class FakeObject {
  readonly calls: IngestCall[] = [];
  configReads = 0;
  newest: ConfigRecord | null = null;
  answer: (call: IngestCall, count: number) => IngestAnswer | Promise<IngestAnswer> = (call) => ({
    kind: "buffered",
    eventId: call.eventId,
  });

  ingest = async (call: IngestCall): Promise<IngestAnswer> => {
    this.calls.push(call);
    return this.answer(call, this.calls.length);
  };

  readConfig = async (): Promise<ConfigRecord | null> => {
    this.configReads += 1;
    return this.newest;
  };
}

export interface LogLine {
  readonly event: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** One isolate of the ingress over a fake KV and fake objects. */
export class Site {
  readonly kv = new Map<string, ConfigRecord>();
  readonly objects = new Map<string, FakeObject>();
  readonly stubs: string[] = [];
  readonly lines: LogLine[] = [];
  kvFails = false;
  kvReads = 0;
  nowMs = Date.now();
  readonly ingress: Ingress;

  constructor(options: { readonly fixedClockMs?: number } = {}) {
    const read = async (tenant: string): Promise<ConfigRecord | null> => {
      this.kvReads += 1;
      if (this.kvFails) throw new Error("KV is down");
      return this.kv.get(tenant) ?? null;
    };
    const objects: TenantObjects = {
      of: (tenant) => {
        this.stubs.push(tenant);
        return this.object(tenant) as unknown as TenantBufferCalls;
      },
    };
    this.ingress = new Ingress({
      cache: new TenantCache({ read, keys }),
      objects,
      now: () => this.nowMs,
      fixedClockMs: options.fixedClockMs ?? null,
      log: new ThrottledLog((_level, event, fields) => this.lines.push({ event, fields })),
    });
  }

  object(tenant: string): FakeObject {
    const known = this.objects.get(tenant) ?? new FakeObject();
    this.objects.set(tenant, known);
    return known;
  }

  /** Puts a configuration into KV and into the tenant's object, as the admin API would. */
  async configure(tenant: string, input: unknown, version = 1): Promise<ConfigRecord> {
    const record = await recordOf(tenant, input, version);
    this.kv.set(tenant, record);
    this.object(tenant).newest = record;
    return record;
  }

  async send(path: string, init: RequestInit = {}): Promise<Response> {
    const request = new Request(`https://hooks.example.com${path}`, { method: "POST", ...init });
    return this.ingress.handle(request, { waitUntil: () => {} });
  }
}

/** Hex HMAC-SHA256, as a `generic` sender signs. */
export async function signatureOf(body: BufferSource | string, secret = SECRET): Promise<string> {
  const encoder = new TextEncoder();
  const key = await crypto.subtle.importKey("raw", encoder.encode(secret), { name: "HMAC", hash: "SHA-256" }, false, [
    "sign",
  ]);
  const bytes = typeof body === "string" ? encoder.encode(body) : body;
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, bytes)).toHex();
}

/** A signed request of a `generic` sender. */
export async function signed(
  body: BufferSource | string,
  headers: Readonly<Record<string, string>> = {},
  secret = SECRET,
): Promise<RequestInit> {
  return { body, headers: { "x-signature": await signatureOf(body, secret), ...headers } };
}

export const generic = (secret = SECRET) => ({ provider: "generic", secrets: [secret] });
