/** Floor (c): Worker → Durable Object → one INSERT, with the signature checked. No limit, no queue, no delivery. */
import { DurableObject } from "cloudflare:workers";
import { isGenuine } from "./verify.ts";

interface Env {
  readonly SECRET: string;
  readonly TENANT: DurableObjectNamespace<Tenant>;
}

export class Tenant extends DurableObject<Env> {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    ctx.storage.sql.exec(
      "CREATE TABLE IF NOT EXISTS events (id TEXT PRIMARY KEY, received_at_ms INTEGER NOT NULL, body BLOB NOT NULL)",
    );
  }

  store(id: string, body: ArrayBuffer): boolean {
    const cursor = this.ctx.storage.sql.exec(
      "INSERT OR IGNORE INTO events (id, received_at_ms, body) VALUES (?, ?, ?)",
      id,
      Date.now(),
      body,
    );
    return cursor.rowsWritten > 0;
  }
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const body = await request.arrayBuffer();
    if (!(await isGenuine(request, body, env.SECRET))) return new Response(null, { status: 401 });
    const tenant = new URL(request.url).pathname.slice("/webhook/".length);
    const id = request.headers.get("X-Event-ID") ?? "";
    const isNew = await env.TENANT.get(env.TENANT.idFromName(tenant)).store(id, body);
    return Response.json({ status: isNew ? "buffered" : "deduplicated", eventId: id }, { status: isNew ? 202 : 200 });
  },
};
