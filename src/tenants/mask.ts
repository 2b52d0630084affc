/** The configuration as an operator may see it: every default filled in, every secret as a fingerprint [O3]. */
import type { DeliverTo, DestinationConfig, SourceConfig, TenantConfig } from "./config.ts";
import type { ConfigContext } from "./context.ts";
import { defaultDestinationOf } from "./default-destination.ts";
import { type Fingerprint, fingerprinter, type SealingKeys } from "./sealing.ts";

/** One of the keys must be set: the fingerprints depend on it, so that nobody else can test a guess. */
export async function maskConfig(
  config: TenantConfig,
  tenant: string,
  keys: SealingKeys,
  origin: ConfigContext["origin"],
): Promise<Record<string, unknown>> {
  const fingerprint = fingerprinter(keys, tenant);
  const { sources, destinations, alerts, place, input: _secretsInside, ...rest } = config;
  return {
    ...rest,
    ...place,
    sources: await mapMembers(sources, (source) => maskSource(source, fingerprint)),
    destinations: await mapMembers(destinations, (destination) =>
      maskDestination(defaultDestinationOf(destination, origin), fingerprint),
    ),
    alerts: alerts && {
      ...alerts,
      // The address of a Slack channel is its secret.
      webhookUrl: alerts.webhookUrl && (await fingerprint(alerts.webhookUrl)),
      signingSecrets: await Promise.all(alerts.signingSecrets.map((secret) => fingerprint(secret))),
    },
  };
}

async function maskSource(source: SourceConfig, fingerprint: Fingerprint): Promise<Record<string, unknown>> {
  const secrets = source.secrets.map(async (secret) => ({
    ...(await fingerprint(secret.value)),
    retiresAt: secret.retiresAtMs === null ? null : new Date(secret.retiresAtMs).toISOString(),
  }));
  const { handshakeUntilMs = null, ...rest } = source;
  return {
    ...rest,
    ...(handshakeUntilMs === null ? {} : { handshakeUntil: new Date(handshakeUntilMs).toISOString() }),
    secrets: await Promise.all(secrets),
    verifyToken: source.verifyToken === null ? null : await fingerprint(source.verifyToken),
    params: Object.fromEntries(await Promise.all(Object.entries(source.params).map(maskParam(fingerprint)))),
  };
}

/** Most parameters are names and addresses; those that are secrets say so in their name. */
function maskParam(fingerprint: Fingerprint) {
  return async ([name, value]: [string, string]): Promise<[string, unknown]> => [
    name,
    /secret|token|password|key/i.test(name) ? await fingerprint(value) : value,
  ];
}

async function maskDestination(
  destination: DestinationConfig,
  fingerprint: Fingerprint,
): Promise<Record<string, unknown>> {
  const { delivery, bearerToken, signingSecrets, queue, ...rest } = destination;
  return {
    ...rest,
    queue: queue === null ? null : { ...queue, deliverTo: await maskDeliverTo(queue.deliverTo, fingerprint) },
    bearerToken: bearerToken === null ? null : await fingerprint(bearerToken),
    signingSecrets: await Promise.all(signingSecrets.map((secret) => fingerprint(secret))),
    ...delivery,
  };
}

async function mapMembers<T, U>(
  members: Readonly<Record<string, T>>,
  change: (member: T) => Promise<U>,
): Promise<Record<string, U>> {
  const changed = Object.entries(members).map(
    async ([name, member]): Promise<[string, U]> => [name, await change(member)],
  );
  return Object.fromEntries(await Promise.all(changed));
}

async function maskDeliverTo(deliverTo: DeliverTo | null, fingerprint: Fingerprint): Promise<unknown> {
  if (deliverTo === null) return null;
  const { bearerToken, signingSecrets, ...rest } = deliverTo;
  return {
    ...rest,
    bearerToken: bearerToken === null ? null : await fingerprint(bearerToken),
    signingSecrets: await Promise.all(signingSecrets.map((secret) => fingerprint(secret))),
  };
}
