/**
 * All cryptography of this folder: sealing of configurations at rest, and fingerprints of secrets [O3].
 *
 * A configuration is sealed as AES-256-GCM over the JSON of the whole `TenantConfig`, with the tenant id as
 * additional data, so that a record copied to another tenant does not open. The version and the state stand outside
 * the sealed part: the tenant's object numbers records without having to open them [O4].
 */
import { invariant } from "../core/assert.ts";
import { fail, ok, type Result } from "../core/result.ts";
import type { ConfigRecord, TenantConfig } from "./config.ts";

/** Raw keys of 32 bytes: `current` seals and opens, `previous` only opens. */
export interface SealingKeys {
  readonly current: Uint8Array | null;
  readonly previous: Uint8Array | null;
}

/**
 * - `no-config-key`: neither key is set.
 * - `unknown-key`: sealed with a key that is neither the current nor the previous one.
 * - `damaged`: altered, cut off, or sealed for another tenant.
 */
export type OpenFailure = "no-config-key" | "unknown-key" | "damaged";

interface ImportedKey {
  readonly id: string;
  readonly key: CryptoKey;
}

const IV_SIZE_BYTES = 12;
const imported = new WeakMap<Uint8Array, Promise<ImportedKey>>();

/** Seals `config`. There must be a current key: callers refuse with a clear message before they come here. */
export async function sealConfig(
  keys: SealingKeys,
  tenant: string,
  config: TenantConfig,
  version: number,
  state: ConfigRecord["state"],
): Promise<ConfigRecord> {
  invariant(keys.current !== null, "sealConfig needs a current key");
  const { id, key } = await importKey(keys.current);
  const iv = crypto.getRandomValues(new Uint8Array(IV_SIZE_BYTES));
  const plain = new TextEncoder().encode(JSON.stringify(config));
  const cipher = await crypto.subtle.encrypt({ name: "AES-GCM", iv, additionalData: boundTo(tenant) }, key, plain);
  const sealed = new Uint8Array(iv.length + cipher.byteLength);
  sealed.set(iv);
  sealed.set(new Uint8Array(cipher), iv.length);
  return { v: 1, version, state, keyId: id, sealed: sealed.toBase64() };
}

/** Opens a record with whichever key sealed it. */
export async function openConfig(
  keys: SealingKeys,
  tenant: string,
  record: ConfigRecord,
): Promise<Result<TenantConfig, OpenFailure>> {
  const candidates = [keys.current, keys.previous].filter((key) => key !== null);
  if (candidates.length === 0) return fail("no-config-key", "set CONFIG_KEY to the key the records were sealed with");
  for (const raw of candidates) {
    const { id, key } = await importKey(raw);
    if (id === record.keyId) return openWith(key, tenant, record.sealed);
  }
  return fail("unknown-key", `sealed with key ${record.keyId}: set it as CONFIG_KEY_PREVIOUS`);
}

async function openWith(key: CryptoKey, tenant: string, sealed: string): Promise<Result<TenantConfig, "damaged">> {
  try {
    const bytes = Uint8Array.fromBase64(sealed);
    const plain = await crypto.subtle.decrypt(
      { name: "AES-GCM", iv: bytes.subarray(0, IV_SIZE_BYTES), additionalData: boundTo(tenant) },
      key,
      bytes.subarray(IV_SIZE_BYTES),
    );
    return ok(JSON.parse(new TextDecoder().decode(plain)) as TenantConfig);
  } catch {
    // Whatever failed, the reader can do the same: write the configuration again. Details could hold plain text.
    return fail("damaged", "the sealed configuration is altered or belongs to another tenant: write it again");
  }
}

/** Stands for a secret in answers: equal secrets of a tenant have equal fingerprints, and none can be computed back. */
export type Fingerprint = (secret: string) => Promise<{ readonly fingerprint: string }>;

/**
 * Fingerprints under the key and the tenant: without the key nobody can test a guess, and the same secret in two
 * tenants does not look the same. They change when CONFIG_KEY does. One of the keys must be set.
 */
export function fingerprinter(keys: SealingKeys, tenant: string): Fingerprint {
  const raw = keys.current ?? keys.previous;
  invariant(raw !== null, "fingerprints need a key");
  const key = crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return async (secret) => {
    const text = new TextEncoder().encode(`spillway/fingerprint/1/${tenant}/${secret}`);
    const mac = new Uint8Array(await crypto.subtle.sign("HMAC", await key, text));
    return { fingerprint: mac.subarray(0, 6).toHex() };
  };
}

function boundTo(tenant: string): Uint8Array {
  return new TextEncoder().encode(`spillway/config/1/${tenant}`);
}

function importKey(raw: Uint8Array): Promise<ImportedKey> {
  let entry = imported.get(raw);
  if (entry === undefined) {
    entry = importFresh(raw);
    imported.set(raw, entry);
  }
  return entry;
}

async function importFresh(raw: Uint8Array): Promise<ImportedKey> {
  const [key, id] = await Promise.all([
    crypto.subtle.importKey("raw", raw, "AES-GCM", false, ["encrypt", "decrypt"]),
    keyFingerprint(raw),
  ]);
  return { id, key };
}

/** What a record says of its key: enough to find it again, too little to attack it. */
async function keyFingerprint(raw: Uint8Array): Promise<string> {
  const label = new TextEncoder().encode("spillway/config-key/1/");
  const labelled = new Uint8Array(label.length + raw.length);
  labelled.set(label);
  labelled.set(raw, label.length);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", labelled));
  return digest.subarray(0, 8).toHex();
}
