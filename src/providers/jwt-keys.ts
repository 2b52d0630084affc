import { param, type VerifySource } from "./arrival.ts";
import { fetchText } from "./remote.ts";
import { forgetIfOld, isOutdated, remoteText } from "./remote-keys.ts";
import type { RemoteKeys } from "./scheme.ts";
import { type Rejected, rejected, type Unusable, unusable } from "./verdict.ts";

/** The published keys that may have signed a token, each as the text of a JWK. */
export async function jwtKeys(
  from: RemoteKeys | undefined,
  source: VerifySource,
  kid: string | null,
  nowMs: number,
): Promise<readonly string[] | Rejected | Unusable> {
  if (from === undefined) return unusable("the source has no key");
  if (kid === null || !/^[A-Za-z0-9._-]{1,200}$/.test(kid)) return rejected("unknown-key", "the token names no key");
  return from.kind === "jwks" ? jwksKeys(from.url, kid, nowMs) : plaidKey(source, kid, nowMs);
}

const NOT_FETCHED = "the provider's keys cannot be fetched just now";

async function jwksKeys(url: string, kid: string, nowMs: number): Promise<readonly string[] | Rejected | Unusable> {
  for (;;) {
    const text = await remoteText(url, nowMs, false, () => fetchText(url, {}));
    if (text === null) return unusable(NOT_FETCHED);
    const keys = keysIn(text).filter((key) => key.kid === kid);
    if (keys.length > 0) return keys.map((key) => JSON.stringify(key));
    if (forgetIfOld(url, nowMs)) continue;
    if (isOutdated(url, nowMs)) return unusable(NOT_FETCHED);
    return rejected("unknown-key", "the provider publishes no key of this id");
  }
}

interface PublishedKey {
  readonly kid: unknown;
}

function keysIn(text: string): readonly PublishedKey[] {
  try {
    const { keys } = JSON.parse(text) as { keys?: unknown };
    return Array.isArray(keys) ? (keys.filter((key) => typeof key === "object" && key !== null) as PublishedKey[]) : [];
  } catch {
    return [];
  }
}

const PLAID_HOSTS: Readonly<Record<string, string>> = {
  production: "https://production.plaid.com",
  sandbox: "https://sandbox.plaid.com",
};

/** Plaid gives out one key at a time, to customers only (`/webhook_verification_key/get`). */
async function plaidKey(source: VerifySource, kid: string, nowMs: number): Promise<readonly string[] | Unusable> {
  const clientId = param(source, "clientId");
  const secret = param(source, "secret");
  const environment = param(source, "environment") ?? "production";
  const host = Object.hasOwn(PLAID_HOSTS, environment) ? PLAID_HOSTS[environment] : undefined;
  if (clientId === null || secret === null || host === undefined) {
    return unusable("needs params.clientId and params.secret, or the key itself as a secret");
  }
  const text = await remoteText(`${host} ${clientId} ${kid}`, nowMs, true, () =>
    fetchText(`${host}/webhook_verification_key/get`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ client_id: clientId, secret, key_id: kid }),
    }),
  );
  if (text === null) return unusable("Plaid's key cannot be fetched just now");
  try {
    const { key } = JSON.parse(text) as { key?: unknown };
    return [JSON.stringify(key)];
  } catch {
    return unusable("Plaid's answer cannot be read");
  }
}
