import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { unstable_readConfig } from "wrangler";
import type { WorkerDescription } from "./config.ts";

const PROJECT_DIR = join(import.meta.dirname, "../..");

/** Administration of a local run: fixed, and known to nobody who could reach it, for it listens on loopback only. */
export const LOCAL_ADMIN_TOKEN = "local-admin-token";
const LOCAL_CONFIG_KEY = Buffer.alloc(32, 7).toString("base64");

/** The part of wrangler's reading of wrangler.toml that a local run needs. */
interface DeployedConfig {
  readonly compatibility_date?: string | undefined;
  readonly compatibility_flags: readonly string[];
  readonly vars: Readonly<Record<string, unknown>>;
  readonly durable_objects: { readonly bindings: readonly { readonly name: string; readonly class_name: string }[] };
  readonly kv_namespaces: readonly { readonly binding: string }[];
}

/**
 * Builds the Worker as it would be deployed (`wrangler deploy --dry-run`) into `outDir` and describes it for plain
 * `workerd`, by what wrangler.toml says. The one difference to production: `global_fetch_strictly_public` is left out,
 * so that origins on loopback can be reached.
 */
export async function buildSpillway(outDir: string): Promise<WorkerDescription> {
  const configPath = join(PROJECT_DIR, "wrangler.toml");
  await promisify(execFile)(
    process.execPath,
    [join(PROJECT_DIR, "node_modules/wrangler/bin/wrangler.js"), "deploy", "--dry-run", "--outdir", outDir],
    { cwd: PROJECT_DIR, env: { ...process.env, WRANGLER_SEND_METRICS: "false", CI: "true" } },
  );
  const config: DeployedConfig = unstable_readConfig({ config: configPath });
  return {
    modules: [{ name: "index.js", text: readFileSync(join(outDir, "index.js"), "utf8") }],
    compatibilityDate: config.compatibility_date ?? "",
    compatibilityFlags: config.compatibility_flags.filter((flag) => flag !== "global_fetch_strictly_public"),
    vars: {
      ...stringVars(config.vars),
      ADMIN_TOKEN: LOCAL_ADMIN_TOKEN,
      CONFIG_KEY: LOCAL_CONFIG_KEY,
      ALLOW_INSECURE_DESTINATIONS: "true",
    },
    objects: config.durable_objects.bindings.map((o) => ({ binding: o.name, className: o.class_name })),
    namespaces: config.kv_namespaces.map((namespace) => namespace.binding),
  };
}

function stringVars(vars: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(Object.entries(vars).map(([name, value]) => [name, String(value)]));
}
