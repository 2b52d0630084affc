/** The calls that look at a tenant's events and move its delivery by hand. */
import type { Hono } from "hono";
import { unreachable } from "../core/assert.ts";
import { readQuery } from "./call.ts";
import { type AdminParts, RETRY_LIMIT_MS } from "./parts.ts";
import { noSuchTenant, Problem } from "./problem.ts";
import { type SpreadCalls, spreadOf } from "./spread.ts";

export function addOperationRoutes(app: Hono, parts: AdminParts): void {
  const objectOf = (tenant: string): Promise<SpreadCalls> => tenantOf(parts, tenant);

  app.get("/admin/tenants/:tenant/stats", async (c) => {
    readQuery(c.req.url, []);
    const stats = await (await objectOf(c.req.param("tenant"))).stats();
    if (stats === null) throw noSuchTenant();
    return c.json(stats);
  });

  app.post("/admin/tenants/:tenant/drain", async (c) => {
    readQuery(c.req.url, []);
    const object = await objectOf(c.req.param("tenant"));
    return c.json(await object.drain());
  });

  for (const verb of ["pause", "resume"] as const) {
    app.post(`/admin/tenants/:tenant/destinations/:destination/${verb}`, async (c) => {
      readQuery(c.req.url, []);
      const { tenant, destination } = c.req.param();
      const object = await objectOf(tenant);
      if (!(await object[verb](destination))) throw noSuchDestination();
      return c.json({ tenant, destination, [verb === "pause" ? "paused" : "resumed"]: true });
    });
  }

  app.get("/admin/tenants/:tenant/events/:id", async (c) => {
    readQuery(c.req.url, []);
    const event = await (await objectOf(c.req.param("tenant"))).event(c.req.param("id"));
    if (event === null) throw noSuchEvent();
    return c.json(event);
  });

  app.get("/admin/tenants/:tenant/events/:id/body", async (c) => {
    readQuery(c.req.url, []);
    const answer = await (await objectOf(c.req.param("tenant"))).body(c.req.param("id"));
    switch (answer.kind) {
      case "body":
        return bodyDownload(answer.body);
      case "stream":
        return bodyDownload(answer.stream.pipeThrough(new FixedLengthStream(answer.sizeBytes)));
      case "not-found":
        throw noSuchEvent();
      case "expired":
        throw new Problem(410, "bytes-expired", "The event is known, but its bytes are past their retention.");
      default:
        return unreachable(answer);
    }
  });
}

/** The tenant's objects as one. @throws Problem where there is no such tenant */
export async function tenantOf(parts: AdminParts, tenant: string): Promise<SpreadCalls> {
  const spread = await spreadOf(parts.objects, tenant, RETRY_LIMIT_MS);
  if (spread === null) throw noSuchTenant();
  return spread;
}

/** Bytes from a sender are data, whatever they look like: no browser may show or run them [O11]. */
function bodyDownload(body: Uint8Array | ReadableStream<Uint8Array>): Response {
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

export function noSuchEvent(): Problem {
  return new Problem(404, "no-such-event", "The tenant has no event of this id.");
}

export function noSuchDestination(): Problem {
  return new Problem(404, "no-such-destination", "The tenant has no destination of this name.");
}
