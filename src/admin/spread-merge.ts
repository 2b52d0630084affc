/** The answers of a tenant's objects put together [S1]: ledgers summed, pages merged. Pure. */
import type { DestinationState, DestinationStats, EventPage, JobView, TenantStats } from "../buffer/contract.ts";

/** The state shown for all objects: the one that most needs a look. */
const STATE_ORDER: readonly DestinationState[] = ["disabled", "open", "half-open", "holding", "paused", "closed"];

/** Sums of the ledgers; null where no object has any. */
export function mergedStats(all: readonly (TenantStats | null)[]): TenantStats | null {
  const stats = all.filter((each) => each !== null);
  const [first] = stats;
  if (first === undefined) return null;
  const sum = (of: (each: TenantStats) => number): number => stats.reduce((total, each) => total + of(each), 0);
  const names = [...new Set(stats.flatMap((each) => Object.keys(each.destinations)))];
  return {
    ...first,
    accepted: sum((each) => each.accepted),
    deduplicated: sum((each) => each.deduplicated),
    deduplicatedWithOtherBody: sum((each) => each.deduplicatedWithOtherBody),
    rateLimited: sum((each) => each.rateLimited),
    reopened: sum((each) => each.reopened),
    // Summaries of an earlier release do not say.
    rejected: sum((each) => each.rejected ?? 0),
    destinations: Object.fromEntries(
      names.map((name) => [
        name,
        mergedDestination(
          stats.flatMap((each) => (Object.hasOwn(each.destinations, name) ? [each.destinations[name]] : [])),
        ),
      ]),
    ),
    storage: { bytes: sum((each) => each.storage.bytes), segments: sum((each) => each.storage.segments) },
    cost: {
      since: inOrder(stats.map((each) => each.cost.since)).at(0) ?? first.cost.since,
      rowsWritten: sum((each) => each.cost.rowsWritten),
      rowsRead: sum((each) => each.cost.rowsRead),
      setupRows: sum((each) => each.cost.setupRows),
      commits: sum((each) => each.cost.commits),
    },
    alerts: stats.flatMap((each) => each.alerts),
  };
}

function mergedDestination(all: readonly (DestinationStats | undefined)[]): DestinationStats {
  const known = all.filter((each) => each !== undefined);
  const sum = (of: (each: DestinationStats) => number): number => known.reduce((total, each) => total + of(each), 0);
  const ages = known.map((each) => each.oldestBacklogAgeMs).filter((age) => age !== null);
  return {
    state: STATE_ORDER.find((state) => known.some((each) => each.state === state)) ?? "closed",
    offered: sum((each) => each.offered),
    delivered: sum((each) => each.delivered),
    backlog: sum((each) => each.backlog),
    retrying: sum((each) => each.retrying),
    dead: sum((each) => each.dead),
    filtered: sum((each) => each.filtered),
    purged: sum((each) => each.purged),
    expired: sum((each) => each.expired),
    erased: sum((each) => each.erased),
    oldestBacklogAgeMs: ages.length === 0 ? null : Math.max(...ages),
    nextAttemptAt: inOrder(known.map((each) => each.nextAttemptAt)).at(0) ?? null,
  };
}

/** One job on several objects: done when all are. */
export function mergedJobs(all: readonly (JobView | null)[]): JobView | null {
  const jobs = all.filter((each) => each !== null);
  const [first] = jobs;
  if (first === undefined) return null;
  const isRunning = jobs.some((job) => job.state === "running");
  const isCancelled = jobs.some((job) => job.state === "cancelled");
  return {
    ...first,
    state: isRunning ? "running" : isCancelled ? "cancelled" : "done",
    count: jobs.reduce((sum, job) => sum + job.count, 0),
    done: jobs.reduce((sum, job) => sum + job.done, 0),
    endedAt: isRunning ? null : (inOrder(jobs.map((job) => job.endedAt)).at(-1) ?? null),
  };
}

/**
 * The newest `limit` events of all pages. The cursor holds one cursor per object, `-` for one that was looked at to the
 * end; an object none of whose events fitted keeps the cursor it had.
 */
export function mergedEvents(
  pages: readonly (EventPage | null)[],
  cursors: readonly string[],
  limit: number,
): EventPage {
  const lines = pages.flatMap((page, shard) => (page?.items ?? []).map((line) => ({ line, shard })));
  lines.sort((a, b) => b.line.receivedAt.localeCompare(a.line.receivedAt) || a.shard - b.shard);
  const taken = lines.slice(0, limit);
  const next = pages.map((page, shard) => {
    if (page === null) return "-";
    const own = taken.filter((each) => each.shard === shard);
    if (own.length === page.items.length) return page.cursor ?? "-";
    return own.at(-1)?.line.seq ?? cursors[shard] ?? "";
  });
  const isOver = next.every((cursor) => cursor === "-");
  return { items: taken.map((each) => each.line), cursor: isOver ? null : next.join(",") };
}

/** Instants in ISO 8601, the earliest first; as texts they sort as in time. */
function inOrder(instants: readonly (string | null)[]): string[] {
  return instants.filter((at) => at !== null).toSorted();
}
