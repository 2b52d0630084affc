import type { Runtime } from "../../scripts/workerd/runtime.ts";
import type { Bench } from "./bench.ts";

/** Requests made at once: signed ones take room, a million of them more than there is. */
const CHUNK_EVENTS = 20_000;
const FILL_CONNECTIONS = 100;

/** Stores `events` more events for tenant `t0` through the front door. Its destination must be paused. */
export async function fillBacklog(bench: Bench, runtime: Runtime, events: number): Promise<void> {
  for (let left = events; left > 0; left -= CHUNK_EVENTS) {
    const count = Math.min(left, CHUNK_EVENTS);
    await bench.load.prepare({ count, tenants: ["t0"], bodySizeBytes: bench.plan.bodySizeBytes });
    const { statuses } = await bench.load.run(runtime.port, FILL_CONNECTIONS, count);
    if (statuses[202] !== count) {
      const said = runtime
        .output()
        .split("\n")
        .filter((line) => !line.includes('"level":"info"'));
      throw new Error(`filling the backlog: ${JSON.stringify(statuses)}\n${said.join("\n").slice(-4_000)}`);
    }
  }
}
