/** The ledger and gauges of a tenant [X5] [O10]. Nothing here counts or scans the log. */
import type { Alert } from "../log/alerts.ts";
import type { Counters } from "../log/cursors.ts";
import type { Log } from "../log/log.ts";
import type { AlertRow, DestinationStats, TenantStats } from "./contract.ts";
import type { Destination } from "./destination.ts";
import type { Roster } from "./roster.ts";

export function tenantStats(tenant: string, version: number, log: Log, roster: Roster, nowMs: number): TenantStats {
  const { totals } = log.meter;
  return {
    tenant,
    version,
    accepted: log.segments.high.seq,
    deduplicated: totals.deduplicated,
    deduplicatedWithOtherBody: totals.deduplicatedWithOtherBody,
    rateLimited: totals.rateLimited,
    reopened: totals.reopened,
    rejected: totals.rejected,
    destinations: Object.fromEntries(
      roster.all.map((destination) => [destination.name, destinationStats(destination, log, nowMs)]),
    ),
    storage: { bytes: log.sizeBytes, segments: log.segments.bodies.length + log.segments.keys.length },
    cost: {
      since: new Date(totals.sinceMs).toISOString(),
      rowsWritten: totals.rowsWritten,
      rowsRead: totals.rowsRead,
      setupRows: totals.setupRows,
      commits: totals.commits,
    },
    alerts: log.alerts.list().map(alertRow),
  };
}

function alertRow({ kind, destination, subject, raisedAtMs, clearedAtMs, detail, telling }: Alert): AlertRow {
  const { message } = telling;
  const row = {
    kind,
    destination: destination === "" ? null : destination,
    ...(subject === "" ? {} : { subject }),
    raisedAt: new Date(raisedAtMs).toISOString(),
    clearedAt: clearedAtMs === null ? null : new Date(clearedAtMs).toISOString(),
    detail,
  };
  if (message === null || message.tries === 0) return row;
  const { what, tries, failure, nextTryAtMs } = message;
  const nextTryAt = nextTryAtMs === null ? null : new Date(nextTryAtMs).toISOString();
  return { ...row, untold: { what, tries, failure, nextTryAt } };
}

function destinationStats(destination: Destination, log: Log, nowMs: number): DestinationStats {
  const { cursor } = destination;
  const dueMs = destination.dueMs(nowMs);
  const counters: Counters = cursor.counters;
  return {
    state: destination.state(nowMs),
    offered: log.segments.high.seq - cursor.baseSeq + cursor.offeredExtra,
    delivered: counters.delivered,
    backlog: destination.backlogEvents(),
    retrying: cursor.aside,
    dead: counters.dead,
    filtered: counters.filtered,
    purged: counters.purged,
    expired: counters.expired,
    erased: counters.erased,
    oldestBacklogAgeMs: oldestBacklogAgeMs(destination, log, nowMs),
    nextAttemptAt: dueMs === null ? null : new Date(Math.max(dueMs, nowMs)).toISOString(),
  };
}

function oldestBacklogAgeMs(destination: Destination, log: Log, nowMs: number): number | null {
  if (destination.backlogEvents() === 0) return null;
  const fresh = log.events.heads(destination.row.position, 1)[0];
  const asideSeq = destination.cursor.aside === 0 ? null : log.aside.oldestSeq(destination.name);
  const aside = asideSeq === null ? null : log.events.head(asideSeq);
  const receipts = [fresh?.receivedAtMs, aside?.receivedAtMs].filter((atMs) => atMs !== undefined);
  return receipts.length === 0 ? null : Math.max(0, nowMs - Math.min(...receipts));
}
