import type { Settings } from "../env.ts";
import type { ConfigRecord, TenantConfig } from "../tenants/config.ts";
import { type ConfigKv, readRecord } from "../tenants/kv.ts";
import { openConfig } from "../tenants/sealing.ts";
import { OBJECT_LIMIT_MS } from "./claim.ts";
import type { ConsumerParts } from "./consume.ts";

/** What the entry hands in. */
interface Surroundings extends Pick<ConsumerParts, "objects" | "now" | "random" | "log"> {
  readonly kv: ConfigKv;
  readonly settings: Settings;
}

/** What one batch of messages is consumed with: it opens each tenant's configuration once. */
export function partsOfBatch({ kv, settings, ...world }: Surroundings): ConsumerParts {
  const opened = async (tenant: string, record: ConfigRecord | null): Promise<TenantConfig | null> => {
    if (record === null || record.state === "deleted") return null;
    const config = await openConfig(settings.configKeys, tenant, record);
    if (config.ok) return config.value;
    throw new Error(`the configuration of ${tenant} cannot be unsealed: ${config.reason}`);
  };
  const configs = new Map<string, Promise<TenantConfig | null>>();
  return {
    ...world,
    configOf: (tenant) => {
      const known = configs.get(tenant) ?? readRecord(kv, tenant).then((record) => opened(tenant, record));
      configs.set(tenant, known);
      return known;
    },
    newestConfigOf: async (tenant) => opened(tenant, await world.objects.of(tenant, OBJECT_LIMIT_MS).readConfig()),
    policy: { allowInsecure: settings.allowInsecureDestinations, ownHosts: settings.publicHosts },
  };
}
