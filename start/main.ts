/**
 * `npm start`: the real Worker on the local runtime, a tenant with five sources, an origin, and a minute in which one
 * can see what Spillway does. Then it stays up to be tried.
 *
 *   --once         the same with state of its own; checks every byte, exits 0 or 1
 *   --port <n>     where the Worker listens (8787, or a free one)
 */
import { parseArgs } from "node:util";
import colors from "picocolors";
import { StartFailure } from "./failure.ts";
import { invite } from "./farewell.ts";
import { Journal } from "./journal.ts";
import { DemoOrigin } from "./origin.ts";
import { scenes } from "./scenes.ts";
import { Screen } from "./screen.ts";
import { Spillway } from "./spillway.ts";
import type { Stage } from "./stage.ts";
import { openFresh, openLasting } from "./state.ts";
import { judge } from "./verdict.ts";
import { Senders } from "./webhooks.ts";
import { choosePort, startWorker } from "./worker.ts";

const HELP = `npm start                  show what Spillway does, then stay up
npm start -- --once        the same, check every byte, exit 0 or 1
npm start -- --port 9000   listen on this port
`;

async function main(): Promise<number> {
  const options = readOptions();
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const port = options.once && options.port === undefined ? 0 : await choosePort(options.port);
  const state = options.once ? openFresh() : openLasting();
  const screen = new Screen();
  const journal = new Journal();
  const origin = new DemoOrigin(state.settings, (report) => {
    screen.origin(report);
    if (report.what === "processed") for (const arrival of report.arrivals) journal.arrive(arrival);
  });
  const cleanUp: (() => Promise<void>)[] = [() => origin.stop()];
  let isGood = false;
  try {
    const interrupted = interruption();
    await origin.start();
    if (port === 0 && !options.once) screen.plain(colors.dim("Port 8787 is taken, so a free one is used."));
    screen.plain(colors.dim("Building the Worker and starting the local runtime …"));
    const worker = await startWorker(port, state);
    cleanUp.unshift(() => worker.stop());
    screen.title("Spillway", `the Worker at ${worker.url.origin}, an application of yours at ${origin.url}`);
    const spillway = new Spillway(worker.url, state.settings.adminToken);
    await spillway.configure(state.settings, origin.url);

    const stage: Stage = { screen, journal, origin, spillway, senders: new Senders(state.settings), faults: [] };
    isGood = await Promise.race([play(stage, options.once), interrupted.then(() => !options.once)]);
    if (!options.once && !interrupted.happened()) {
      invite(screen, spillway, state.settings);
      await interrupted;
    }
    return isGood ? 0 : 1;
  } finally {
    if (!isGood && options.once) screen.plain(`\n   What was stored is kept in ${state.dir}`);
    for (const step of cleanUp) await step();
    state.release(!isGood);
  }
}

async function play(stage: Stage, fresh: boolean): Promise<boolean> {
  for (const scene of scenes) await scene(stage);
  return judge(stage, fresh);
}

function readOptions(): { readonly once: boolean; readonly help: boolean; readonly port: string | undefined } {
  try {
    const { values } = parseArgs({
      options: { once: { type: "boolean" }, port: { type: "string" }, help: { type: "boolean", short: "h" } },
    });
    return { once: values.once ?? false, help: values.help ?? false, port: values.port };
  } catch (error) {
    throw new StartFailure(error instanceof Error ? error.message : String(error), HELP);
  }
}

/** Resolves at the first Ctrl-C; a second one ends the process at once. */
function interruption(): Promise<void> & { happened(): boolean } {
  let happened = false;
  const promise = new Promise<void>((resolve) => {
    const onSignal = () => {
      if (happened) process.exit(130);
      happened = true;
      process.stdout.write(`\n${colors.dim("stopping")}\n`);
      resolve();
    };
    process.on("SIGINT", onSignal);
    process.on("SIGTERM", onSignal);
  });
  return Object.assign(promise, { happened: () => happened });
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof StartFailure)) throw error;
  process.stderr.write(`\n${colors.red(error.message)}\n${error.advice}\n`);
  process.exitCode = 1;
}
// The local runtime may leave handles behind that would hold the process up.
process.exit();
