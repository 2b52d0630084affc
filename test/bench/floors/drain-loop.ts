/**
 * Floor (d): the drain without any of the promises. An alarm selects 50 rows, POSTs them unsigned, deletes them, and
 * goes on until nothing is left. `POST /fill` with `{"count","bodySizeBytes"}` makes the backlog, `POST /drain` sets
 * the alarm, `GET /backlog` says what is left.
 */
import { DurableObject } from "cloudflare:workers";

interface Env {
  readonly ORIGIN_URL: string;
  readonly TENANT: DurableObjectNamespace<Tenant>;
}

interface Row extends Record<string, SqlStorageValue> {
  readonly seq: number;
  readonly id: string;
  readonly received_at_ms: number;
  readonly body: string;
}

const BATCH_EVENTS = 50;
const FILL_CHUNK_EVENTS = 1_000;

export class Tenant extends DurableObject<Env> {
  #sql: SqlStorage;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    this.#sql.exec(
      `CREATE TABLE IF NOT EXISTS queue (
        seq INTEGER PRIMARY KEY, id TEXT NOT NULL, received_at_ms INTEGER NOT NULL, body TEXT NOT NULL)`,
    );
  }

  fill(count: number, body: string): void {
    for (let done = 0; done < count; done += FILL_CHUNK_EVENTS) {
      this.ctx.storage.transactionSync(() => {
        for (let index = done; index < Math.min(count, done + FILL_CHUNK_EVENTS); index += 1) {
          this.#sql.exec(
            "INSERT INTO queue (id, received_at_ms, body) VALUES (?, ?, ?)",
            `hooks:evt_${crypto.randomUUID()}`,
            Date.now(),
            body,
          );
        }
      });
    }
  }

  async drain(): Promise<void> {
    await this.ctx.storage.setAlarm(Date.now() + 1);
  }

  backlog(): number {
    return this.#sql.exec<{ count: number }>("SELECT count(*) AS count FROM queue").one().count;
  }

  override async alarm(): Promise<void> {
    for (;;) {
      const rows = this.#sql
        .exec<Row>("SELECT seq, id, received_at_ms, body FROM queue ORDER BY seq LIMIT ?", BATCH_EVENTS)
        .toArray();
      const last = rows.at(-1);
      if (last === undefined) return;
      const response = await fetch(this.env.ORIGIN_URL, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: envelope(rows),
      });
      await response.body?.cancel();
      if (!response.ok) throw new Error(`the origin answered ${response.status}`);
      this.#sql.exec("DELETE FROM queue WHERE seq <= ?", last.seq);
    }
  }
}

/** The same form as a real batch, so that both loops write and send as many bytes. */
function envelope(rows: readonly Row[]): string {
  return JSON.stringify({
    tenant: "bench",
    destination: "origin",
    batchId: "00000000-0000-0000-0000-000000000000",
    events: rows.map((row) => ({
      id: row.id,
      seq: String(row.seq),
      source: "hooks",
      provider: "generic",
      type: null,
      receivedAt: new Date(row.received_at_ms).toISOString(),
      attempt: 1,
      contentType: "application/json",
      headers: {},
      body: row.body,
    })),
  });
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const tenant = env.TENANT.get(env.TENANT.idFromName("bench"));
    switch (new URL(request.url).pathname) {
      case "/fill": {
        const { count, body } = await request.json<{ count: number; body: string }>();
        await tenant.fill(count, body);
        return new Response();
      }
      case "/drain":
        await tenant.drain();
        return new Response();
      default:
        return Response.json({ backlog: await tenant.backlog() });
    }
  },
};
