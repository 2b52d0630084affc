/** The calls that say what was turned away and why [O7], and what operators changed [O11]. */
import type { Hono } from "hono";
import { rejectionView, withRejections } from "../core/rejections.ts";
import { queryNumber, readQuery } from "./call.ts";
import { type AdminParts, RETRY_LIMIT_MS } from "./parts.ts";
import { invalidInput, noSuchTenant } from "./problem.ts";

const PAGE_MAX = 1_000;
const PAGE_DEFAULT = 100;

export function addDiagnosisRoutes(app: Hono, parts: AdminParts): void {
  app.get("/admin/tenants/:tenant/rejections", async (c) => {
    readQuery(c.req.url, []);
    const tenant = c.req.param("tenant");
    const known = await parts.objects.of(tenant, RETRY_LIMIT_MS).rejections();
    if (known === null) throw noSuchTenant();
    // What this isolate turned away since its last report is news as well.
    const rejections = withRejections(known, parts.pendingRejections(tenant));
    return c.json({ rejections: rejections.map(rejectionView), approximate: true });
  });

  app.get("/admin/tenants/:tenant/changes", async (c) => {
    const { limit, cursor = null } = readQuery(c.req.url, ["limit", "cursor"]);
    if (cursor !== null && !/^\d{1,15}$/.test(cursor)) {
      throw invalidInput("query", [{ path: "cursor", message: "must be the cursor of an earlier answer" }]);
    }
    const query = { cursor, limit: queryNumber("limit", limit, 1, PAGE_MAX, PAGE_DEFAULT) };
    const page = await parts.objects.of(c.req.param("tenant"), RETRY_LIMIT_MS).changes(query);
    if (page === null) throw noSuchTenant();
    return c.json(page);
  });
}
