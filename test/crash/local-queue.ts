/** The Worker on Wrangler's local runtime, with the queue that wrangler.toml holds ready for those who want one. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const PROJECT = resolve(import.meta.dirname, "../..");
export const ADMIN_TOKEN = "local-admin-token";

export interface LocalSite {
  readonly origin: string;
  close(): Promise<void>;
}

/** wrangler.toml as an operator has it after the one more step. */
export function withQueue(toml: string): string {
  const start = toml.indexOf("# [[queues.producers]]");
  if (start < 0) throw new Error("wrangler.toml holds no queue ready");
  return toml.slice(0, start) + toml.slice(start).replaceAll(/^# ?/gm, "");
}

/** Starts it; `changes` are made to the configuration's text, so that a test need not wait for a hundred retries. */
export async function startWithQueue(changes: (toml: string) => string): Promise<LocalSite> {
  process.env.WRANGLER_LOG_PATH ??= join(PROJECT, ".wrangler", "logs");
  process.env.WRANGLER_SEND_METRICS ??= "false";
  process.env.CLOUDFLARE_CF_FETCH_ENABLED ??= "false";
  const dir = mkdtempSync(join(tmpdir(), "spillway-queue-"));
  const config = join(dir, "wrangler.toml");
  const toml = changes(withQueue(readFileSync(join(PROJECT, "wrangler.toml"), "utf8")));
  writeFileSync(config, toml.replace('"src/index.ts"', JSON.stringify(join(PROJECT, "src/index.ts"))));
  const { unstable_startWorker } = await import("wrangler");
  const text = (value: string) => ({ type: "plain_text" as const, value });
  const worker = await unstable_startWorker({
    config,
    bindings: {
      ADMIN_TOKEN: text(ADMIN_TOKEN),
      CONFIG_KEY: text(Buffer.alloc(32, 7).toString("base64")),
      ALLOW_INSECURE_DESTINATIONS: text("true"),
    },
    dev: {
      server: { hostname: "127.0.0.1", port: 0 },
      persist: join(dir, "state"),
      inspector: false,
      watch: false,
      remote: false,
      logLevel: "error",
    },
  });
  await worker.ready;
  return {
    origin: (await worker.url).origin,
    close: async () => {
      await worker.dispose();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
