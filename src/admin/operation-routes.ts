/** The calls that look at a tenant's events and move its delivery by hand. */
import type { Hono } from "hono";
import type { TenantBufferCalls } from "../buffer/contract.ts";
import { unreachable } from "../core/assert.ts";
import { queryNumber, readQuery } from "./call.ts";
import { parseRedrive } from "./inputs.ts";
import type { AdminParts } from "./parts.ts";
import { noSuchTenant, Problem } from "./problem.ts";
import { readJson } from "./read-json.ts";

const RETRY_LIMIT_MS = 5_000;
const DEAD_LETTERS_MAX = 100;
const DEAD_LETTERS_DEFAULT = 50;

export function addOperationRoutes(app: Hono, parts: AdminParts): void {
  const objectOf = (tenant: string): TenantBufferCalls => parts.objects.of(tenant, RETRY_LIMIT_MS);

  app.get("/admin/tenants/:tenant/stats", async (c) => {
    readQuery(c.req.url, []);
    const stats = await objectOf(c.req.param("tenant")).stats();
    if (stats === null) throw noSuchTenant();
    return c.json(stats);
  });

  app.post("/admin/tenants/:tenant/drain", async (c) => {
    readQuery(c.req.url, []);
    const object = objectOf(c.req.param("tenant"));
    await requireTenant(object);
    return c.json(await object.drain());
  });

  for (const verb of ["pause", "resume"] as const) {
    app.post(`/admin/tenants/:tenant/destinations/:destination/${verb}`, async (c) => {
      readQuery(c.req.url, []);
      const { tenant, destination } = c.req.param();
      const object = objectOf(tenant);
      await requireTenant(object);
      if (!(await object[verb](destination))) throw noSuchDestination();
      return c.json({ tenant, destination, [verb === "pause" ? "paused" : "resumed"]: true });
    });
  }

  app.get("/admin/tenants/:tenant/events/:id", async (c) => {
    readQuery(c.req.url, []);
    const event = await objectOf(c.req.param("tenant")).event(c.req.param("id"));
    if (event === null) throw noSuchEvent();
    return c.json(event);
  });

  app.get("/admin/tenants/:tenant/events/:id/body", async (c) => {
    readQuery(c.req.url, []);
    const answer = await objectOf(c.req.param("tenant")).body(c.req.param("id"));
    switch (answer.kind) {
      case "body":
        return bodyDownload(answer.body);
      case "not-found":
        throw noSuchEvent();
      case "expired":
        throw new Problem(410, "bytes-expired", "The event is known, but its bytes are past their retention.");
      default:
        return unreachable(answer);
    }
  });

  app.get("/admin/tenants/:tenant/dead-letters", async (c) => {
    const query = readQuery(c.req.url, ["destination", "limit", "cursor"]);
    const object = objectOf(c.req.param("tenant"));
    const destination = query.destination ?? (await onlyDestination(object));
    const limit = queryNumber("limit", query.limit, 1, DEAD_LETTERS_MAX, DEAD_LETTERS_DEFAULT);
    const page = await object.deadLetters({ destination, limit, cursor: query.cursor ?? null });
    if (page === null) throw noSuchDestination();
    return c.json(page);
  });

  app.post("/admin/tenants/:tenant/dead-letters/redrive", async (c) => {
    readQuery(c.req.url, []);
    const input = parseRedrive(await readJson(c.req.raw));
    const object = objectOf(c.req.param("tenant"));
    const destination = input.destination ?? (await onlyDestination(object));
    const result = await object.redrive({ destination, ids: input.ids, dryRun: input.dryRun });
    if (result === null) throw noSuchDestination();
    return c.json(result);
  });
}

/** Bytes from a sender are data, whatever they look like: no browser may show or run them [O11]. */
function bodyDownload(body: Uint8Array): Response {
  return new Response(body, {
    headers: {
      "content-type": "application/octet-stream",
      "content-disposition": "attachment",
      "x-content-type-options": "nosniff",
      "content-security-policy": "sandbox; default-src 'none'",
      "cache-control": "no-store",
    },
  });
}

async function requireTenant(object: TenantBufferCalls): Promise<void> {
  const record = await object.readConfig();
  if (record === null || record.state === "deleted") throw noSuchTenant();
}

/** The destination a call means that names none: clear only where there is one. */
async function onlyDestination(object: TenantBufferCalls): Promise<string> {
  const stats = await object.stats();
  if (stats === null) throw noSuchTenant();
  const ids = Object.keys(stats.destinations);
  const [id] = ids;
  if (id !== undefined && ids.length === 1) return id;
  throw new Problem(
    400,
    "destination-required",
    `Say which destination is meant: ${ids.join(", ") || "there is none"}.`,
  );
}

function noSuchEvent(): Problem {
  return new Problem(404, "no-such-event", "The tenant has no event of this id.");
}

function noSuchDestination(): Problem {
  return new Problem(404, "no-such-destination", "The tenant has no destination of this name.");
}
