/** A tenant as an operator and a sender see it: over HTTP alone, plus the clock of its alarm. */
import { runDurableObjectAlarm } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import type { TenantStats } from "../../src/buffer/contract.ts";
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
export function admin(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return ask(`/admin${path}`, {
    method,
    headers: { authorization: "Bearer test-admin-token", "content-type": "application/json", ...headers },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
}

export class Tenant {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }

  /** Creates a tenant of its own for one test, with a generic source and one destination. */
  static async create(config: Record<string, unknown> = {}): Promise<Tenant> {
    const tenant = new Tenant(`t-${crypto.randomUUID()}`);
    const response = await tenant.configure(config);
    if (response.status >= 300) throw new Error(`PUT answered ${response.status}: ${await response.text()}`);
    return tenant;
  }

  configure(config: Record<string, unknown>): Promise<Response> {
    return admin("PUT", `/tenants/${this.name}`, {
      sources: { in: { provider: "generic", secrets: [SECRET] } },
      rateLimit: { events: 100_000, windowSeconds: 10 },
      destinations: {
        origin: { kind: "http", url: "https://origin.test/in", batch: { flushDelayMs: 0 } },
      },
      ...config,
    });
  }

  /** Posts a signed event, as the generic source signs it. */
  async post(id: string | null, body: string | Uint8Array, headers: Record<string, string> = {}): Promise<Response> {
    const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
    return ask(`/webhook/${this.name}`, {
      method: "POST",
      headers: { "x-signature": await sign(bytes), ...(id === null ? {} : { "x-event-id": id }), ...headers },
      body: bytes,
    });
  }

  get stub() {
    return bindings.TENANT_BUFFER.getByName(this.name);
  }

  async stats(): Promise<TenantStats> {
    const response = await admin("GET", `/tenants/${this.name}/stats`);
    return (await response.json()) as TenantStats;
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
      each.delivered + each.backlog + each.dead + each.filtered + each.purged + each.expired + each.erased,
  );
}
