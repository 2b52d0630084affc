/** The calls on a tenant's configuration. */
import type { Hono } from "hono";
import { readSummaries } from "../sweep/summaries.ts";
import { isJsonObject, memberAt } from "../tenants/json.ts";
import { listTenants } from "../tenants/kv.ts";
import { mergePatch } from "../tenants/merge-patch.ts";
import { withRotatedSecret } from "../tenants/secrets.ts";
import { changeOf, queryNumber, readQuery } from "./call.ts";
import { deleteConfiguration, editConfiguration, putConfiguration, showConfiguration } from "./configuration.ts";
import { parseRotate } from "./inputs.ts";
import type { AdminParts } from "./parts.ts";
import { Problem } from "./problem.ts";
import { readJson } from "./read-json.ts";
import { type TenantSummary, tenantSummaries } from "./tenant-summaries.ts";

const LIST_MAX = 1_000;

export function addTenantRoutes(app: Hono, parts: AdminParts): void {
  app.get("/admin/tenants", async (c) => {
    const { limit, cursor } = readQuery(c.req.url, ["limit", "cursor"]);
    const page = await listTenants(parts.kv, queryNumber("limit", limit, 1, LIST_MAX, LIST_MAX), cursor ?? null);
    const known = tenantSummaries(await readSummaries(parts.kv));
    const summaries = page.tenants.flatMap((tenant) => {
      const summary = known.get(tenant);
      return summary === undefined ? [] : [[tenant, shownSummary(summary, parts.now())] as const];
    });
    return c.json({ ...page, summaries: Object.fromEntries(summaries) });
  });

  app.get("/admin/tenants/:tenant", (c) => {
    readQuery(c.req.url, []);
    return showConfiguration(parts, c.req.param("tenant"), c.req.url);
  });

  app.put("/admin/tenants/:tenant", async (c) => {
    const change = changeOf(c, c.req.param("tenant"));
    return putConfiguration(parts, change, await readJson(c.req.raw));
  });

  app.patch("/admin/tenants/:tenant", async (c) => {
    const change = changeOf(c, c.req.param("tenant"));
    const patch = await readJson(c.req.raw);
    if (!isJsonObject(patch)) {
      // By RFC 7396 it would replace the whole configuration, which is never what was meant.
      throw new Problem(400, "invalid-configuration", "A patch must be a JSON object (RFC 7396).");
    }
    return editConfiguration(parts, change, (input) => mergePatch(input, patch));
  });

  app.delete("/admin/tenants/:tenant", (c) => deleteConfiguration(parts, changeOf(c, c.req.param("tenant"))));

  app.post("/admin/tenants/:tenant/sources/:source/rotate", async (c) => {
    const change = changeOf(c, c.req.param("tenant"));
    const source = c.req.param("source");
    const { secret, keepOldSeconds } = parseRotate(await readJson(c.req.raw));
    const retireOthersAtMs = parts.now() + keepOldSeconds * 1_000;
    return editConfiguration(parts, change, (input) => {
      if (memberAt(input, "sources", source) === undefined) {
        throw new Problem(404, "no-such-source", "The tenant has no source of this name.");
      }
      return withRotatedSecret(input, source, secret, retireOthersAtMs);
    });
  });
}

/** No object is called for a list: what it shows has an age [O8]. */
function shownSummary({ stats, collectedAtMs, acceptedPerSecond }: TenantSummary, nowMs: number) {
  const { tenant: _, ...rest } = stats;
  const ageSeconds = Math.max(0, Math.round((nowMs - collectedAtMs) / 1_000));
  return { collectedAt: new Date(collectedAtMs).toISOString(), ageSeconds, acceptedPerSecond, ...rest };
}
