/** The entry: the Worker, and the class of the tenants' objects. Routes go to their parts; nothing is decided here. */
import type { Hono } from "hono";
import { answerMetrics } from "./admin/metrics.ts";
import type { AdminParts } from "./admin/parts.ts";
import { hasJurisdiction } from "./buffer/namespace.ts";
import { bury } from "./consumer/bury.ts";
import { type ConsumerParts, consume } from "./consumer/consume.ts";
import { partsOfBatch } from "./consumer/parts.ts";
import { ANYWHERE, type Place } from "./core/place.ts";
import { PROBLEM_CONTENT_TYPE, problemText } from "./core/problem.ts";
import { type Bindings, isQueueBound, readSettings, type Settings } from "./env.ts";
import { Ingress } from "./ingress/ingress.ts";
import { isWebhookUrl } from "./ingress/route.ts";
import { PlacedObjects } from "./objects/tenant-objects.ts";
import { Decisions } from "./observe/decisions.ts";
import { logLine } from "./observe/log-line.ts";
import { enterRegistry } from "./sweep/registry.ts";
import { sweep } from "./sweep/sweep.ts";
import { TenantCache } from "./tenants/cache.ts";
import { readRecord } from "./tenants/kv.ts";

export { TenantBuffer } from "./buffer/tenant-buffer.ts";
export { OriginGate } from "./gate/origin-gate.ts";

/** What an isolate keeps between requests. */
interface Isolate {
  readonly settings: Settings;
  readonly ingress: Ingress;
  readonly adminParts: AdminParts;
  /** Loaded and built with the first request to it: an isolate that only takes webhooks never pays for it. */
  readonly admin: () => Promise<Hono>;
}

const isolates = new WeakMap<Bindings, Isolate>();

function isolateOf(env: Bindings): Isolate {
  const known = isolates.get(env);
  if (known !== undefined) return known;
  const settings = readSettings(env);
  for (const { setting, message } of settings.problems) logLine("error", "malformed-setting", { setting, message });
  const now = (): number => Date.now();
  const objects = tenantObjects(env);
  const cache = new TenantCache({
    read: (tenant) => readRecord(env.TENANT_CONFIG, tenant),
    keys: settings.configKeys,
    onRecord: (tenant, record) => objects.note(tenant, record.place ?? ANYWHERE),
  });
  const ingress = new Ingress({
    cache,
    objects,
    now,
    fixedClockMs: settings.fixedClockMs,
    register: (object) => register(env, object, now()),
    decisions: new Decisions(env.METRICS ?? null),
  });
  const pendingRejections = (tenant: string) => ingress.pendingRejections(tenant);
  const adminParts: AdminParts = {
    settings,
    objects,
    cache,
    now,
    kv: env.TENANT_CONFIG,
    isQueueBound: (binding) => isQueueBound(env, binding),
    hasJurisdiction: (jurisdiction) => hasJurisdiction(env.TENANT_BUFFER, jurisdiction),
    findPlace: (tenant) => objects.find(tenant),
    pendingRejections,
  };
  let admin: Promise<Hono> | null = null;
  const isolate: Isolate = {
    settings,
    ingress,
    adminParts,
    admin: () => {
      admin ??= import("./admin/app.ts").then(({ buildAdmin }) => buildAdmin(adminParts));
      return admin;
    },
  };
  isolates.set(env, isolate);
  return isolate;
}

const objectsByEnv = new WeakMap<Bindings, PlacedObjects>();

/** What an isolate knows of where objects live outlasts a request. */
function tenantObjects(env: Bindings): PlacedObjects {
  const known = objectsByEnv.get(env);
  if (known !== undefined) return known;
  const objects = new PlacedObjects(env.TENANT_BUFFER, (tenant) => readRecord(env.TENANT_CONFIG, tenant));
  objectsByEnv.set(env, objects);
  return objects;
}

/** A queue whose name ends so holds what another one gave up on. */
const DEAD_LETTER_QUEUE_SUFFIX = "-dlq";

function consumerParts(env: Bindings): ConsumerParts {
  return partsOfBatch({
    kv: env.TENANT_CONFIG,
    settings: readSettings(env),
    objects: tenantObjects(env),
    now: () => Date.now(),
    random: () => Math.random(),
    log: (event, fields) => logLine("warn", event, fields),
  });
}

/** What fails here is mended by the next idle hour, or by the sweep of the day. */
async function register(env: Bindings, object: string, nowMs: number): Promise<void> {
  try {
    await enterRegistry(env.TENANT_CONFIG, object, nowMs);
  } catch (error) {
    logLine("warn", "not-registered", { object, reason: error instanceof Error ? error.message : "unknown" });
  }
}

/** Whether the Worker is up, and its settings are such that it can work. */
function health(settings: Settings): Response {
  const malformed = settings.problems.map((problem) => problem.setting);
  if (malformed.length === 0) return Response.json({ status: "ok" }, { headers: { "cache-control": "no-store" } });
  const text = problemText(503, "malformed-settings", `To be mended: ${malformed.join(", ")}.`);
  return new Response(text, { status: 503, headers: { "content-type": PROBLEM_CONTENT_TYPE } });
}

function notFound(): Response {
  return new Response(problemText(404, "not-found", "There is nothing at this address."), {
    status: 404,
    headers: { "content-type": PROBLEM_CONTENT_TYPE },
  });
}

export default {
  fetch(request, env, ctx): Response | Promise<Response> {
    const isolate = isolateOf(env);
    if (isWebhookUrl(request.url)) return isolate.ingress.handle(request, ctx);
    const { pathname } = new URL(request.url);
    if (pathname === "/admin" || pathname.startsWith("/admin/")) {
      return isolate.admin().then((admin) => admin.fetch(request));
    }
    if (pathname === "/metrics") return answerMetrics(request, isolate.adminParts);
    if (pathname === "/healthz") return health(isolate.settings);
    return notFound();
  },

  /** Every five minutes, by the cron trigger of wrangler.toml [V20](f). */
  async scheduled(_controller, env): Promise<void> {
    const objects = tenantObjects(env);
    const notePlace = (tenant: string, place: Place): void => objects.note(tenant, place);
    await sweep({ kv: env.TENANT_CONFIG, objects, now: () => Date.now(), notePlace });
  },

  /** Spillway's own queue and its dead-letter queue, where one is bound [V19]. */
  async queue(batch, env): Promise<void> {
    const parts = consumerParts(env);
    if (batch.queue.endsWith(DEAD_LETTER_QUEUE_SUFFIX)) await bury(parts, batch.messages);
    else await consume(parts, batch.messages);
  },
} satisfies ExportedHandler<Bindings>;
