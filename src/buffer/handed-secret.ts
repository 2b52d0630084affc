/** The secret that a provider hands over, on its way into the tenant's configuration [I7]. */
import type { TenantConfig } from "../tenants/config.ts";
import { withHandedSecret } from "../tenants/handshake-window.ts";
import { type SealingKeys, sealConfig } from "../tenants/sealing.ts";
import type { Stored } from "./configuration.ts";
import type { ConfigureAnswer, ConfigureCall, TakeSecretAnswer, TakeSecretCall } from "./contract.ts";

/** What owns the tenant's configuration. */
interface Owner {
  readonly stored: Stored | null;
  configure(call: ConfigureCall): Promise<ConfigureAnswer>;
}

/** Another change may come in between; the window is then looked at again in what that one left. */
const TRIES_MAX = 3;

/** Takes the secret as one more change of the configuration: sealed, numbered, and told to all who hold a copy [O4]. */
export async function takeHandedSecret(
  owner: Owner,
  keys: SealingKeys,
  call: TakeSecretCall,
  clock: () => number,
): Promise<TakeSecretAnswer> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const { stored } = owner;
    const changed = stored === null ? null : changedBy(stored.config, call, clock());
    if (stored === null || changed === null || keys.current === null) break;
    const { tenant } = stored;
    const record = await sealConfig(keys, tenant, changed, 0, "live");
    const answer = await owner.configure({ tenant, ifVersion: stored.record.version, force: true, record });
    if (answer.kind === "configured") return { kind: "taken", record: answer.record };
  }
  return { kind: "closed" };
}

function changedBy(
  config: TenantConfig | null,
  { source, secret }: TakeSecretCall,
  nowMs: number,
): TenantConfig | null {
  return config === null ? null : withHandedSecret(config, source, secret, nowMs);
}
