import type { PlannedRequest } from "../../../src/core/delivery/machine.ts";
import { rangesOf } from "../../../src/core/delivery/ranges.ts";
import type { Reply } from "./origins.ts";

/** When every simulation begins. */
export const START_MS = 1_795_910_400_000;

/** A request as it was made, for a test to look at. */
export interface Request {
  readonly atMs: number;
  readonly lane: PlannedRequest["lane"];
  readonly batchId: string;
  readonly seqs: readonly number[];
  readonly reply: Reply;
}

/** Requests as a person reads them: `fresh 1-8: 500`. */
export function trace(requests: readonly Request[]): string[] {
  return requests.map(({ lane, seqs, reply }) => `${lane} ${named(seqs)}: ${replyName(reply)}`);
}

/** With the second of the simulation: `61 probe 3: 200`. */
export function timedTrace(requests: readonly Request[]): string[] {
  return trace(requests).map(
    (line, index) => `${Math.floor(((requests[index]?.atMs ?? 0) - START_MS) / 1_000)} ${line}`,
  );
}

function named(seqs: readonly number[]): string {
  return rangesOf(seqs)
    .map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`))
    .join(",");
}

function replyName(reply: Reply): string {
  if (typeof reply === "string") return reply;
  const { status, refusedIds = [] } = reply;
  return refusedIds.length === 0 ? `${status}` : `${status} but ${refusedIds.map((id) => id.slice(2)).join(",")}`;
}
