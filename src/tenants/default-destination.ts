import type { DestinationConfig } from "./config.ts";
import type { ConfigContext } from "./context.ts";

const DEFAULT_PATH = "/internal/webhooks/batch";

/**
 * A destination as it is served: the default one (no URL of its own) with the operator's URL, token and signing secret
 * of the moment [V5], any other as it is. `url` stays null where ORIGIN_BASE_URL is not set.
 */
export function defaultDestinationOf(
  destination: DestinationConfig,
  origin: ConfigContext["origin"],
): DestinationConfig {
  if (destination.kind !== "http" || destination.url !== null) return destination;
  return {
    ...destination,
    url: origin.baseUrl === null ? null : origin.baseUrl + DEFAULT_PATH,
    bearerToken: origin.token,
    signingSecrets: origin.signingSecret === null ? [] : [origin.signingSecret],
  };
}
