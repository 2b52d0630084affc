import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { WorkerDescription } from "../../scripts/workerd/config.ts";
import { type Runtime, startRuntime } from "../../scripts/workerd/runtime.ts";
import { buildSpillway } from "../../scripts/workerd/spillway.ts";
import { TenantAdmin } from "../../scripts/workerd/tenant-admin.ts";
import { LoadProcess } from "./load/load-process.ts";
import { BENCH_SECRET } from "./load/signed-requests.ts";
import { OriginProcess } from "./origin/origin-process.ts";
import type { Plan } from "./plan.ts";

const PROJECT_DIR = join(import.meta.dirname, "../..");

/** What all phases of one benchmark share: the built Worker, a load, two origins and a place for state. */
export class Bench {
  readonly plan: Plan;
  readonly spillway: WorkerDescription;
  readonly load: LoadProcess;
  readonly fastOrigin: OriginProcess;
  readonly hangingOrigin: OriginProcess;
  readonly #dir = mkdtempSync(join(tmpdir(), "spillway-bench-"));
  #dirCount = 0;

  constructor(plan: Plan, spillway: WorkerDescription, fast: OriginProcess, hanging: OriginProcess) {
    this.plan = plan;
    this.spillway = spillway;
    this.load = new LoadProcess();
    this.fastOrigin = fast;
    this.hangingOrigin = hanging;
  }

  static async prepare(plan: Plan): Promise<Bench> {
    const spillway = await buildSpillway(join(PROJECT_DIR, "dist/bench"));
    return new Bench(plan, spillway, await OriginProcess.start("fast"), await OriginProcess.start("hang"));
  }

  close(): void {
    this.load.close();
    this.fastOrigin.close();
    this.hangingOrigin.close();
    rmSync(this.#dir, { recursive: true, force: true });
  }

  /** An empty directory for the state of one runtime. */
  freshDir(): string {
    this.#dirCount += 1;
    return join(this.#dir, String(this.#dirCount));
  }

  /** Runs a Worker on a fresh disk for as long as `use` takes. */
  async withRuntime<T>(worker: WorkerDescription, use: (runtime: Runtime) => Promise<T>): Promise<T> {
    const dir = this.freshDir();
    try {
      return await this.withRuntimeOn(dir, worker, use);
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  }

  /** As `withRuntime`, on a disk that stays. */
  async withRuntimeOn<T>(dir: string, worker: WorkerDescription, use: (runtime: Runtime) => Promise<T>): Promise<T> {
    const runtime = await startRuntime(worker, dir);
    try {
      return await use(runtime);
    } finally {
      await runtime.stop();
    }
  }

  async configureTenants(runtime: Runtime, names: readonly string[], config: unknown): Promise<void> {
    for (const name of names) await new TenantAdmin(runtime.origin, name).configure(config);
  }
}

/** The configuration of a benchmarked tenant: limits out of the way, everything else as it is by default. */
export function tenantConfig(
  originUrl: string,
  settings: { readonly maxInFlight?: number; readonly tenant?: Readonly<Record<string, unknown>> } = {},
): unknown {
  return {
    sources: { hooks: { provider: "generic", secrets: [BENCH_SECRET] } },
    rateLimit: { events: 100_000, windowSeconds: 1 },
    maxBacklogEvents: 10_000_000,
    destinations: {
      origin: {
        kind: "http",
        url: originUrl,
        signingSecrets: [`whsec_${Buffer.alloc(32, 5).toString("base64")}`],
        maxInFlight: settings.maxInFlight ?? 1,
      },
    },
    ...settings.tenant,
  };
}
