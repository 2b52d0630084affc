/** The load as a process of its own, driven by messages of its parent (see `load-process.ts`). */
import { runClosedLoop } from "./closed-loop.ts";
import type { LoadCommand } from "./load-process.ts";
import { signedRequests } from "./signed-requests.ts";

let requests: Buffer[] = [];

process.on("message", async (command: LoadCommand) => {
  if (command.kind === "prepare") {
    requests = signedRequests(command.shape);
    process.send?.({ prepared: requests.length });
    return;
  }
  const taken = requests.splice(0, command.count);
  process.send?.(await runClosedLoop(command.port, command.connections, taken, command.perSecondMax));
});
process.once("disconnect", () => process.exit(0));
