/** From a checked input to the configuration that is stored: every default filled in, nothing left to look up. */
import { DELIVERY_DEFAULTS, type DeliverySettings } from "../core/delivery/settings.ts";
import type { Place } from "../core/place.ts";
import { longestRetrySeconds } from "../providers/answers.ts";
import { sourceRow } from "../providers/catalogue.ts";
import { parseCustomRow } from "../providers/schema/row.ts";
import type { AlertConfig, DestinationConfig, LiveSecret, QueueConfig, SourceConfig, TenantConfig } from "./config.ts";
import type { ConfigInput, DestinationInput, SecretInput, SourceInput } from "./schema.ts";

const DEDUPE_WINDOW_MIN_SECONDS = 345_600;
const DEDUPE_WINDOW_MAX_SECONDS = 2_592_000;

/**
 * `input` is what the operator wrote, kept for `PATCH`; `checked` is what the schema made of it; `linkHost` is a host this
 * Worker is known by.
 */
export function buildConfig(checked: ConfigInput, input: unknown, linkHost: string | null = null): TenantConfig {
  const sources = Object.fromEntries(Object.entries(checked.sources).map(([id, source]) => [id, buildSource(source)]));
  const destinations = Object.entries(checked.destinations ?? {});
  return {
    active: checked.active,
    maxBodyBytes: checked.maxBodyBytes,
    shards: checked.shards,
    ...placeOf(checked),
    sources,
    rateLimit: checked.rateLimit ?? { events: 100, windowSeconds: 10, action: "auto" },
    dedupeWindowSeconds: checked.dedupeWindowSeconds ?? defaultDedupeWindowSeconds(Object.values(sources)),
    contentDedupeSeconds: checked.contentDedupeSeconds,
    retainSeconds: checked.retainSeconds,
    retainBytes: checked.retainBytes,
    deadLetterTtlSeconds: checked.deadLetterTtlSeconds,
    maxBacklogEvents: checked.maxBacklogEvents,
    maxBacklogBytes: checked.maxBacklogBytes,
    destinations:
      destinations.length === 0
        ? { origin: buildDestination({ kind: "http" }) }
        : Object.fromEntries(destinations.map(([id, destination]) => [id, buildDestination(destination)])),
    alerts: checked.alerts ? buildAlerts(checked.alerts, linkHost) : null,
    input,
  };
}

function buildAlerts(alerts: NonNullable<ConfigInput["alerts"]>, linkHost: string | null): AlertConfig {
  return {
    webhookUrl: alerts.webhookUrl ?? null,
    format: alerts.format,
    signingSecrets: alerts.signingSecrets ?? [],
    email: alerts.email ?? null,
    silentSourceSeconds: alerts.silentSourceSeconds ?? null,
    linkHost,
  };
}

function placeOf({ jurisdiction = null, locationHint = null }: ConfigInput): { readonly place?: Place } {
  return jurisdiction === null && locationHint === null ? {} : { place: { jurisdiction, locationHint } };
}

/** The longest time any provider of the tenant goes on trying, within 4 and 30 days [D3]. */
function defaultDedupeWindowSeconds(sources: readonly SourceConfig[]): number {
  const retries = sources.map((source) => {
    const row = sourceRow(source.provider, source.custom);
    return row === undefined ? 0 : longestRetrySeconds(row);
  });
  return Math.min(Math.max(DEDUPE_WINDOW_MIN_SECONDS, ...retries), DEDUPE_WINDOW_MAX_SECONDS);
}

function buildSource(source: SourceInput): SourceConfig {
  return {
    provider: source.provider,
    secrets: source.secrets.map(buildSecret),
    toleranceSeconds: source.toleranceSeconds ?? null,
    forwardHeaders: [...new Set(source.forwardHeaders)],
    eventId: source.eventId ?? null,
    publicUrl: source.publicUrl ?? null,
    verifyToken: source.verifyToken ?? null,
    params: source.params,
    ...(source.handshakeUntil ? { handshakeUntilMs: Date.parse(source.handshakeUntil) } : {}),
    custom: source.provider === "custom" ? ownRow(source.custom) : null,
  };
}

/** The row as ingress uses it; `source-meaning.ts` refused those that are wrong. */
function ownRow(custom: unknown): unknown {
  const parsed = parseCustomRow(custom);
  return parsed.ok ? parsed.row : null;
}

function buildSecret(secret: SecretInput): LiveSecret {
  if (typeof secret === "string") return { value: secret, retiresAtMs: null };
  return { value: secret.value, retiresAtMs: secret.retiresAt ? Date.parse(secret.retiresAt) : null };
}

function buildDestination(destination: DestinationInput): DestinationConfig {
  return {
    kind: destination.kind,
    url: destination.url ?? null,
    bearerToken: destination.bearerToken ?? null,
    signingSecrets: destination.signingSecrets ?? [],
    signature: destination.signature ?? "standard",
    format: destination.format ?? "batch",
    filter: destination.filter
      ? { sources: destination.filter.sources ?? null, types: destination.filter.types ?? null }
      : null,
    from: destination.from ?? "now",
    queue: destination.kind === "queue" ? buildQueue(destination) : null,
    delivery: buildDelivery(destination),
  };
}

const QUEUE_BACKLOG_MAX = 100_000;

function buildQueue(destination: DestinationInput): QueueConfig {
  const { deliverTo } = destination;
  return {
    binding: destination.queue ?? "DELIVERY_QUEUE",
    maxBacklog: destination.maxQueueBacklog ?? QUEUE_BACKLOG_MAX,
    deliverTo:
      deliverTo?.url === undefined
        ? null
        : {
            url: deliverTo.url,
            bearerToken: deliverTo.bearerToken ?? null,
            signingSecrets: deliverTo.signingSecrets ?? [],
            signature: deliverTo.signature ?? "standard",
            timeoutMs: deliverTo.timeoutMs ?? DELIVERY_DEFAULTS.timeoutMs,
            retryAfterMaxSeconds: destination.retryAfterMaxSeconds ?? DELIVERY_DEFAULTS.retryAfterMaxSeconds,
          },
  };
}

function buildDelivery(destination: DestinationInput): DeliverySettings {
  const { batch, retry, circuitBreaker, ...defaults } = DELIVERY_DEFAULTS;
  const openMs = destination.circuitBreaker?.openMs ?? circuitBreaker.openMs;
  return {
    batch: {
      maxEvents: destination.batch?.maxEvents ?? batch.maxEvents,
      maxBytes: destination.batch?.maxBytes ?? batch.maxBytes,
      flushDelayMs: destination.batch?.flushDelayMs ?? batch.flushDelayMs,
    },
    timeoutMs: destination.timeoutMs ?? defaults.timeoutMs,
    maxInFlight: destination.maxInFlight ?? defaults.maxInFlight,
    ordering: destination.ordering ?? defaults.ordering,
    maxEventsPerSecond: destination.maxEventsPerSecond ?? null,
    retry: {
      maxAttempts: destination.retry?.maxAttempts ?? retry.maxAttempts,
      baseMs: destination.retry?.baseMs ?? retry.baseMs,
      factor: destination.retry?.factor ?? retry.factor,
      maxMs: destination.retry?.maxMs ?? retry.maxMs,
      jitter: destination.retry?.jitter ?? retry.jitter,
      scheduleSeconds: destination.retry?.scheduleSeconds ?? null,
      countDestinationFaults: destination.retry?.countDestinationFaults ?? retry.countDestinationFaults,
    },
    retryAfterMaxSeconds: destination.retryAfterMaxSeconds ?? defaults.retryAfterMaxSeconds,
    giveUpAfterSeconds: destination.giveUpAfterSeconds ?? defaults.giveUpAfterSeconds,
    circuitBreaker: {
      openMs,
      // A longer `openMs` alone is a valid wish: the longest time then grows with it.
      openMsMax: destination.circuitBreaker?.openMsMax ?? Math.max(openMs, circuitBreaker.openMsMax),
    },
  };
}
