import { connect, type Socket } from "node:net";
import { ResponseReader } from "./response-reader.ts";

/** What one run of a load showed. */
export interface LoadResult {
  readonly requests: number;
  readonly seconds: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** How often each status came; key 0: the connection broke before an answer. */
  readonly statuses: Readonly<Record<number, number>>;
}

/**
 * Sends every request once over `connections` kept-alive connections to 127.0.0.1, on each the next one only when the
 * last was answered (a closed loop: it never sends more than the server takes). Connecting is not timed. With
 * `perSecondMax`, request k also waits for its turn, k ÷ `perSecondMax` seconds after the start.
 */
export async function runClosedLoop(
  port: number,
  connections: number,
  requests: readonly Buffer[],
  perSecondMax: number = Number.POSITIVE_INFINITY,
): Promise<LoadResult> {
  const sockets = await Promise.all(Array.from({ length: Math.min(connections, requests.length) }, () => open(port)));
  const latenciesMs = new Float64Array(requests.length);
  const statuses: Record<number, number> = {};
  let next = 0;
  let answered = 0;

  const startedAt = performance.now();
  await Promise.all(
    sockets.map(
      (socket) =>
        new Promise<void>((resolve) => {
          const reader = new ResponseReader();
          let sentAt = 0;
          const record = (status: number) => {
            latenciesMs[answered] = performance.now() - sentAt;
            answered += 1;
            statuses[status] = (statuses[status] ?? 0) + 1;
          };
          const sendNext = () => {
            const request = requests[next];
            if (request === undefined) {
              socket.removeListener("close", onClose);
              socket.destroy();
              resolve();
              return;
            }
            const waitMs = startedAt + (next * 1_000) / perSecondMax - performance.now();
            next += 1;
            if (waitMs > 1) setTimeout(send, waitMs, request);
            else send(request);
          };
          const send = (request: Buffer) => {
            sentAt = performance.now();
            socket.write(request);
          };
          const onClose = () => {
            record(0);
            resolve();
          };
          socket.once("close", onClose);
          socket.on("data", (chunk: Buffer) => {
            const status = reader.push(chunk);
            if (status === null) return;
            record(status);
            sendNext();
          });
          sendNext();
        }),
    ),
  );
  const seconds = (performance.now() - startedAt) / 1_000;

  const sorted = latenciesMs.subarray(0, answered).sort();
  return {
    requests: answered,
    seconds,
    perSecond: answered / seconds,
    p50Ms: sorted[Math.floor(answered * 0.5)] ?? 0,
    p99Ms: sorted[Math.floor(answered * 0.99)] ?? 0,
    maxMs: sorted.at(-1) ?? 0,
    statuses,
  };
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true }, () => {
      socket.removeListener("error", reject);
      socket.on("error", () => socket.destroy());
      resolve(socket);
    });
    socket.once("error", reject);
  });
}
