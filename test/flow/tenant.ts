/** A tenant as an operator and a sender see it: over HTTP alone, plus the clock of its alarm. */
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { vi } from "vitest";
import type {
  AlertRow,
  EventView,
  IngestAnswer,
  IngestCall,
  TenantBufferCalls,
  TenantStats,
} from "../../src/buffer/contract.ts";
import type { Bindings } from "../../src/env.ts";

const BASE = "https://buf.test";
export const SECRET = "generic-secret-01-long";
export const bindings = env as unknown as Bindings;

/** One request to the Worker. */
export function ask(path: string, init?: RequestInit): Promise<Response> {
  return (exports as unknown as { default: { fetch(request: Request): Promise<Response> } }).default.fetch(
    new Request(`${BASE}${path}`, init),
  );
}

/** One admin call, signed in. */
export function admin(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  return ask(`/admin${path}`, {
    method,
    headers: { authorization: "Bearer test-admin-token", "content-type": "application/json", ...headers },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
}

/** An HTTP destination that sends at once. */
export function http(host = "origin.test", changes: Record<string, unknown> = {}): Record<string, unknown> {
  return { kind: "http", url: `https://${host}/in`, batch: { flushDelayMs: 0 }, ...changes };
}

export class Tenant {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }

  /** Creates a tenant of its own for one test, with a generic source and one destination. */
  static async create(config: Record<string, unknown> = {}): Promise<Tenant> {
    const tenant = new Tenant(`t-${crypto.randomUUID()}`);
    await tenant.reconfigure(config);
    return tenant;
  }

  /** As `configure`, and sure that it was taken. */
  async reconfigure(config: Record<string, unknown>, query = ""): Promise<void> {
    const response = await this.configure(config, query);
    if (response.status >= 300) throw new Error(`PUT answered ${response.status}: ${await response.text()}`);
  }

  configure(config: Record<string, unknown>, query = ""): Promise<Response> {
    return admin("PUT", `/tenants/${this.name}${query}`, {
      sources: { in: { provider: "generic", secrets: [SECRET] } },
      rateLimit: { events: 100_000, windowSeconds: 10 },
      destinations: { origin: http() },
      ...config,
    });
  }

  /** Hands an event straight to the object, as the Worker does. */
  async ingest(call: IngestCall): Promise<IngestAnswer> {
    const reply = await this.calls.ingest({ ...call, brief: true });
    return reply === true ? { kind: "buffered", eventId: call.eventId } : reply;
  }

  /** Posts a signed event, as the generic source signs it. */
  async post(
    id: string | null,
    body: string | Uint8Array,
    headers: Record<string, string> = {},
    path = `/webhook/${this.name}`,
  ): Promise<Response> {
    const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
    return ask(path, {
      method: "POST",
      headers: { "x-signature": await sign(bytes), ...(id === null ? {} : { "x-event-id": id }), ...headers },
      body: bytes,
    });
  }

  /** Posts events one after another and expects each to be stored. */
  async accept(...ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      const response = await this.post(id, JSON.stringify({ id }));
      if (response.status !== 202) throw new Error(`${id} was answered ${response.status}: ${await response.text()}`);
    }
  }

  /** An operator's call about this tenant; `path` begins with a slash. */
  admin(method: string, path: string, body?: unknown): Promise<Response> {
    return admin(method, `/tenants/${this.name}${path}`, body ?? (method === "GET" ? undefined : {}));
  }

  get stub() {
    return bindings.TENANT_BUFFER.getByName(this.name);
  }

  /** As `settle`, for each of a tenant's objects. */
  async settleShards(count: number): Promise<void> {
    for (let shard = 0; shard < count; shard += 1) {
      const stub = bindings.TENANT_BUFFER.getByName(shard === 0 ? this.name : `${this.name}.${shard}`);
      for (let runs = 0; runs < 20 && (await runDurableObjectAlarm(stub)); runs += 1) {
        const { destinations } = await this.stats();
        if (Object.values(destinations).every((each) => each.backlog === 0)) break;
      }
    }
  }

  /** The object's calls, as the Worker makes them. */
  get calls(): TenantBufferCalls {
    return this.stub as unknown as TenantBufferCalls;
  }

  async stats(): Promise<TenantStats> {
    const response = await this.admin("GET", "/stats");
    return (await response.json()) as TenantStats;
  }

  /** The ledger of one destination. */
  async ledger(destination = "origin") {
    const ledger = (await this.stats()).destinations[destination];
    if (ledger === undefined) throw new Error(`no destination ${destination}`);
    return ledger;
  }

  /** The event as an operator sees it; null: unknown. */
  async event(id: string): Promise<EventView | null> {
    const response = await this.admin("GET", `/events/${encodeURIComponent(`in:${id}`)}`);
    return response.status === 404 ? null : ((await response.json()) as EventView);
  }

  /** Takes the object out of memory, as the platform does when it is idle or the Worker is deployed. */
  async evict(): Promise<void> {
    // One that is not in memory cannot be taken out of it.
    await this.calls.readConfig();
    await evictDurableObject(this.stub);
  }

  /** Runs statements on the object's own database, behind its back. */
  sql<T extends Record<string, SqlStorageValue>>(statement: string, ...bindings: SqlStorageValue[]): Promise<T[]> {
    return runInDurableObject(this.stub, (_, state) => state.storage.sql.exec<T>(statement, ...bindings).toArray());
  }

  alarmAtMs(): Promise<number | null> {
    return runInDurableObject(this.stub, (_, state) => state.storage.getAlarm());
  }

  /** Loses the alarm behind the object's back. */
  loseAlarm(): Promise<void> {
    return runInDurableObject(this.stub, (_, state) => state.storage.deleteAlarm());
  }

  /** Lets the alarm go off now, whatever it is set for; false where none is set. */
  runAlarm(): Promise<boolean> {
    return runDurableObjectAlarm(this.stub);
  }

  /** Moves the clock on by `ms`, letting the alarm go off whenever it comes due; answers how often it did. */
  async runFor(ms: number): Promise<number> {
    const endMs = Date.now() + ms;
    let runs = 0;
    for (;;) {
      const atMs = await this.alarmAtMs();
      if (atMs === null || atMs > endMs) break;
      vi.setSystemTime(Math.max(Date.now(), atMs));
      await this.runAlarm();
      runs += 1;
    }
    vi.setSystemTime(Math.max(Date.now(), endMs));
    return runs;
  }

  /** Lets the alarm run until none is set that is due now; answers how often it ran. */
  async settle(runsMax = 200): Promise<number> {
    let runs = 0;
    while (runs < runsMax && (await runDurableObjectAlarm(this.stub))) {
      runs += 1;
      const stats = await this.stats();
      const waits = Object.values(stats.destinations).every(
        (each) => each.backlog === 0 || each.nextAttemptAt === null || Date.parse(each.nextAttemptAt) > Date.now(),
      );
      if (waits) break;
    }
    return runs;
  }
}

async function sign(body: Uint8Array): Promise<string> {
  const key = await crypto.subtle.importKey(
    "raw",
    new TextEncoder().encode(SECRET),
    { name: "HMAC", hash: "SHA-256" },
    false,
    ["sign"],
  );
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, body)).toHex();
}

/** What the ledger of every destination must add up to [X5]. */
export function isBalanced(stats: TenantStats): boolean {
  return Object.values(stats.destinations).every(
    (each) =>
      each.offered ===
        each.delivered + each.backlog + each.dead + each.filtered + each.purged + each.expired + each.erased &&
      Object.values(each).every((value) => typeof value !== "number" || value >= 0),
  );
}

/** The alert of this kind that `stats` shows, if there is one. */
export function alertOf(stats: TenantStats, kind: string): AlertRow | null {
  return stats.alerts.find((alert) => alert.kind === kind) ?? null;
}
