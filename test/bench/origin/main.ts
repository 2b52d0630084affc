/**
 * The benchmark's origin as a process of its own: a raw HTTP/1.1 server on 127.0.0.1 that counts requests and answers
 * at once, or never. It parses no more than the length of a request, for it shares the processors with the server.
 */
import { createServer, type Socket } from "node:net";
import type { OriginReport } from "./origin-process.ts";

const isHanging = process.argv[2] === "hang";
const ANSWER = Buffer.from(
  "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: application/json\r\n\r\n{}",
  "latin1",
);
const HEAD_END = Buffer.from("\r\n\r\n");

let bodyBytes = 0;
/** When each request was complete, in ms of this process's clock. */
let arrivalsMs: number[] = [];

const server = createServer({ noDelay: true }, (socket) => serve(socket));
server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as { port: number }).port }));

function serve(socket: Socket): void {
  let head = Buffer.alloc(0);
  let bodyLeft = -1;
  socket.on("error", () => socket.destroy());
  socket.on("data", (chunk: Buffer) => {
    let rest = chunk;
    while (rest.length > 0) {
      if (bodyLeft < 0) {
        head = head.length === 0 ? rest : Buffer.concat([head, rest]);
        const end = head.indexOf(HEAD_END);
        if (end < 0) return;
        const length = /\r\ncontent-length: *(\d+)/i.exec(head.toString("latin1", 0, end))?.[1] ?? "0";
        rest = head.subarray(end + HEAD_END.length);
        head = Buffer.alloc(0);
        bodyLeft = Number(length);
        bodyBytes += bodyLeft;
      }
      const taken = Math.min(bodyLeft, rest.length);
      bodyLeft -= taken;
      rest = rest.subarray(taken);
      if (bodyLeft > 0) return;
      bodyLeft = -1;
      arrivalsMs.push(performance.now());
      if (!isHanging) socket.write(ANSWER);
    }
  });
}

process.on("message", () => {
  const report: OriginReport = { requests: arrivalsMs.length, bodyBytes, arrivalsMs };
  process.send?.(report);
  arrivalsMs = [];
  bodyBytes = 0;
});
process.once("disconnect", () => process.exit(0));
