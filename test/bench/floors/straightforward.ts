/**
 * Floor (s): the design that comes to mind first. One table of processed ids, one of the rate window, one queue with a
 * status per row; an alarm sends 50 events every 2 s and deletes them when the origin said yes.
 */
import { DurableObject } from "cloudflare:workers";
import { isGenuine } from "./verify.ts";

interface Env {
  readonly SECRET: string;
  readonly ORIGIN_URL: string;
  readonly TENANT: DurableObjectNamespace<Tenant>;
}

interface QueuedRow extends Record<string, SqlStorageValue> {
  readonly seq: number;
  readonly id: string;
  readonly body: string;
}

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS processed (id TEXT PRIMARY KEY, processed_at_ms INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS rate_window (id INTEGER PRIMARY KEY, started_at_ms INTEGER NOT NULL, count INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS queue (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, body TEXT NOT NULL, status TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0, created_at_ms INTEGER NOT NULL);
  CREATE INDEX IF NOT EXISTS queue_status ON queue (status, created_at_ms);`;
const RATE_MAX = 100_000;
const WINDOW_MS = 1_000;
const BATCH_EVENTS = 50;
const INTERVAL_MS = 2_000;

export class Tenant extends DurableObject<Env> {
  #sql: SqlStorage;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    this.#sql.exec(SCHEMA);
  }

  async store(id: string, body: string): Promise<"buffered" | "deduplicated" | "rate_limited"> {
    const nowMs = Date.now();
    const answer = this.ctx.storage.transactionSync(() => {
      const seen = this.#sql.exec("SELECT 1 FROM processed WHERE id = ?", id).toArray();
      if (seen.length > 0) return "deduplicated";
      if (!this.#takeToken(nowMs)) return "rate_limited";
      this.#sql.exec("INSERT INTO processed (id, processed_at_ms) VALUES (?, ?)", id, nowMs);
      this.#sql.exec(
        "INSERT INTO queue (id, body, status, created_at_ms) VALUES (?, ?, 'pending', ?)",
        id,
        body,
        nowMs,
      );
      return "buffered";
    });
    if ((await this.ctx.storage.getAlarm()) === null) await this.ctx.storage.setAlarm(nowMs + INTERVAL_MS);
    return answer;
  }

  #takeToken(nowMs: number): boolean {
    const [window] = this.#sql
      .exec<{ started_at_ms: number; count: number }>("SELECT started_at_ms, count FROM rate_window WHERE id = 1")
      .toArray();
    if (window === undefined || nowMs - window.started_at_ms >= WINDOW_MS) {
      this.#sql.exec("INSERT OR REPLACE INTO rate_window (id, started_at_ms, count) VALUES (1, ?, 1)", nowMs);
      return true;
    }
    if (window.count >= RATE_MAX) return false;
    this.#sql.exec("UPDATE rate_window SET count = count + 1 WHERE id = 1");
    return true;
  }

  override async alarm(): Promise<void> {
    const rows = this.#sql
      .exec<QueuedRow>(
        "SELECT seq, id, body FROM queue WHERE status = 'pending' ORDER BY created_at_ms LIMIT ?",
        BATCH_EVENTS,
      )
      .toArray();
    if (rows.length === 0) return;
    const response = await fetch(this.env.ORIGIN_URL, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ events: rows.map((row) => ({ id: row.id, body: row.body })) }),
    });
    await response.body?.cancel();
    const statement = response.ok
      ? "DELETE FROM queue WHERE seq = ?"
      : "UPDATE queue SET attempts = attempts + 1 WHERE seq = ?";
    for (const row of rows) this.#sql.exec(statement, row.seq);
    await this.ctx.storage.setAlarm(Date.now() + INTERVAL_MS);
  }
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const body = await request.arrayBuffer();
    if (!(await isGenuine(request, body, env.SECRET))) return new Response(null, { status: 401 });
    const tenant = new URL(request.url).pathname.slice("/webhook/".length);
    const id = request.headers.get("X-Event-ID") ?? "";
    const status = await env.TENANT.get(env.TENANT.idFromName(tenant)).store(id, new TextDecoder().decode(body));
    if (status === "rate_limited") return Response.json({ status }, { status: 429 });
    return Response.json({ status, eventId: id }, { status: status === "buffered" ? 202 : 200 });
  },
};
