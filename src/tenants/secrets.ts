/** Secrets of a source inside an operator's input: adding one, retiring the others, dropping what has retired [I9]. */
import { isJsonObject, itemsOf, memberAt } from "./json.ts";

/**
 * The input with `secret` added first in `source`, and every other secret that has no earlier end retiring at
 * `retireOthersAtMs`. The source must exist in the input.
 */
export function withRotatedSecret(input: unknown, source: string, secret: string, retireOthersAtMs: number): unknown {
  return mapSecrets(input, (id, secrets) => {
    if (id !== source) return secrets;
    const others = secrets.filter((item) => secretText(item) !== secret);
    return [secret, ...others.map((item) => retiring(item, retireOthersAtMs))];
  });
}

/** The input without the secrets whose time has come. A source whose last secret retired keeps an empty list. */
export function withoutRetiredSecrets(input: unknown, nowMs: number): unknown {
  return mapSecrets(input, (_, secrets) => secrets.filter((item) => retiresAtMsOf(item) > nowMs));
}

function mapSecrets(
  input: unknown,
  change: (source: string, secrets: readonly unknown[]) => readonly unknown[],
): unknown {
  const sources = memberAt(input, "sources");
  if (!isJsonObject(input) || !isJsonObject(sources)) return input;
  const changed = Object.entries(sources).map(([id, source]): [string, unknown] => {
    const secrets = memberAt(source, "secrets");
    if (!isJsonObject(source) || !Array.isArray(secrets)) return [id, source];
    return [id, { ...source, secrets: change(id, itemsOf(secrets)) }];
  });
  return { ...input, sources: Object.fromEntries(changed) };
}

function secretText(item: unknown): unknown {
  return typeof item === "string" ? item : memberAt(item, "value");
}

/** When a secret ends; never where no readable time says so (the schema names a time that is not readable). */
function retiresAtMsOf(item: unknown): number {
  const time = memberAt(item, "retiresAt");
  const atMs = typeof time === "string" ? Date.parse(time) : Number.NaN;
  return Number.isNaN(atMs) ? Number.POSITIVE_INFINITY : atMs;
}

function retiring(item: unknown, atMs: number): unknown {
  const endMs = Math.min(retiresAtMsOf(item), atMs);
  return { value: secretText(item), retiresAt: new Date(endMs).toISOString() };
}
