/**
 * Random lives of a tenant against a small model. A run of the suite tries a few, always the same; a thousand others:
 *
 *     VITE_LEDGER_SEQUENCES=1000 VITE_LEDGER_SEED=2 npx vitest run --silent=true --project workers test/flow/ledger
 *
 * A sequence that goes wrong is made shorter and shown with its seed, command by command, as it can stand in found.ts.
 */
import fc from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startClock, stopClock } from "../clock.ts";
import { Origin } from "../origin.ts";
import { type Command, MOODS, sequences } from "./commands.ts";
import { Deadlines } from "./deadlines.ts";
import { found } from "./found.ts";
import { World } from "./world.ts";

const { VITE_LEDGER_SEQUENCES, VITE_LEDGER_SEED } = import.meta.env as Record<string, string | undefined>;
const runs = wholeNumber("VITE_LEDGER_SEQUENCES", VITE_LEDGER_SEQUENCES ?? "20");
const seed = wholeNumber("VITE_LEDGER_SEED", VITE_LEDGER_SEED ?? "1");

/** In real time. A sequence takes a third of a second; a busy machine gets ten times that. */
const SEQUENCE_MS = 3_000;
/** For making one that failed shorter: then the shortest one so far is shown. */
const SHRINK_MS = 60_000;

/** So many sequences, and there is no move that none of them made. */
const ALL_MOVES_RUNS = 500;
const MOVES = [
  ...["delivered", "dead", "filtered", "erased"].map((to) => `backlog → ${to}`),
  ...["backlog", "purged", "expired", "erased"].map((to) => `dead → ${to}`),
  ...["delivered", "filtered", "expired", "not-offered"].map((from) => `${from} → backlog`),
];

beforeEach(() => startClock());

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  stopClock();
});

test("[X5] [S1] [V14] the ledger balances after each of many random sequences, and each event is where it says", {
  timeout: 60_000 + (found.length + runs) * SEQUENCE_MS + SHRINK_MS,
}, async () => {
  const origin = new Origin();
  const deadlines = new Deadlines();
  const moves = new Set<string>();
  let failedAtMs: number | null = null;
  let guilty: readonly Command[] = [];
  const live = async (commands: readonly Command[]): Promise<void> => {
    if (failedAtMs !== null && performance.now() - failedAtMs > SHRINK_MS) return;
    origin.requests.length = 0;
    origin.exchanges.length = 0;
    origin.accepted.length = 0;
    startClock();
    const happened: Command[] = [];
    try {
      const world = new World(origin, deadlines, moves);
      await world.begin();
      for (const command of commands) {
        happened.push(command);
        await world.happen(command);
      }
      await world.end();
    } catch (error) {
      failedAtMs ??= performance.now();
      guilty = happened;
      throw error;
    }
  };
  const examples = found.map((commands): [readonly Command[]] => [commands]);
  const numRuns = found.length + runs;
  const outcome = await fc.check(fc.asyncProperty(sequences, live), { numRuns, examples, seed });
  if (outcome.failed) throw new Error(describe(outcome, guilty), { cause: outcome.errorInstance });
  expect(outcome.numRuns).toBe(numRuns);
  if (runs >= ALL_MOVES_RUNS) expect([...moves]).toEqual(expect.arrayContaining(MOVES));
});

test("[X5] the random sequences have in them all that can happen to a tenant", () => {
  const seen = new Set<string>();
  const note = (command: Command): void => {
    seen.add(command.kind === "mood" ? `origin: ${command.mood}` : command.kind);
    if (command.kind !== "in-flight") return;
    seen.add(`in flight: ${command.end}`);
    for (const during of command.during) seen.add(`in flight: ${during.kind}`);
  };
  for (const commands of fc.sample(sequences, { numRuns: 300, seed: 1 })) commands.forEach(note);
  const byHand = ["duplicate", "redrive", "replay", "purge", "erase", "give-up", "pause", "resume"];
  expect([...seen].sort()).toEqual(
    [
      ...["accept", "run", "time", "evict", "crash", "drain", "reshard", "reconfigure", "in-flight", ...byHand],
      ...MOODS.map((mood) => `origin: ${mood}`),
      ...["answer", "hang", "crash", "accept", ...byHand].map((kind) => `in flight: ${kind}`),
    ].sort(),
  );
});

/** `guilty`: the commands of the shortest sequence that failed, up to the one that did. */
function describe(
  { errorInstance, ...outcome }: fc.RunDetails<[readonly Command[]]>,
  guilty: readonly Command[],
): string {
  return [
    errorInstance instanceof Error ? errorInstance.message : String(errorInstance),
    `VITE_LEDGER_SEED=${outcome.seed}, run ${outcome.numRuns}, made shorter ${outcome.numShrinks} times:`,
    ...guilty.map((command) => `    ${JSON.stringify(command)},`),
  ].join("\n");
}

function wholeNumber(name: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new Error(`${name} must be a whole number, and is ${JSON.stringify(text)}`);
}
