/** Reading and changing a tenant's configuration; its object owns and numbers it [O4]. */
import type { ConfigureAnswer } from "../buffer/contract.ts";
import { unreachable } from "../core/assert.ts";
import { ANYWHERE, isSamePlace, type Place } from "../core/place.ts";
import { sourceRow } from "../providers/catalogue.ts";
import { parseCustomRow } from "../providers/schema/row.ts";
import { secretIsHandedOver } from "../providers/secret.ts";
import type { ConfigRecord, TenantConfig } from "../tenants/config.ts";
import { withSecretsHandedOver } from "../tenants/handshake-window.ts";
import { memberAt, membersOf } from "../tenants/json.ts";
import { maskConfig } from "../tenants/mask.ts";
import { type ParsedConfig, parseConfig } from "../tenants/parse.ts";
import { openConfig, sealConfig } from "../tenants/sealing.ts";
import { configWarnings } from "../tenants/warnings.ts";
import type { Change } from "./call.ts";
import { type AdminParts, configContext, RETRY_LIMIT_MS } from "./parts.ts";
import { invalidInput, noSuchTenant, Problem } from "./problem.ts";

/** Another change may come between reading and writing; a patch is then made again, on what is there now. */
const PATCH_TRIES_MAX = 3;

/** The masked configuration as every call shows it [O2]. */
export async function showConfiguration(parts: AdminParts, tenant: string, requestUrl: string): Promise<Response> {
  const { record, config } = await readConfiguration(parts, tenant);
  return shown(parts, tenant, record, config, configWarnings(config, configContext(parts, requestUrl)));
}

/** Replaces the configuration, or creates the tenant. Nothing is stored unless all of it is right. */
export async function putConfiguration(parts: AdminParts, change: Change, input: unknown): Promise<Response> {
  requireWritable(parts);
  const whole = withSecretsHandedOver(input, await knownInput(parts, change.tenant, input), isHandedOver);
  const parsed = requireConfig(parseConfig(whole, configContext(parts, change.requestUrl)));
  const answer = await configure(parts, change, change.ifVersion, parsed.config);
  return concluded(parts, change, answer, parsed);
}

/** What is in force now, where `input` has a source whose secret nobody but its provider could repeat; else null. */
async function knownInput(parts: AdminParts, tenant: string, input: unknown): Promise<unknown> {
  if (!membersOf(memberAt(input, "sources")).some(([, source]) => isHandedOver(source))) return null;
  const record = await parts.objects.of(tenant, RETRY_LIMIT_MS).readConfig();
  if (record === null || record.state === "deleted") return null;
  const opened = await openConfig(parts.settings.configKeys, tenant, record);
  return opened.ok ? opened.value.input : null;
}

function isHandedOver(source: unknown): boolean {
  const provider = memberAt(source, "provider");
  const custom = parseCustomRow(memberAt(source, "custom"));
  const row = typeof provider === "string" ? sourceRow(provider, custom.ok ? custom.row : null) : undefined;
  return row !== undefined && secretIsHandedOver(row);
}

/** Changes the configuration by what `edit` makes of the operator's own input, secrets included. */
export async function editConfiguration(
  parts: AdminParts,
  change: Change,
  edit: (input: unknown) => unknown,
): Promise<Response> {
  requireWritable(parts);
  for (let tries = 1; ; tries++) {
    const { record, config } = await readConfiguration(parts, change.tenant);
    if (change.ifVersion !== null && change.ifVersion !== record.version) throw versionConflict(record.version);
    const parsed = requireConfig(parseConfig(edit(config.input), configContext(parts, change.requestUrl)));
    const answer = await configure(parts, change, record.version, parsed.config);
    const isOvertaken = answer.kind === "version-conflict" && change.ifVersion === null && tries < PATCH_TRIES_MAX;
    if (!isOvertaken) return concluded(parts, change, answer, parsed);
  }
}

/** Deletes the tenant; refused while there is a backlog, unless forced. */
export async function deleteConfiguration(parts: AdminParts, change: Change): Promise<Response> {
  const { tenant, ifVersion, force } = change;
  const answer = await parts.objects.of(tenant, RETRY_LIMIT_MS).deleteTenant({ tenant, ifVersion, force });
  const record = await requireConfigured(parts, tenant, answer);
  return Response.json({ tenant, version: record.version, deleted: true });
}

async function configure(
  parts: AdminParts,
  change: Change,
  ifVersion: number | null,
  config: TenantConfig,
): Promise<ConfigureAnswer> {
  const { tenant, force } = change;
  const record = await sealConfig(parts.settings.configKeys, tenant, config, 0, "live");
  const place = await placeFor(parts, tenant, config.place ?? ANYWHERE);
  return parts.objects.of(tenant, RETRY_LIMIT_MS, 0, place).configure({ tenant, ifVersion, force, record });
}

/** Where the configuration is to be taken: a tenant that exists stays where it is, and its object refuses to move [O13]. */
async function placeFor(parts: AdminParts, tenant: string, wanted: Place): Promise<Place> {
  const known = await parts.findPlace(tenant);
  if (known === null || isSamePlace(known, wanted)) return wanted;
  const record = await parts.objects.of(tenant, RETRY_LIMIT_MS, 0, known).readConfig();
  return record !== null && record.state === "live" ? known : wanted;
}

async function concluded(
  parts: AdminParts,
  change: Change,
  answer: ConfigureAnswer,
  parsed: Extract<ParsedConfig, { kind: "config" }>,
): Promise<Response> {
  const record = await requireConfigured(parts, change.tenant, answer);
  return shown(parts, change.tenant, record, parsed.config, parsed.warnings);
}

/** The record that is now everywhere, or the problem that keeps it from being so. */
async function requireConfigured(parts: AdminParts, tenant: string, answer: ConfigureAnswer): Promise<ConfigRecord> {
  switch (answer.kind) {
    case "configured":
      await parts.cache.keep(tenant, answer.record, parts.now());
      if (answer.everywhere) return answer.record;
      throw new Problem(
        503,
        "not-everywhere",
        `Version ${answer.record.version} is stored, but not every copy has it yet; they are told again until they have.`,
        { headers: { "retry-after": "5" } },
      );
    case "version-conflict":
      throw versionConflict(answer.version);
    case "has-backlog": {
      const waiting = Object.entries(answer.destinations).map(([id, count]) => `${id} (${count})`);
      throw new Problem(
        409,
        "has-backlog",
        `Events are waiting for ${waiting.join(", ")}. Let them drain, or repeat the call with ?force=true to give them up.`,
      );
    }
    case "refused":
      if (answer.code === "no-such-tenant") throw noSuchTenant();
      throw new Problem(answer.code === "resharding" ? 409 : 400, answer.code, answer.detail);
    default:
      return unreachable(answer);
  }
}

/** The newest configuration, opened. @throws Problem 404 where there is none, 503 where it cannot be opened */
export async function readConfiguration(
  parts: AdminParts,
  tenant: string,
): Promise<{ readonly record: ConfigRecord; readonly config: TenantConfig }> {
  const record = await parts.objects.of(tenant, RETRY_LIMIT_MS).readConfig();
  if (record === null || record.state === "deleted") throw noSuchTenant();
  const opened = await openConfig(parts.settings.configKeys, tenant, record);
  if (opened.ok) return { record, config: opened.value };
  throw new Problem(
    503,
    "source-unusable",
    `The stored configuration can't be opened: ${opened.detail ?? opened.reason}.`,
  );
}

async function shown(
  parts: AdminParts,
  tenant: string,
  record: ConfigRecord,
  config: TenantConfig,
  warnings: readonly string[],
): Promise<Response> {
  const { configKeys, origin } = parts.settings;
  const masked = await maskConfig(config, tenant, configKeys, origin);
  const body = { tenant, version: record.version, config: masked, warnings };
  return Response.json(body, { headers: { etag: `"${record.version}"`, "cache-control": "no-store" } });
}

function requireConfig(parsed: ParsedConfig): Extract<ParsedConfig, { kind: "config" }> {
  if (parsed.kind === "problems") throw invalidInput("configuration", parsed.problems);
  return parsed;
}

function requireWritable(parts: AdminParts): void {
  const { problems, configKeys } = parts.settings;
  if (problems.length > 0) {
    const errors = problems.map(({ setting, message }) => ({ path: setting, message }));
    throw new Problem(503, "malformed-settings", "The Worker's own settings have to be mended first.", { errors });
  }
  if (configKeys.current === null) {
    throw new Problem(
      503,
      "no-config-key",
      "CONFIG_KEY is not set, and secrets are never stored in the open. Make a key with `openssl rand -base64 32` and set it with `wrangler secret put CONFIG_KEY`.",
    );
  }
}

function versionConflict(version: number): Problem {
  return new Problem(412, "version-conflict", `The configuration has version ${version} by now: read it again.`);
}
