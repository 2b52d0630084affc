/** Makes the attempts of a tenant's destinations over the sinks; what a destination's settings are at this moment [V21]. */
import { unreachable } from "../core/assert.ts";
import type { Outcome } from "../core/delivery/outcome.ts";
import type { Settings } from "../env.ts";
import { batchId } from "../sinks/batch-id.ts";
import type { HttpDestination } from "../sinks/delivery.ts";
import { sendHttp } from "../sinks/http.ts";
import { type QueueBinding, sendToQueue } from "../sinks/queue.ts";
import type { DestinationConfig } from "../tenants/config.ts";
import type { LoadedRequest } from "./load-request.ts";

const DEFAULT_ORIGIN_PATH = "/internal/webhooks/batch";

/** Where to POST, or null where the default origin's variable is missing [V5]. */
export function httpDestination(config: DestinationConfig, settings: Settings): HttpDestination | null {
  const { delivery, signature, format } = config;
  const common = {
    signature,
    format,
    timeoutMs: delivery.timeoutMs,
    retryAfterMaxSeconds: delivery.retryAfterMaxSeconds,
  };
  if (config.url !== null) {
    return { ...common, url: config.url, bearerToken: config.bearerToken, signingSecrets: config.signingSecrets };
  }
  const { baseUrl, token, signingSecret } = settings.origin;
  if (config.kind === "queue" || baseUrl === null) return null;
  return {
    ...common,
    url: `${baseUrl}${DEFAULT_ORIGIN_PATH}`,
    bearerToken: token,
    signingSecrets: signingSecret === null ? [] : [signingSecret],
  };
}

/** The host a destination's requests go to, "" where there is none now. */
export function hostOf(config: DestinationConfig, settings: Settings): string {
  if (config.kind === "queue") return `queue:${config.queue?.binding ?? ""}`;
  const url = httpDestination(config, settings)?.url;
  return url !== undefined && URL.canParse(url) ? new URL(url).host : "";
}

/** The host of a destination that all tenants send to through one gate [V27], or null. */
export function sharedHostOf(config: DestinationConfig, settings: Settings): string | null {
  const url = config.kind === "http" ? httpDestination(config, settings)?.url : undefined;
  if (url === undefined || !URL.canParse(url)) return null;
  const host = new URL(url).hostname.replace(/\.+$/, "");
  return config.url === null || settings.sharedOrigins.hosts.includes(host) ? host : null;
}

export interface Sent {
  /** Events that a queue's consumer will fetch from here [V19]. */
  readonly claimedSeqs?: readonly number[];
  readonly outcome: Outcome;
  readonly batchId: string;
}

/** What sending needs beside the request. */
interface SendParts {
  readonly tenant: string;
  /** The object that sends [S1]. */
  readonly shard: number;
  readonly settings: Settings;
  /** A queue's binding by its name, or null where it is not bound. */
  readonly queueOf: (binding: string) => QueueBinding | null;
}

/** Makes one attempt; whatever goes wrong is an outcome. */
export async function send(
  parts: SendParts,
  name: string,
  config: DestinationConfig,
  request: LoadedRequest,
  nowMs: number,
): Promise<Sent> {
  const { tenant, settings, shard } = parts;
  const id = await batchId(
    `${tenant}/${name}`,
    request.events.map((event) => event.eventId),
    request.job,
  );
  const hops = request.events.reduce((most, event) => Math.max(most, event.hops), 0);
  const delivery = { tenant, destination: name, batchId: id, nowMs, events: request.events, hops, shard };
  switch (config.kind) {
    case "http": {
      const destination = httpDestination(config, settings);
      if (destination === null) return { batchId: id, outcome: unconfigured };
      const policy = { allowInsecure: settings.allowInsecureDestinations, ownHosts: settings.publicHosts };
      return { batchId: id, outcome: await sendHttp(destination, delivery, policy) };
    }
    case "queue": {
      const queue = config.queue === null ? null : parts.queueOf(config.queue.binding);
      if (queue === null || config.queue === null) return { batchId: id, outcome: unconfigured };
      const { maxBacklog } = config.queue;
      return { batchId: id, ...(await sendToQueue(queue, delivery, maxBacklog, config.delivery.timeoutMs)) };
    }
    default:
      return unreachable(config.kind);
  }
}

const unconfigured: Outcome = {
  kind: "failed",
  retryAfterMs: null,
  status: null,
  cause: "unconfigured",
  excerpt: "",
  durationMs: 0,
};
