import { createServer } from "node:net";
import { join } from "node:path";
import { StartFailure } from "./failure.ts";
import type { State } from "./state.ts";

/** The real Worker, running on the local runtime. */
interface LocalWorker {
  readonly url: URL;
  stop(): Promise<void>;
}

const PROJECT = join(import.meta.dirname, "..");

/**
 * Builds the Worker as `wrangler dev` does and serves it on 127.0.0.1, its Durable Objects and KV on disk. No account
 * and no network are needed.
 *
 * @param port 0: any free one
 */
export async function startWorker(port: number, state: State): Promise<LocalWorker> {
  // Read by Wrangler when it is loaded: no log files in the home directory, nothing reported, nothing looked up outside.
  process.env.WRANGLER_LOG_PATH ??= join(PROJECT, ".wrangler", "logs");
  process.env.WRANGLER_SEND_METRICS ??= "false";
  process.env.CLOUDFLARE_CF_FETCH_ENABLED ??= "false";
  const releaseSignals = holdSignals();
  const { unstable_startWorker } = await import("wrangler");

  const text = (value: string) => ({ type: "plain_text" as const, value });
  const starting = unstable_startWorker({
    config: join(PROJECT, "wrangler.toml"),
    bindings: {
      ADMIN_TOKEN: text(state.settings.adminToken),
      CONFIG_KEY: text(state.settings.configKey),
      ALLOW_INSECURE_DESTINATIONS: text("true"),
    },
    dev: {
      server: { hostname: "127.0.0.1", port },
      persist: state.dir,
      inspector: false,
      watch: false,
      remote: false,
      logLevel: "error",
    },
  });
  try {
    const worker = await starting;
    await worker.ready;
    releaseSignals();
    return { url: await worker.url, stop: () => worker.dispose() };
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    throw new StartFailure(
      `The Worker could not be started: ${cause instanceof Error ? cause.message : String(cause)}`,
      "Where the reason is not plain from this: `npm ci` again, and `npm run check`.",
    );
  }
}

/**
 * Wrangler ends the whole process at the first Ctrl-C, before anything else could be put away: what it listens for from
 * now on is taken off again when the returned function is called.
 */
function holdSignals(): () => void {
  const signals = ["SIGINT", "SIGTERM"] as const;
  const before = signals.map((signal) => new Set(process.listeners(signal)));
  return () => {
    for (const [index, signal] of signals.entries()) {
      for (const listener of process.listeners(signal)) {
        if (before[index]?.has(listener) !== true) process.removeListener(signal, listener);
      }
    }
  };
}

/** The port a person asked for, or a clear refusal; else the usual one, or, where that is taken, any free one. */
export async function choosePort(asked: string | undefined): Promise<number> {
  if (asked === undefined) return (await isFree(8787)) ? 8787 : 0;
  const port = Number(asked);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new StartFailure(`--port ${asked} is not a port.`, "Give a number from 1 to 65535.");
  }
  if (await isFree(port)) return port;
  throw new StartFailure(
    `Port ${port} is taken.`,
    "Stop what listens there, or leave --port out: a free one is found then.",
  );
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
