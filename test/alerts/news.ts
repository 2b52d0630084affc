import type { AlertNews } from "../../src/core/alert-text.ts";

export const NOW_MS = Date.UTC(2026, 10, 29, 12);

/** An alert as a channel is handed it. */
export function news(changes: Partial<AlertNews> = {}): AlertNews {
  return {
    kind: "breaker-open",
    destination: "origin",
    subject: "",
    what: "raised",
    tenant: "acme",
    shard: null,
    detail: "5 requests in a row did not succeed",
    level: 0,
    raisedAtMs: NOW_MS - 60_000,
    clearedAtMs: null,
    waitingEvents: 120,
    link: "https://hooks.example.com/admin/tenants/acme/stats",
    ...changes,
  };
}
