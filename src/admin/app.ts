/** The operator's side: who may call, how errors look, and the routes of the admin API [O1] [O11]. */
import { Hono } from "hono";
import { classifyCallFailure } from "../core/call-failure.ts";
import { logLine } from "../observe/log-line.ts";
import { isId } from "../tenants/ids.ts";
import { isAdmin } from "./auth.ts";
import { recordChange } from "./changes.ts";
import { addDiagnosisRoutes } from "./diagnosis-routes.ts";
import { addEventRoutes } from "./event-routes.ts";
import { addHandshakeRoutes } from "./handshake-routes.ts";
import { addOperationRoutes } from "./operation-routes.ts";
import type { AdminParts } from "./parts.ts";
import { Problem } from "./problem.ts";
import { addTenantRoutes } from "./tenant-routes.ts";

const READING_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/** Builds the admin API; called once, with the first request that needs it. */
export function buildAdmin(parts: AdminParts): Hono {
  const app = new Hono();

  app.use("/admin/*", async (c, next) => {
    if (!(await isAdmin(c.req.raw.headers, parts.settings.adminToken))) {
      throw new Problem(401, "unauthorized", "This call needs the admin token: Authorization: Bearer <ADMIN_TOKEN>.", {
        headers: { "www-authenticate": 'Bearer realm="spillway"' },
      });
    }
    requireReadablePath(c.req.raw.url);
    const isChange = !READING_METHODS.has(c.req.method);
    if (isChange) requireJson(c.req.raw.headers);
    await next();
    if (isChange) await recordChange(parts, c);
  });

  addTenantRoutes(app, parts);
  addOperationRoutes(app, parts);
  addEventRoutes(app, parts);
  addDiagnosisRoutes(app, parts);
  addHandshakeRoutes(app, parts);

  app.notFound(() => new Problem(404, "not-found", "The admin API has no such call.").toResponse());
  app.onError((error) => {
    if (error instanceof Problem) return error.toResponse();
    return callFailed(error).toResponse();
  });
  return app;
}

/** Segments that cannot be decoded, and tenants whose name is none, are not found; Hono would pass them on as they are. */
function requireReadablePath(url: string): void {
  const segments = new URL(url).pathname.split("/").slice(1);
  const [, collection, tenant] = segments;
  const isReadable = segments.every(canDecode);
  const isTenant = collection !== "tenants" || tenant === undefined || isId(tenant);
  if (!isReadable || !isTenant) throw new Problem(404, "not-found", "The admin API has no such call.");
}

function canDecode(segment: string): boolean {
  try {
    decodeURIComponent(segment);
    return true;
  } catch {
    return false;
  }
}

/** A page of another site can send a form, but not this content type: it never changes anything here [O11]. */
function requireJson(headers: Headers): void {
  const type = (headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase();
  if (type === "application/json" || type === "application/merge-patch+json") return;
  throw new Problem(415, "content-type", "A call that changes something needs Content-Type: application/json.");
}

/** Something between here and the tenant's object failed; whether a change was made is then unknown [O4]. */
function callFailed(error: unknown): Problem {
  const failure = classifyCallFailure(error);
  const message = error instanceof Error ? error.message : "no error object";
  logLine("error", "admin-call-failed", { failure, message });
  if (failure === "exception") return new Problem(500, "internal-error", "The call failed; the log says more.");
  return new Problem(503, "unavailable", `The tenant's object could not be reached (${failure}); try again.`, {
    headers: { "retry-after": "5" },
  });
}
