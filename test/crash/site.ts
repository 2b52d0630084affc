import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { WorkerDescription } from "../../scripts/workerd/config.ts";
import { type Runtime, startRuntime } from "../../scripts/workerd/runtime.ts";
import { TenantAdmin } from "../../scripts/workerd/tenant-admin.ts";

/** One disk and the runtime that works on it, killed and started again as often as a test likes. */
export class Site {
  readonly #worker: WorkerDescription;
  readonly #dir = mkdtempSync(join(tmpdir(), "spillway-crash-"));
  #runtime: Runtime | null = null;

  constructor(worker: WorkerDescription) {
    this.#worker = worker;
  }

  async start(): Promise<void> {
    this.#runtime = await startRuntime(this.#worker, this.#dir);
  }

  /** `kill -9`. */
  async kill(): Promise<void> {
    const runtime = this.#runtime;
    this.#runtime = null;
    await runtime?.kill();
  }

  /** null while it is down. */
  get origin(): string | null {
    return this.#runtime?.origin ?? null;
  }

  /** The runtime's process. */
  get pid(): number {
    if (this.#runtime === null) throw new Error("the runtime is down");
    return this.#runtime.pid;
  }

  admin(tenant: string): TenantAdmin {
    if (this.#runtime === null) throw new Error("the runtime is down");
    return new TenantAdmin(this.#runtime.origin, tenant);
  }

  output(): string {
    return this.#runtime?.output() ?? "";
  }

  async close(): Promise<void> {
    await this.kill();
    rmSync(this.#dir, { recursive: true, force: true });
  }
}
