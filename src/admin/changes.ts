/**
 * The record of changing calls [O11]: who, when, what, how many. It is kept by the tenant's first object and goes with the
 * tenant; the log has a line of each call as well.
 */
import type { Context } from "hono";
import { logLine } from "../observe/log-line.ts";
import { type AdminParts, RETRY_LIMIT_MS } from "./parts.ts";

/** Whoever has the admin token: it names nobody. */
const TOKEN_HOLDER = "admin token";

/** Calls that only asked what would happen. */
const dryRuns = new WeakSet<Request>();

/** The call changes nothing after all: it is not recorded. */
export function noteDryRun(request: Request): void {
  dryRuns.add(request);
}

/**
 * Records a call after its answer is made, also one that was refused: what was tried is worth as much as what was done.
 * Never throws: a change that was made is not undone because the note of it failed.
 */
export async function recordChange(parts: AdminParts, c: Context, who = TOKEN_HOLDER): Promise<void> {
  const { method, path } = c.req;
  const { status } = c.res;
  if (dryRuns.has(c.req.raw)) return;
  logLine("info", "admin-change", { who, method, path, status });
  const [, tenant, rest = ""] = /^\/admin\/tenants\/([^/]+)(.*)$/.exec(path) ?? [];
  if (tenant === undefined) return;
  const what = `${method} ${rest === "" ? "/" : rest}${isForced(c.req.url) ? " forced" : ""}`;
  try {
    const count = await countIn(c.res);
    await parts.objects.of(tenant, RETRY_LIMIT_MS).recordChange({ who, what, status, count });
  } catch (error) {
    logLine("error", "change-not-recorded", {
      tenant,
      what,
      reason: error instanceof Error ? error.message : "unknown",
    });
  }
}

function isForced(url: string): boolean {
  return new URL(url).searchParams.get("force") === "true";
}

/** How many events the call was about, where its answer says so. */
async function countIn(response: Response): Promise<number | null> {
  if (!(response.headers.get("content-type") ?? "").startsWith("application/json")) return null;
  const answer: unknown = await response.clone().json();
  const count = typeof answer === "object" && answer !== null && "count" in answer ? answer.count : null;
  return typeof count === "number" ? count : null;
}
