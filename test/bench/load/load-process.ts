import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { LoadResult } from "./closed-loop.ts";
import type { RequestShape } from "./signed-requests.ts";

export type LoadCommand =
  | { readonly kind: "prepare"; readonly shape: RequestShape }
  | {
      readonly kind: "run";
      readonly port: number;
      readonly connections: number;
      readonly count: number;
      readonly perSecondMax?: number;
    };

/** The load generator in its own process: what it costs is not counted to anything measured. */
export class LoadProcess {
  #child: ChildProcess = fork(join(import.meta.dirname, "main.ts"));

  /** Makes signed requests, in place of any left over. */
  async prepare(shape: RequestShape): Promise<void> {
    await this.#ask<unknown>({ kind: "prepare", shape });
  }

  /** Sends the next `count` of the prepared requests (see `runClosedLoop`). */
  run(port: number, connections: number, count: number): Promise<LoadResult> {
    return this.#ask<LoadResult>({ kind: "run", port, connections, count });
  }

  /** As `run`, but no faster than `perSecondMax`. */
  runPaced(port: number, connections: number, count: number, perSecondMax: number): Promise<LoadResult> {
    return this.#ask<LoadResult>({ kind: "run", port, connections, count, perSecondMax });
  }

  close(): void {
    this.#child.disconnect();
  }

  async #ask<T>(command: LoadCommand): Promise<T> {
    const exited = new AbortController();
    const answer = once(this.#child, "message", { signal: exited.signal }).then(([message]) => message as T);
    const failed = once(this.#child, "exit", { signal: exited.signal }).then(() => {
      throw new Error("the load generator ended");
    });
    this.#child.send(command);
    try {
      return await Promise.race([answer, failed]);
    } finally {
      exited.abort();
      await Promise.allSettled([answer, failed]);
    }
  }
}
