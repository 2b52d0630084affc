import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { runtimeConfig, type WorkerDescription } from "./config.ts";

/** One running `workerd serve`. */
export interface Runtime {
  readonly pid: number;
  readonly port: number;
  readonly origin: string;
  /** What the runtime and the Worker wrote so far, the last 64 KiB. */
  output(): string;
  /** Asks it to end, and waits until it has. */
  stop(): Promise<void>;
  /** `kill -9`: no handler runs, nothing is flushed. Waits until the process is gone. */
  kill(): Promise<void>;
}

const BINARY = join(import.meta.dirname, "../../node_modules/workerd/bin/workerd");
const START_TIMEOUT_MS = 20_000;
const OUTPUT_KEPT_CHARS = 65_536;

/** Every runtime this process started and that has not ended: none may outlive it. */
const running = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/**
 * Starts the Worker on plain `workerd` with its state under `dir`, and resolves when it listens. Started again on the
 * same `dir` it finds the objects, their alarms and the KV entries that were there.
 *
 * Throws with the runtime's own words when it does not come up within 20 s.
 */
export async function startRuntime(worker: WorkerDescription, dir: string): Promise<Runtime> {
  const stateDir = join(dir, "state");
  mkdirSync(stateDir, { recursive: true });
  for (const file of runtimeConfig(worker, stateDir)) writeFileSync(join(dir, file.name), file.text);

  const child = spawn(BINARY, ["serve", "--control-fd=3", join(dir, "config.capnp")], {
    stdio: ["ignore", "pipe", "pipe", "pipe"],
  });
  running.add(child);
  const ended = once(child, "exit").finally(() => running.delete(child));

  let output = "";
  const keep = (chunk: Buffer) => {
    output = (output + chunk.toString("utf8")).slice(-OUTPUT_KEPT_CHARS);
  };
  child.stdout?.on("data", keep);
  child.stderr?.on("data", keep);

  const control = child.stdio[3] as Readable;
  const port = await Promise.race([
    listeningPort(control),
    ended.then(() => null),
    new Promise<null>((resolve) => setTimeout(resolve, START_TIMEOUT_MS, null).unref()),
  ]);
  if (port === null) {
    child.kill("SIGKILL");
    throw new Error(`workerd did not come up:\n${output}`);
  }

  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    await ended;
  };
  return {
    pid: child.pid ?? -1,
    port,
    origin: `http://127.0.0.1:${port}`,
    output: () => output,
    stop: () => end("SIGTERM"),
    kill: () => end("SIGKILL"),
  };
}

/** The runtime reports each socket it listens on as one line of JSON. */
async function listeningPort(control: Readable): Promise<number> {
  let text = "";
  for await (const chunk of control) {
    text += String(chunk);
    const end = text.indexOf("\n");
    if (end < 0) continue;
    const message: { readonly event?: string; readonly port?: number } = JSON.parse(text.slice(0, end));
    if (message.event === "listen" && message.port !== undefined) {
      control.resume();
      return message.port;
    }
    text = text.slice(end + 1);
  }
  throw new Error("the runtime closed its control channel before it listened");
}
