import { readFileSync } from "node:fs";
import { join } from "node:path";
import { plainJavaScript } from "./module-text.ts";

/** A Worker as plain `workerd` needs it described: no miniflare, no account, nothing but the runtime itself. */
export interface WorkerDescription {
  /** ES modules, the main one first; they import each other by these names. */
  readonly modules: readonly ConfigFile[];
  readonly compatibilityDate: string;
  readonly compatibilityFlags: readonly string[];
  /** Text bindings, printable ASCII only. */
  readonly vars: Readonly<Record<string, string>>;
  /** Durable Object classes of this Worker, all of them with SQLite. */
  readonly objects: readonly { readonly binding: string; readonly className: string }[];
  /** Names of KV bindings. */
  readonly namespaces: readonly string[];
  /** Passed to V8 as they are, e.g. `--perf-basic-prof`. */
  readonly v8Flags?: readonly string[];
}

/** A file that the configuration embeds, by its name beside the configuration. */
interface ConfigFile {
  readonly name: string;
  readonly text: string;
}

const KV_WORKER_PATH = join(import.meta.dirname, "kv.worker.ts");

/**
 * The configuration of one `workerd serve` and the modules it embeds. The Worker listens on a free port of 127.0.0.1
 * (socket `http`), reaches nothing but this machine's loopback, and keeps its objects in `stateDir`.
 */
export function runtimeConfig(worker: WorkerDescription, stateDir: string): readonly ConfigFile[] {
  const files: ConfigFile[] = [...worker.modules];
  const services = [
    `(name = "main", worker = (${workerFields(worker)}))`,
    `(name = "state", disk = (path = ${text(stateDir)}, writable = true))`,
    `(name = "loopback", network = (allow = ["local"]))`,
  ];
  if (worker.namespaces.length > 0) {
    files.push({ name: "kv.js", text: plainJavaScript(readFileSync(KV_WORKER_PATH, "utf8")) });
    services.push(
      `(name = "kv", worker = (modules = [(name = "kv.js", esModule = embed "kv.js")], ` +
        `compatibilityDate = ${text(worker.compatibilityDate)}, ` +
        `bindings = [(name = "STORE", durableObjectNamespace = "Store")], ` +
        `durableObjectNamespaces = [(className = "Store", uniqueKey = "kv", enableSql = true)], ` +
        `durableObjectStorage = (localDisk = "state"), globalOutbound = "loopback"))`,
    );
  }
  files.push({
    name: "config.capnp",
    text: `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    ${services.join(",\n    ")}
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
  v8Flags = [${(worker.v8Flags ?? []).map(text).join(", ")}],
);
`,
  });
  return files;
}

function workerFields(worker: WorkerDescription): string {
  const bindings = [
    ...Object.entries(worker.vars).map(([name, value]) => `(name = ${text(name)}, text = ${text(value)})`),
    ...worker.objects.map((o) => `(name = ${text(o.binding)}, durableObjectNamespace = ${text(o.className)})`),
    ...worker.namespaces.map((name) => `(name = ${text(name)}, kvNamespace = "kv")`),
  ];
  const objects = worker.objects.map(
    (o) => `(className = ${text(o.className)}, uniqueKey = ${text(o.className)}, enableSql = true)`,
  );
  return [
    `modules = [${worker.modules.map((m) => `(name = ${text(m.name)}, esModule = embed ${text(m.name)})`).join(", ")}]`,
    `compatibilityDate = ${text(worker.compatibilityDate)}`,
    `compatibilityFlags = [${worker.compatibilityFlags.map(text).join(", ")}]`,
    `bindings = [${bindings.join(", ")}]`,
    `durableObjectNamespaces = [${objects.join(", ")}]`,
    ...(objects.length > 0 ? [`durableObjectStorage = (localDisk = "state")`] : []),
    `globalOutbound = "loopback"`,
  ].join(", ");
}

/** A Cap'n Proto text literal: its escapes are C's, so only printable ASCII goes through as it is. */
function text(value: string): string {
  if (!/^[\x20-\x7e]*$/.test(value)) throw new Error(`not printable ASCII: ${JSON.stringify(value)}`);
  return `"${value.replace(/["\\]/g, "\\$&")}"`;
}
