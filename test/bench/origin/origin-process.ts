import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

/** What arrived since the last report. */
export interface OriginReport {
  readonly requests: number;
  readonly bodyBytes: number;
  /** When each request was complete, in ms of the origin's own clock. */
  readonly arrivalsMs: readonly number[];
}

/** An origin of the benchmark, in its own process. */
export class OriginProcess {
  readonly url: string;
  #child: ChildProcess;

  constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.url = `http://127.0.0.1:${port}/batches`;
  }

  /** `fast` answers 200 at once; `hang` takes requests and never answers. */
  static async start(behaviour: "fast" | "hang"): Promise<OriginProcess> {
    const child = fork(join(import.meta.dirname, "main.ts"), [behaviour]);
    const [{ port }] = (await once(child, "message")) as [{ port: number }];
    return new OriginProcess(child, port);
  }

  /** Reads what arrived and begins anew. */
  async takeReport(): Promise<OriginReport> {
    const answer = once(this.#child, "message");
    this.#child.send("report");
    return ((await answer) as [OriginReport])[0];
  }

  close(): void {
    this.#child.disconnect();
  }
}
