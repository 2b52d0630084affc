/** The window in which a provider hands over its secret [I7]: opening it, and seeing how it went. */
import type { Hono } from "hono";
import { sourceRow } from "../providers/catalogue.ts";
import { secretIsHandedOver, secretIsTypedIn } from "../providers/secret.ts";
import type { SourceConfig, TenantConfig } from "../tenants/config.ts";
import { isWindowOpen, WINDOW_MS, withOpenWindow } from "../tenants/handshake-window.ts";
import { changeOf, readQuery } from "./call.ts";
import { editConfiguration, readConfiguration } from "./configuration.ts";
import type { AdminParts } from "./parts.ts";
import { Problem } from "./problem.ts";

const PATH = "/admin/tenants/:tenant/sources/:source/expect-handshake";

export function addHandshakeRoutes(app: Hono, parts: AdminParts): void {
  app.post(PATH, async (c) => {
    const { tenant, source } = c.req.param();
    const { config } = await readConfiguration(parts, tenant);
    const expecting = requireHandedOver(config, source);
    if (expecting.secrets.length > 0) {
      const detail =
        "The source has a secret already; take it away first, or give the other webhook a source of its own.";
      throw new Problem(409, "has-secret", detail);
    }
    const untilMs = parts.now() + WINDOW_MS;
    return editConfiguration(parts, changeOf(c, tenant), (input) => withOpenWindow(input, source, untilMs));
  });

  app.get(PATH, async (c) => {
    readQuery(c.req.url, []);
    const { tenant, source } = c.req.param();
    const { config } = await readConfiguration(parts, tenant);
    const expecting = requireHandedOver(config, source);
    const untilMs = expecting.handshakeUntilMs ?? null;
    const until = untilMs === null ? null : new Date(untilMs).toISOString();
    const answer = {
      tenant,
      source,
      state: stateOf(expecting, parts.now()),
      until,
      ...typedIn(expecting, parts.now()),
    };
    return c.json(answer, 200, { "cache-control": "no-store" });
  });
}

function stateOf(source: SourceConfig, nowMs: number): "expecting" | "taken" | "closed" {
  if (source.secrets.length > 0) return "taken";
  return isWindowOpen(source, nowMs) ? "expecting" : "closed";
}

/** A provider that wants its text typed in on its own page shows it nowhere else: until the window ends it is shown here. */
function typedIn(source: SourceConfig, nowMs: number): { readonly typeIn?: string } {
  const row = sourceRow(source.provider, source.custom);
  const [secret] = source.secrets;
  const isTime = nowMs < (source.handshakeUntilMs ?? 0);
  return row !== undefined && secretIsTypedIn(row) && isTime && secret !== undefined ? { typeIn: secret.value } : {};
}

function requireHandedOver(config: TenantConfig, source: string): SourceConfig {
  const found = Object.hasOwn(config.sources, source) ? config.sources[source] : undefined;
  if (found === undefined) throw new Problem(404, "no-such-source", "The tenant has no source of this name.");
  const row = sourceRow(found.provider, found.custom);
  if (row !== undefined && secretIsHandedOver(row)) return found;
  throw new Problem(409, "no-handshake", `A source of ${found.provider} has its secret from its configuration.`);
}
