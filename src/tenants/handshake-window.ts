/**
 * Sources whose provider hands over the secret (Asana, Notion) [I7]: it is taken once, in a window that an operator opens.
 * The request that brings it is signed by nobody, so nothing else may open that window, and it closes by itself.
 */
import type { SourceConfig, TenantConfig } from "./config.ts";
import { isJsonObject, memberAt } from "./json.ts";

/** How long a window stays open. */
export const WINDOW_MS = 900_000;

export function isWindowOpen(source: SourceConfig, nowMs: number): boolean {
  const untilMs = source.handshakeUntilMs ?? null;
  return source.secrets.length === 0 && untilMs !== null && nowMs < untilMs;
}

/** An operator's input with the window of `source` open until `untilMs`. */
export function withOpenWindow(input: unknown, source: string, untilMs: number): unknown {
  return mapSource(input, source, (fields) => ({ ...fields, handshakeUntil: new Date(untilMs).toISOString() }));
}

/** The configuration with the secret that `source` was handed, or null where its window is not open. */
export function withHandedSecret(
  config: TenantConfig,
  source: string,
  secret: string,
  nowMs: number,
): TenantConfig | null {
  const before = Object.hasOwn(config.sources, source) ? config.sources[source] : undefined;
  if (before === undefined || !isWindowOpen(before, nowMs)) return null;
  const sources = Object.entries(config.sources).map(([id, each]): [string, SourceConfig] => [
    id,
    id === source ? { ...each, secrets: [{ value: secret, retiresAtMs: null }] } : each,
  ]);
  return {
    ...config,
    sources: Object.fromEntries(sources),
    input: mapSource(config.input, source, (fields) => ({ ...fields, secrets: [secret] })),
  };
}

/**
 * A new input in which sources that name no secrets keep those they were handed: nobody but the provider knows them, so
 * whoever writes the configuration anew cannot repeat them. `known`: the input that is in force.
 */
export function withSecretsHandedOver(input: unknown, known: unknown, isHandedOver: IsHandedOver): unknown {
  const ids = Object.keys(objectAt(input, "sources") ?? {});
  return ids.reduce((changed, id) => {
    const source = memberAt(input, "sources", id);
    const secrets = memberAt(known, "sources", id, "secrets");
    const isSame = memberAt(source, "provider") === memberAt(known, "sources", id, "provider");
    const isLeftOut = memberAt(source, "secrets") === undefined;
    if (!isSame || !isLeftOut || secrets === undefined || !isHandedOver(source)) return changed;
    return mapSource(changed, id, (fields) => ({ ...fields, secrets }));
  }, input);
}

/** Whether a source, as an operator writes it, gets its secret from its provider. */
type IsHandedOver = (source: unknown) => boolean;

function mapSource(
  input: unknown,
  source: string,
  change: (fields: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>,
): unknown {
  const sources = objectAt(input, "sources");
  if (sources === null || !isJsonObject(input)) return input;
  const changed = Object.entries(sources).map(([id, fields]): [string, unknown] => [
    id,
    id === source && isJsonObject(fields) ? change(fields) : fields,
  ]);
  return { ...input, sources: Object.fromEntries(changed) };
}

function objectAt(value: unknown, name: string): Readonly<Record<string, unknown>> | null {
  const member = memberAt(value, name);
  return isJsonObject(member) ? member : null;
}
