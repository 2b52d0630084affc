/** The record of what operators changed [O11], kept by the tenant's first object. */
import type { Log } from "../log/log.ts";
import type { ChangeCall, ChangeView } from "./contract.ts";

/** Longer texts are cut: they come from a request's path. */
const TEXT_CHARS_MAX = 300;

export function recordChange(log: Log, { who, what, status, count }: ChangeCall, nowMs: number): void {
  const change = { atMs: nowMs, who: who.slice(0, TEXT_CHARS_MAX), what: what.slice(0, TEXT_CHARS_MAX), status, count };
  log.transaction(() => log.changes.record(change));
}

/** Newest first. A cursor that is none counts as the beginning. */
export function changePage(
  log: Log,
  { cursor, limit }: { readonly cursor: string | null; readonly limit: number },
): { readonly items: readonly ChangeView[]; readonly cursor: string | null } {
  const beforeId = cursor !== null && /^\d{1,15}$/.test(cursor) ? Number(cursor) : null;
  const rows = log.changes.page(beforeId, limit + 1);
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return {
    items: items.map(({ atMs, who, what, status, count }) => {
      return { at: new Date(atMs).toISOString(), who, what, status, count };
    }),
    cursor: rows.length > limit && last !== undefined ? String(last.id) : null,
  };
}
