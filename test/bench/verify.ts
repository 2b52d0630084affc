/**
 * `npm run bench:verify`: what verifying a 1 KB body costs beside a bare `crypto.subtle.verify` with a cached key, for
 * the forms of the HMAC family. Measured inside workerd, as processor time of the runtime, in interleaved rounds: other
 * work on the machine disturbs all alike. `headers alone`: the bare way with nothing added but the reading of the
 * headers that the scheme needs, which no verifier can do without. Ends with 1 where a median is over the target.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "vite";
import type { WorkerDescription } from "../../scripts/workerd/config.ts";
import { type Runtime, startRuntime } from "../../scripts/workerd/runtime.ts";
import { mac } from "../providers/signers/signer.ts";
import { signers } from "../providers/signers/signers.ts";
import { cpuMicroseconds } from "./process-cost.ts";
import { median, ratios } from "./statistics.ts";
import type { Run } from "./verify/worker.ts";

const TARGET = 1.25;
const ROUNDS = 7;
const BODY_BYTES = 1_024;
const WARMUP = 100_000;
const NOW_SECONDS = 1_795_910_400;
/** The body alone in hex and in base64, with a prefix, with a time in a list, with headers around it. */
const PROVIDERS = ["generic", "shopify", "github", "stripe", "standard-webhooks"];

async function main(): Promise<number> {
  const count = process.argv.includes("--quick") ? 20_000 : 250_000;
  const dir = mkdtempSync(join(tmpdir(), "spillway-bench-verify-"));
  try {
    const runtime = await startRuntime(await bundle(), dir);
    try {
      return await measure(runtime, count);
    } finally {
      await runtime.stop();
    }
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

async function measure(runtime: Runtime, count: number): Promise<number> {
  console.log(
    `1 KB body, workerd, ${ROUNDS} interleaved rounds of ${count.toLocaleString("en")}; µs of processor time`,
  );
  let isReached = true;
  for (const provider of PROVIDERS) {
    const run = runOf(provider);
    for (const way of ["bare", "reads", "ours"] as const)
      await microsecondsEach(runtime, { ...run, way, count: WARMUP });
    const bare: number[] = [];
    const reads: number[] = [];
    const ours: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      bare.push(await microsecondsEach(runtime, { ...run, way: "bare", count }));
      reads.push(await microsecondsEach(runtime, { ...run, way: "reads", count }));
      ours.push(await microsecondsEach(runtime, { ...run, way: "ours", count }));
    }
    const ratio = ratios(ours, bare);
    isReached &&= ratio.median <= TARGET;
    console.log(
      [
        provider.padEnd(18),
        `bare ${median(bare).toFixed(2)}`,
        `verify ${median(ours).toFixed(2)}`,
        `headers alone ${ratios(reads, bare).median.toFixed(2)}`,
        `ratio ${ratio.median.toFixed(2)} (${ratio.min.toFixed(2)} … ${ratio.max.toFixed(2)})`,
        ratio.median <= TARGET ? "reached" : `over ${TARGET}`,
      ].join("  "),
    );
  }
  return isReached ? 0 : 1;
}

/** Processor time of the runtime for one verification, the call that asks for them shared by all. */
async function microsecondsEach(runtime: Runtime, run: Run): Promise<number> {
  const before = cpuMicroseconds(runtime.pid);
  const response = await fetch(runtime.origin, { method: "POST", body: JSON.stringify(run) });
  const text = await response.text();
  if (text !== "genuine") throw new Error(`${run.provider}, ${run.way}: ${text}\n${runtime.output()}`);
  return (cpuMicroseconds(runtime.pid) - before) / run.count;
}

function runOf(provider: string): Run {
  const signer = signers[provider];
  if (signer === undefined) throw new Error(`no signer ${provider}`);
  const body = JSON.stringify({ id: "evt_1", type: "invoice.paid", filler: "" }).replace(
    '""',
    `"${"x".repeat(BODY_BYTES - 45)}"`,
  );
  const plain = { url: "https://hooks.example.com/webhook/acme/src", seconds: NOW_SECONDS };
  const { headers } = signer.sign(signer.secret, { ...plain, body: Buffer.from(body) });
  const bareKey = Buffer.alloc(32, 7);
  const signed = Buffer.from(body.slice(0, BODY_BYTES));
  return {
    way: "bare",
    count: 0,
    provider,
    secret: signer.secret,
    headers,
    body,
    nowMs: NOW_SECONDS * 1000,
    bare: {
      key: bareKey.toString("base64"),
      signed: signed.toString("base64"),
      signature: mac("sha256", bareKey, signed).toString("base64"),
    },
  };
}

/** The Worker as one module, as a deploy would bundle it. */
async function bundle(): Promise<WorkerDescription> {
  const built = await build({
    configFile: false,
    logLevel: "error",
    build: {
      write: false,
      minify: false,
      target: "es2024",
      lib: { entry: join(import.meta.dirname, "verify/worker.ts"), formats: ["es"], fileName: "worker" },
    },
  });
  const [output] = Array.isArray(built) ? built : [built];
  const chunk = output !== undefined && "output" in output ? output.output[0] : undefined;
  if (chunk === undefined) throw new Error("nothing was bundled");
  return {
    modules: [{ name: "worker.js", text: chunk.code }],
    compatibilityDate: "2026-11-01",
    compatibilityFlags: [],
    vars: {},
    objects: [],
    namespaces: [],
  };
}

process.exitCode = await main();
