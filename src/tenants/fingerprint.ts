import { invariant } from "../core/assert.ts";
import type { SealingKeys } from "./sealing.ts";

/** Stands for a secret in answers: equal secrets of a tenant have equal fingerprints, and none can be computed back. */
export type Fingerprint = (secret: string) => Promise<{ readonly fingerprint: string }>;

/**
 * Fingerprints under the current key and the tenant: without the key nobody can test a guess, and the same secret in
 * two tenants does not look the same. They change when CONFIG_KEY does.
 */
export function fingerprinter(keys: SealingKeys, tenant: string): Fingerprint {
  invariant(keys.current !== null, "fingerprints need a current key");
  const key = crypto.subtle.importKey("raw", keys.current, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return async (secret) => {
    const text = new TextEncoder().encode(`spillway/fingerprint/1/${tenant}/${secret}`);
    const mac = new Uint8Array(await crypto.subtle.sign("HMAC", await key, text));
    return { fingerprint: mac.subarray(0, 6).toHex() };
  };
}
