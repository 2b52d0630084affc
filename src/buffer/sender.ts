/** Makes the attempts of a tenant's destinations over the sinks; what a destination's settings are at this moment [V21]. */
import { unreachable } from "../core/assert.ts";
import type { Outcome } from "../core/delivery/outcome.ts";
import type { Settings } from "../env.ts";
import { batchId } from "../sinks/batch-id.ts";
import type { HttpDestination } from "../sinks/delivery.ts";
import { sendHttp } from "../sinks/http.ts";
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
  if (baseUrl === null) return null;
  return {
    ...common,
    url: `${baseUrl}${DEFAULT_ORIGIN_PATH}`,
    bearerToken: token,
    signingSecrets: signingSecret === null ? [] : [signingSecret],
  };
}

/** The host a destination's requests go to, "" where there is none now. */
export function hostOf(config: DestinationConfig, settings: Settings): string {
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
  readonly outcome: Outcome;
  readonly batchId: string;
}

/** Makes one attempt; whatever goes wrong is an outcome. */
export async function send(
  tenant: string,
  name: string,
  config: DestinationConfig,
  request: LoadedRequest,
  settings: Settings,
  nowMs: number,
): Promise<Sent> {
  const id = await batchId(
    `${tenant}/${name}`,
    request.events.map((event) => event.eventId),
    request.job,
  );
  switch (config.kind) {
    case "http": {
      const destination = httpDestination(config, settings);
      if (destination === null) return { batchId: id, outcome: unconfigured };
      const hops = request.events.reduce((most, event) => Math.max(most, event.hops), 0);
      const delivery = { tenant, destination: name, batchId: id, nowMs, events: request.events, hops };
      const policy = { allowInsecure: settings.allowInsecureDestinations, ownHosts: settings.publicHosts };
      return { batchId: id, outcome: await sendHttp(destination, delivery, policy) };
    }
    case "queue":
      return { batchId: id, outcome: unconfigured };
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
