/** The calls about many events: search, dead letters, redrive, replay, purge, erasure, and their jobs [X2]–[X8]. */
import type { Hono } from "hono";
import type { EventState, JobCall, JobView, Selection } from "../buffer/contract.ts";
import { queryNumber, readQuery } from "./call.ts";
import { noteDryRun } from "./changes.ts";
import {
  type FilterInput,
  parseDeadLetters,
  parseErase,
  parseNamed,
  parseReplay,
  parseReplayOne,
  type TargetInput,
} from "./inputs.ts";
import { noSuchDestination, noSuchEvent, tenantOf } from "./operation-routes.ts";
import type { AdminParts } from "./parts.ts";
import { invalidInput, noSuchTenant, Problem } from "./problem.ts";
import { readJson } from "./read-json.ts";
import type { SpreadCalls } from "./spread.ts";

const PAGE_MAX = 100;
const PAGE_DEFAULT = 50;
const STATES: readonly EventState[] = [
  "backlog",
  "retrying",
  "delivered",
  "dead",
  "filtered",
  "purged",
  "expired",
  "erased",
];

export function addEventRoutes(app: Hono, parts: AdminParts): void {
  app.get("/admin/tenants/:tenant/events", async (c) => {
    const query = readQuery(c.req.url, ["state", "destination", "source", "type", "from", "to", "limit", "cursor"]);
    const state = STATES.find((each) => each === query.state);
    if (query.state !== undefined && state === undefined) {
      throw invalidInput("query", [{ path: "state", message: `must be one of ${STATES.join(", ")}` }]);
    }
    const tenant = await tenantOf(parts, c.req.param("tenant"));
    if (query.destination !== undefined) await requireDestination(tenant, query.destination);
    const page = await tenant.events({
      ...selectionOf(query),
      ...(state === undefined ? {} : { state }),
      ...(query.destination === undefined ? {} : { destination: query.destination }),
      limit: queryNumber("limit", query.limit, 1, PAGE_MAX, PAGE_DEFAULT),
      cursor: cursorOf(query.cursor),
    });
    if (page === null) throw noSuchTenant();
    return c.json(page);
  });

  app.get("/admin/tenants/:tenant/dead-letters", async (c) => {
    const names = ["destination", "source", "type", "reason", "from", "to", "limit", "cursor"] as const;
    const query = readQuery(c.req.url, names);
    const tenant = await tenantOf(parts, c.req.param("tenant"));
    const destination = query.destination ?? (await onlyDestination(tenant));
    const limit = queryNumber("limit", query.limit, 1, PAGE_MAX, PAGE_DEFAULT);
    const cursor = cursorOf(query.cursor);
    const page = await tenant.deadLetters({ ...selectionOf(query), destination, limit, cursor });
    if (page === null) throw noSuchDestination();
    return c.json(page);
  });

  for (const kind of ["redrive", "purge"] as const) {
    app.post(`/admin/tenants/:tenant/dead-letters/${kind}`, async (c) => {
      readQuery(c.req.url, []);
      const input = parseDeadLetters(await readJson(c.req.raw));
      if (input.dryRun) noteDryRun(c.req.raw);
      const tenant = await tenantOf(parts, c.req.param("tenant"));
      const destination = input.destination ?? (await onlyDestination(tenant));
      return c.json(await start(tenant, { kind, destinations: [destination], ...targetOf(input) }));
    });
  }

  app.post("/admin/tenants/:tenant/events/replay", async (c) => {
    readQuery(c.req.url, []);
    const input = parseReplay(await readJson(c.req.raw));
    if (input.dryRun) noteDryRun(c.req.raw);
    if (input.all === true) throw invalidInput("replay", [{ path: "all", message: "is for dead letters: use filter" }]);
    const tenant = await tenantOf(parts, c.req.param("tenant"));
    return c.json(await start(tenant, { kind: "replay", destinations: input.destinations ?? [], ...targetOf(input) }));
  });

  app.post("/admin/tenants/:tenant/events/:id/replay", async (c) => {
    readQuery(c.req.url, []);
    const { destinations = [] } = parseReplayOne(await readJson(c.req.raw));
    const tenant = await tenantOf(parts, c.req.param("tenant"));
    const id = c.req.param("id");
    if ((await tenant.event(id)) === null) throw noSuchEvent();
    return c.json(await start(tenant, { kind: "replay", destinations, ids: [id], dryRun: false }));
  });

  app.post("/admin/tenants/:tenant/events/erase", async (c) => {
    readQuery(c.req.url, []);
    const input = parseErase(await readJson(c.req.raw));
    if (input.dryRun) noteDryRun(c.req.raw);
    if (input.all === true)
      throw invalidInput("erasure", [{ path: "all", message: "is for dead letters: use filter" }]);
    const tenant = await tenantOf(parts, c.req.param("tenant"));
    return c.json(await start(tenant, { kind: "erase", destinations: [], ...targetOf(input) }));
  });

  app.delete("/admin/tenants/:tenant/events/:id/body", async (c) => {
    readQuery(c.req.url, []);
    const tenant = await tenantOf(parts, c.req.param("tenant"));
    const id = c.req.param("id");
    if ((await tenant.event(id)) === null) throw noSuchEvent();
    return c.json(await start(tenant, { kind: "erase", destinations: [], ids: [id], dryRun: false }));
  });

  app.post("/admin/tenants/:tenant/events/:id/dead-letter", async (c) => {
    readQuery(c.req.url, []);
    const input = parseNamed(await readJson(c.req.raw));
    const tenant = await tenantOf(parts, c.req.param("tenant"));
    const destination = input.destination ?? (await onlyDestination(tenant));
    const isMoved = await tenant.giveUpEvent({ eventId: c.req.param("id"), destination });
    if (isMoved === null) throw noSuchDestination();
    if (!isMoved) throw new Problem(409, "not-waiting", "The event is in no backlog of this destination.");
    return c.json({ count: 1 });
  });

  app.get("/admin/tenants/:tenant/jobs/:job", async (c) => {
    readQuery(c.req.url, []);
    return c.json(knownJob(await (await tenantOf(parts, c.req.param("tenant"))).job(c.req.param("job"))));
  });

  app.post("/admin/tenants/:tenant/jobs/:job/cancel", async (c) => {
    readQuery(c.req.url, []);
    return c.json(knownJob(await (await tenantOf(parts, c.req.param("tenant"))).cancelJob(c.req.param("job"))));
  });
}

/** `job` only where one was started: what is named by ids is done when the answer comes. */
async function start(tenant: SpreadCalls, call: JobCall): Promise<{ readonly job?: string; readonly count: number }> {
  const answer = await tenant.startJob(call);
  if (answer.kind === "no-such-destination") throw noSuchDestination();
  return answer.job === null ? { count: answer.count } : { job: answer.job, count: answer.count };
}

function targetOf(input: TargetInput): Pick<JobCall, "ids" | "filter" | "all" | "dryRun"> {
  return {
    ...(input.ids === undefined ? {} : { ids: input.ids }),
    ...(input.filter === undefined ? {} : { filter: filterOf(input.filter) }),
    ...(input.all === undefined ? {} : { all: true }),
    dryRun: input.dryRun,
  };
}

function filterOf(input: FilterInput): Selection {
  return {
    ...(input.source === undefined ? {} : { source: input.source }),
    ...(input.type === undefined ? {} : { type: input.type }),
    ...(input.reason === undefined ? {} : { reason: input.reason }),
    ...(input.from === undefined ? {} : { fromMs: input.from }),
    ...(input.to === undefined ? {} : { toMs: input.to }),
  };
}

type SelectionQuery = Partial<Record<"source" | "type" | "reason" | "from" | "to", string>>;

function selectionOf(query: SelectionQuery): Selection {
  const { source, type, reason } = query;
  return filterOf({ source, type, reason, from: timeOf("from", query.from), to: timeOf("to", query.to) });
}

function timeOf(path: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const atMs = Date.parse(text);
  if (Number.isFinite(atMs)) return atMs;
  throw invalidInput("query", [{ path, message: "must be a time such as 2026-11-29T22:05:01Z" }]);
}

/** Cursors come from an earlier answer; anything else is a typing error. */
function cursorOf(text: string | undefined): string | null {
  if (text === undefined) return null;
  if (/^[\d:,-]{1,1000}$/.test(text)) return text;
  throw invalidInput("query", [{ path: "cursor", message: "must be the cursor of an earlier answer" }]);
}

async function requireDestination(tenant: SpreadCalls, name: string): Promise<void> {
  const stats = await tenant.stats();
  if (stats === null || !Object.hasOwn(stats.destinations, name)) throw noSuchDestination();
}

/** The destination a call means that names none: clear only where there is one. */
async function onlyDestination(tenant: SpreadCalls): Promise<string> {
  const stats = await tenant.stats();
  if (stats === null) throw noSuchTenant();
  const ids = Object.keys(stats.destinations);
  const [id] = ids;
  if (id !== undefined && ids.length === 1) return id;
  const message = `Say which destination is meant: ${ids.join(", ") || "there is none"}.`;
  throw new Problem(400, "destination-required", message);
}

function knownJob(job: JobView | null): JobView {
  if (job === null) throw new Problem(404, "no-such-job", "The tenant has no job of this id.");
  return job;
}
