/**
 * `GET /metrics`: how all tenants do, for Prometheus [O8]. It answers from the summaries that the sweep collects, and calls
 * no object; docs/OPERATIONS.md lists the names.
 */
import type { DestinationState, DestinationStats, TenantStats } from "../buffer/contract.ts";
import { logLine } from "../observe/log-line.ts";
import { type Metric, PROMETHEUS_CONTENT_TYPE, prometheusText, type Sample } from "../observe/prometheus.ts";
import { readSummaries } from "../sweep/summaries.ts";
import { isAdmin } from "./auth.ts";
import type { AdminParts } from "./parts.ts";
import { Problem } from "./problem.ts";
import { type TenantSummary, tenantSummaries } from "./tenant-summaries.ts";

type Tenants = ReadonlyMap<string, TenantSummary>;

export async function answerMetrics(request: Request, parts: AdminParts): Promise<Response> {
  if (!(await isAdmin(request.headers, parts.settings.adminToken))) {
    return new Problem(401, "unauthorized", "Metrics need the admin token: Authorization: Bearer <ADMIN_TOKEN>.", {
      headers: { "www-authenticate": 'Bearer realm="spillway"' },
    }).toResponse();
  }
  if (request.method !== "GET" && request.method !== "HEAD") {
    return new Problem(405, "method-not-allowed", "Metrics are read.", {
      headers: { allow: "GET, HEAD" },
    }).toResponse();
  }
  try {
    const tenants = tenantSummaries(await readSummaries(parts.kv));
    return new Response(prometheusText(metricsOf(tenants, parts.now())), {
      headers: { "content-type": PROMETHEUS_CONTENT_TYPE, "cache-control": "no-store" },
    });
  } catch (error) {
    logLine("error", "metrics-failed", { reason: error instanceof Error ? error.message : "unknown" });
    const headers = { "retry-after": "30" };
    return new Problem(503, "unavailable", "The summaries can't be read just now.", { headers }).toResponse();
  }
}

const STATES: readonly DestinationState[] = ["closed", "open", "half-open", "holding", "paused", "disabled"];

const LEDGER = ["delivered", "backlog", "dead", "filtered", "purged", "expired", "erased"] as const;

/** Every metric there is; `nowMs` for the ages. */
export function metricsOf(tenants: Tenants, nowMs: number): Metric[] {
  const perTenant = (value: (stats: TenantStats, summary: TenantSummary) => number): Sample[] =>
    [...tenants].map(([tenant, summary]) => ({ labels: { tenant }, value: value(summary.stats, summary) }));
  const perDestination = (samples: (stats: DestinationStats) => readonly (readonly [string | null, number])[]) =>
    [...tenants].flatMap(([tenant, { stats }]) =>
      Object.entries(stats.destinations).flatMap(([destination, each]) =>
        samples(each).map(([state, value]) => ({
          labels: state === null ? { tenant, destination } : { tenant, destination, state },
          value,
        })),
      ),
    );
  const counter = (name: string, help: string, samples: Sample[]): Metric => ({ name, help, type: "counter", samples });
  const gauge = (name: string, help: string, samples: Sample[]): Metric => ({ name, help, type: "gauge", samples });
  return [
    gauge("spillway_tenants", "Tenants of which there is a summary.", [{ labels: {}, value: tenants.size }]),
    gauge(
      "spillway_summary_age_seconds",
      "Age of what is said of a tenant here.",
      perTenant((_, { collectedAtMs }) => Math.max(0, Math.round((nowMs - collectedAtMs) / 1_000))),
    ),
    counter(
      "spillway_accepted_total",
      "Events stored.",
      perTenant((stats) => stats.accepted),
    ),
    counter(
      "spillway_deduplicated_total",
      "Repeats that were recognised; approximate.",
      perTenant((stats) => stats.deduplicated),
    ),
    counter(
      "spillway_rate_limited_total",
      "Events refused over the rate limit; approximate.",
      perTenant((stats) => stats.rateLimited),
    ),
    counter(
      "spillway_reopened_total",
      "Dead events that a repeat revived; approximate.",
      perTenant((stats) => stats.reopened),
    ),
    counter(
      "spillway_offered_total",
      "Events offered to a destination.",
      perDestination((stats) => [[null, stats.offered]]),
    ),
    gauge(
      "spillway_events",
      "Events offered to a destination, by where they stand now; their sum is spillway_offered_total.",
      perDestination((stats) => LEDGER.map((state) => [state, stats[state]] as const)),
    ),
    gauge(
      "spillway_retrying_events",
      "Events of the backlog that failed on their own and are retried.",
      perDestination((stats) => [[null, stats.retrying]]),
    ),
    gauge(
      "spillway_oldest_event_age_seconds",
      "Age of the oldest event that waits when the summary was made; 0 where none waits.",
      perDestination((stats) => [[null, Math.round((stats.oldestBacklogAgeMs ?? 0) / 1_000)]]),
    ),
    gauge(
      "spillway_destination_state",
      "1 for the state a destination is in.",
      perDestination((stats) => STATES.map((state) => [state, stats.state === state ? 1 : 0] as const)),
    ),
    gauge("spillway_alert", "1 for each alert that is up.", alertSamples(tenants)),
    gauge(
      "spillway_storage_bytes",
      "Bytes stored.",
      perTenant((stats) => stats.storage.bytes),
    ),
    counter(
      "spillway_rows_written_total",
      "Rows written, what the bill goes by.",
      perTenant((stats) => stats.cost.rowsWritten),
    ),
    counter(
      "spillway_rows_read_total",
      "Rows read.",
      perTenant((stats) => stats.cost.rowsRead),
    ),
  ];
}

/** Several of one kind (one per source, or per answer) are one sample: a series must not come twice. */
function alertSamples(tenants: Tenants): Sample[] {
  return [...tenants].flatMap(([tenant, { stats }]) => {
    const names = new Set(stats.alerts.map((alert) => JSON.stringify([alert.destination ?? "", alert.kind])));
    return [...names].map((name) => {
      const [destination = "", kind = ""] = JSON.parse(name) as string[];
      return { labels: { tenant, destination, kind }, value: 1 };
    });
  });
}
