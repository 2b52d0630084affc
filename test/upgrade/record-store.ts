/**
 * Writes `schema-<version>.json`: what a tenant's object holds as the present release stores it, as SQL, and the calls
 * between Worker and object that led there. To be run once before the schema changes; the files stay, and
 * `upgrade.test.ts` opens each of them with whatever release is there by then [O12].
 *
 *     node test/upgrade/record-store.ts
 */
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import type { WorkerDescription } from "../../scripts/workerd/config.ts";
import { type Runtime, startRuntime } from "../../scripts/workerd/runtime.ts";
import { buildSpillway, LOCAL_ADMIN_TOKEN } from "../../scripts/workerd/spillway.ts";

const TENANT = "recorded";
const SECRET = "generic-secret-01-long";
/** The key of the tests: the sealed configuration must open there. */
const CONFIG_KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

async function main(): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), "spillway-record-"));
  const worker = await buildSpillway(join(dir, "build"));
  const origin = await startOrigin();
  const runtime = await startRuntime(recordingWorker(worker), join(dir, "site"));
  try {
    await live(runtime, origin.url);
    const calls = worthKeeping((await (await fetch(`${runtime.origin}/recorded`)).json()) as RecordedCall[]);
    await runtime.stop();
    const { version, statements } = dump(join(dir, "site/state/TenantBuffer"));
    const recorded = moved({ tenant: TENANT, recordedAtMs: Date.now(), statements, calls });
    const path = join(import.meta.dirname, `schema-${version}.json`);
    writeFileSync(path, `${JSON.stringify(recorded, null, 1)}\n`);
    console.log(`${path}: ${statements.length} statements, ${calls.length} calls`);
  } finally {
    await runtime.stop();
    origin.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

function recordingWorker(worker: WorkerDescription): WorkerDescription {
  const text = readFileSync(join(import.meta.dirname, "recorder.worker.js"), "utf8");
  return {
    ...worker,
    modules: [{ name: "recorder.js", text }, ...worker.modules],
    vars: { ...worker.vars, CONFIG_KEY },
  };
}

/** Refuses every event called `bad-…`, fails every `ill-…`, and takes all else. */
async function startOrigin(): Promise<{ readonly url: string; close(): void }> {
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request.setEncoding("utf8")) text += chunk;
    response.writeHead(text.includes('"id":"in:bad-') ? 400 : text.includes('"id":"in:ill-') ? 500 : 200).end("noted");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the origin has no port");
  return { url: `http://127.0.0.1:${address.port}/in`, close: () => server.close() };
}

/** Everything that leaves a trace: delivered, filtered, waiting, set aside, dead, purged, erased, a job, a change. */
async function live(runtime: Runtime, url: string): Promise<void> {
  const admin = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const response = await fetch(`${runtime.origin}/admin/tenants/${TENANT}${path}`, {
      method,
      headers: { Authorization: `Bearer ${LOCAL_ADMIN_TOKEN}`, "Content-Type": "application/json" },
      ...(method === "GET" ? {} : { body: JSON.stringify(body ?? {}) }),
    });
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${await response.text()}`);
    return response.json();
  };
  const post = async (id: string, body: string): Promise<void> => {
    const signature = createHmac("sha256", SECRET).update(body).digest("hex");
    const response = await fetch(`${runtime.origin}/webhook/${TENANT}`, {
      method: "POST",
      headers: { "X-Event-ID": id, "X-Signature": signature, "Content-Type": "application/json" },
      body,
    });
    if (!response.ok) throw new Error(`${id} was answered ${response.status}`);
  };
  const until = async (isReached: (stats: { destinations: Record<string, Ledger> }) => boolean): Promise<void> => {
    for (let tries = 0; tries < 300; tries += 1) {
      if (isReached((await admin("GET", "/stats")) as { destinations: Record<string, Ledger> })) return;
      await sleep(100);
    }
    throw new Error(`not reached: ${JSON.stringify(await admin("GET", "/stats"))}`);
  };

  const http = { kind: "http", url, batch: { flushDelayMs: 0 } };
  await admin("PUT", "", {
    sources: { in: { provider: "generic", secrets: [SECRET] } },
    destinations: {
      origin: { ...http, retry: { scheduleSeconds: [0, 3_600], maxAttempts: 2 } },
      picky: { ...http, filter: { types: ["invoice.*"] } },
      later: http,
    },
  });
  await admin("POST", "/destinations/later/pause");
  for (let index = 0; index < 6; index += 1) {
    await post(`good-${index}`, JSON.stringify({ type: index % 2 === 0 ? "invoice.paid" : "order.paid", index }));
  }
  await post("good-0", JSON.stringify({ type: "invoice.paid", index: 0 }));
  await until(({ destinations }) => destinations.origin?.delivered === 6 && destinations.picky?.delivered === 3);
  for (const id of ["bad-0", "bad-1", "bad-2"]) await post(id, JSON.stringify({ type: "order.paid", id }));
  await until(({ destinations }) => (destinations.origin?.retrying ?? 0) + (destinations.origin?.dead ?? 0) === 3);
  await post("good-6", '{"type":"order.paid"}');
  await until(({ destinations }) => destinations.origin?.delivered === 7);
  await admin("POST", "/destinations/origin/pause");
  await admin("POST", `/events/${encodeURIComponent("in:bad-0")}/dead-letter`, { destination: "origin" });
  await admin("POST", `/events/${encodeURIComponent("in:bad-1")}/dead-letter`, { destination: "origin" });
  await admin("POST", "/dead-letters/purge", { destination: "origin", ids: ["in:bad-1"] });
  for (let index = 0; index < 4; index += 1)
    await post(`waiting-${index}`, JSON.stringify({ type: "order.paid", index }));
  await admin("DELETE", `/events/${encodeURIComponent("in:good-5")}/body`);
  await admin("POST", "/events/replay", { destinations: ["picky"], filter: { type: "order.*" }, dryRun: true });
  await admin("POST", "/dead-letters/redrive", { destination: "origin", filter: { reason: "none" } });
  await admin("PATCH", "", { retainSeconds: 86_400 });
  await admin("GET", "/dead-letters?destination=origin");
  await admin("GET", "/events?state=dead&destination=origin");
  await admin("GET", `/events/${encodeURIComponent("in:bad-0")}`);
  await admin("GET", "/stats");
  await sleep(500);
}

/** Where the clock of the tests stands: the runtime's own alarms, which keep to real time, stay out of the way there. */
const MOVED_TO_MS = Date.UTC(2040, 0, 1);

/** Every time in `recorded`, numbers and texts, moved by as much as `recordedAtMs` is away from the tests' clock. */
function moved<T extends { readonly recordedAtMs: number }>(recorded: T): T {
  const byMs = MOVED_TO_MS - recorded.recordedAtMs;
  const isNear = (atMs: number): boolean => Math.abs(atMs - recorded.recordedAtMs) < 60 * 86_400_000;
  const text = JSON.stringify(recorded)
    .replaceAll(/\b\d{13}\b/g, (digits) => (isNear(Number(digits)) ? String(Number(digits) + byMs) : digits))
    .replaceAll(/\b\d{4}-\d\d-\d\dT[\d:.]{12}Z/g, (time) => new Date(Date.parse(time) + byMs).toISOString());
  return JSON.parse(text) as T;
}

/** Waiting for something asks the same again and again: of `stats` only the last call counts. */
function worthKeeping(calls: readonly RecordedCall[]): RecordedCall[] {
  const lastStats = calls.findLastIndex((call) => call.method === "stats");
  return calls.filter(({ method }, index) => method !== "readConfig" && (method !== "stats" || index === lastStats));
}

interface RecordedCall {
  readonly method: string;
}

interface Ledger {
  readonly delivered: number;
  readonly backlog: number;
  readonly retrying: number;
  readonly dead: number;
}

/** Every table of the tenant's object with its rows; the runtime's own tables are left out. */
function dump(dir: string): { readonly version: number; readonly statements: readonly string[] } {
  for (const name of readdirSync(dir).filter((each) => each.endsWith(".sqlite"))) {
    const db = new DatabaseSync(join(dir, name), { readOnly: true });
    const objects = db
      .prepare("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE '\\_cf%' ESCAPE '\\'")
      .all() as { type: string; name: string; sql: string }[];
    const tenants = objects.some((each) => each.name === "tenant") ? db.prepare("SELECT tenant FROM tenant").all() : [];
    if (tenants[0]?.tenant !== TENANT) continue;
    const version = Number(db.prepare("SELECT version FROM schema_version").all()[0]?.version);
    const rows = objects
      .filter(({ type }) => type === "table")
      .flatMap(({ name: table }) =>
        db
          .prepare(`SELECT * FROM "${table}"`)
          .all()
          .map((row) => insertion(table, row as Record<string, unknown>)),
      );
    return { version, statements: [...objects.map(({ sql }) => sql), ...rows] };
  }
  throw new Error("the tenant's object is not on disk");
}

function insertion(table: string, row: Record<string, unknown>): string {
  const names = Object.keys(row).map((name) => `"${name}"`);
  return `INSERT INTO "${table}" (${names.join(", ")}) VALUES (${Object.values(row).map(literal).join(", ")})`;
}

function literal(value: unknown): string {
  if (value === null) return "NULL";
  if (value instanceof Uint8Array) return `X'${Buffer.from(value).toString("hex")}'`;
  return typeof value === "string" ? `'${value.replaceAll("'", "''")}'` : String(value);
}

await main();
