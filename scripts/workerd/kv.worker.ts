/**
 * A KV namespace for plain `workerd`, which has the binding but no service behind it: the runtime turns each call into
 * an HTTP request (`GET`, `PUT`, `DELETE` `/<key>`, `GET /?prefix=…`), and this Worker answers from one Durable Object
 * on disk, so that what was put is still there after the runtime was killed. Keys come URL-encoded.
 */
import { DurableObject } from "cloudflare:workers";

interface Row extends Record<string, SqlStorageValue> {
  name: string;
  value: ArrayBuffer;
  metadata: string | null;
  expires_at_s: number | null;
}

const SCHEMA = `CREATE TABLE IF NOT EXISTS entries (
  name TEXT PRIMARY KEY, value BLOB NOT NULL, metadata TEXT, expires_at_s INTEGER) STRICT, WITHOUT ROWID`;
const LIST_MAX = 1_000;

export class Store extends DurableObject {
  #sql: SqlStorage;

  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    this.#sql.exec(SCHEMA);
  }

  override async fetch(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const key = decodeURIComponent(url.pathname.slice(1));
    const nowS = Math.floor(Date.now() / 1_000);
    if (request.method === "GET" && key === "") return this.#list(url.searchParams, nowS);
    if (request.method === "GET") return this.#get(key, nowS);
    if (request.method === "PUT") {
      const ttlS = url.searchParams.get("expiration_ttl");
      const expiresAtS = ttlS === null ? url.searchParams.get("expiration") : nowS + Number(ttlS);
      this.#sql.exec(
        "INSERT OR REPLACE INTO entries (name, value, metadata, expires_at_s) VALUES (?, ?, ?, ?)",
        key,
        await request.arrayBuffer(),
        request.headers.get("CF-KV-Metadata"),
        expiresAtS === null ? null : Number(expiresAtS),
      );
      return new Response();
    }
    if (request.method === "DELETE") {
      this.#sql.exec("DELETE FROM entries WHERE name = ?", key);
      return new Response();
    }
    return new Response("this call is not supported", { status: 501 });
  }

  #get(key: string, nowS: number): Response {
    const [row] = this.#sql
      .exec<Row>("SELECT * FROM entries WHERE name = ? AND (expires_at_s IS NULL OR expires_at_s > ?)", key, nowS)
      .toArray();
    if (row === undefined) return new Response("Not Found", { status: 404 });
    const headers = new Headers();
    if (row.expires_at_s !== null) headers.set("CF-Expiration", String(row.expires_at_s));
    if (row.metadata !== null) headers.set("CF-KV-Metadata", row.metadata);
    return new Response(row.value, { headers });
  }

  #list(params: URLSearchParams, nowS: number): Response {
    const prefix = params.get("prefix") ?? "";
    const limit = Math.min(Number(params.get("key_count_limit") ?? LIST_MAX), LIST_MAX);
    const rows = this.#sql
      .exec<Row>(
        `SELECT name, x'' AS value, metadata, expires_at_s FROM entries
         WHERE name > ? AND name >= ? AND substr(name, 1, length(?)) = ? AND (expires_at_s IS NULL OR expires_at_s > ?)
         ORDER BY name LIMIT ?`,
        params.get("cursor") ?? "",
        prefix,
        prefix,
        prefix,
        nowS,
        limit + 1,
      )
      .toArray();
    const page = rows.slice(0, limit);
    const keys = page.map((row) => ({
      name: row.name,
      ...(row.expires_at_s === null ? {} : { expiration: row.expires_at_s }),
      ...(row.metadata === null ? {} : { metadata: row.metadata }),
    }));
    const isComplete = rows.length <= limit;
    return Response.json({ keys, list_complete: isComplete, ...(isComplete ? {} : { cursor: page.at(-1)?.name }) });
  }
}

export default {
  fetch(request: Request, env: { STORE: DurableObjectNamespace }): Promise<Response> {
    return env.STORE.get(env.STORE.idFromName("kv")).fetch(request);
  },
};
