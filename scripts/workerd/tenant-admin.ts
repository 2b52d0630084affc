import { setTimeout as sleep } from "node:timers/promises";
import { LOCAL_ADMIN_TOKEN } from "./spillway.ts";

/** The part of `GET /admin/tenants/:t/stats` that a run of the real Worker watches. */
export interface WatchedStats {
  readonly accepted: number;
  readonly deduplicated: number;
  readonly destinations: Readonly<
    Record<
      string,
      { readonly state: string; readonly delivered: number; readonly backlog: number; readonly dead: number }
    >
  >;
  readonly storage: { readonly bytes: number; readonly segments: number };
  readonly cost: {
    readonly rowsWritten: number;
    readonly rowsRead: number;
    readonly setupRows: number;
    readonly commits?: number;
  };
}

/** The admin API of a local run, for one tenant. Every call throws with the answer's text unless it is a 2xx. */
export class TenantAdmin {
  readonly #base: string;

  constructor(origin: string, tenant: string) {
    this.#base = `${origin}/admin/tenants/${tenant}`;
  }

  async configure(config: unknown): Promise<void> {
    await this.#call("PUT", "", config);
  }

  pause(destination: string): Promise<unknown> {
    return this.#call("POST", `/destinations/${destination}/pause`, {});
  }

  resume(destination: string): Promise<unknown> {
    return this.#call("POST", `/destinations/${destination}/resume`, {});
  }

  /** Puts all dead letters of a destination back in its backlog, as a job. */
  redriveAll(destination: string): Promise<unknown> {
    return this.#call("POST", "/dead-letters/redrive", { destination, all: true });
  }

  async stats(): Promise<WatchedStats> {
    return (await this.#call("GET", "/stats")) as WatchedStats;
  }

  /** Polls until `isReached`, every 100 ms; throws with the last stats after `timeoutMs`. */
  async untilStats(isReached: (stats: WatchedStats) => boolean, timeoutMs: number): Promise<WatchedStats> {
    const startedAt = performance.now();
    for (;;) {
      const stats = await this.stats();
      if (isReached(stats)) return stats;
      if (performance.now() - startedAt > timeoutMs) {
        throw new Error(`not reached within ${timeoutMs} ms: ${JSON.stringify(stats)}`);
      }
      await sleep(100);
    }
  }

  async #call(method: string, path: string, body?: unknown): Promise<unknown> {
    const response = await fetch(this.#base + path, {
      method,
      headers: { Authorization: `Bearer ${LOCAL_ADMIN_TOKEN}`, "Content-Type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${this.#base}${path} answered ${response.status}: ${text}`);
    return text === "" ? null : JSON.parse(text);
  }
}
