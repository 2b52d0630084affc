import fc from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startClock, stopClock } from "../clock.ts";
import { Origin } from "../origin.ts";
import { type Command, sequences } from "./commands.ts";
import { World } from "./world.ts";

/**
 * By default the same few sequences each time, so that a run says something about the change and not about luck.
 * `VITE_LEDGER_SEQUENCES=1000` tries more of them; `VITE_LEDGER_SEED` others, or those of an earlier run, as it was printed.
 */
const { VITE_LEDGER_SEQUENCES: runs = "20", VITE_LEDGER_SEED: seed = "1" } = import.meta.env as Record<string, string>;

/** Sequences that once went wrong. */
const found: readonly (readonly Command[])[] = [
  [
    { kind: "accept", count: 1, type: "x" },
    { kind: "in-flight", during: [{ kind: "erase", at: 0 }], end: "answer" },
    { kind: "run" },
  ],
  [
    { kind: "accept", count: 1, type: "x" },
    { kind: "accept", count: 1, type: "y" },
    { kind: "in-flight", during: [{ kind: "erase", at: 3 }], end: "answer" },
    { kind: "in-flight", during: [], end: "answer" },
  ],
  [
    { kind: "accept", count: 3, type: "x" },
    { kind: "in-flight", during: [{ kind: "give-up", destination: "all", at: 2 }], end: "crash" },
  ],
];

beforeEach(() => startClock());

afterEach(() => {
  vi.restoreAllMocks();
  stopClock();
});

test("[X5] [S1] [V14] the ledger balances after each of many random sequences, and each event is where it says", {
  timeout: 3_600_000,
}, async () => {
  const origin = new Origin();
  await fc.assert(
    fc.asyncProperty(sequences, async (commands) => {
      origin.requests.length = 0;
      origin.exchanges.length = 0;
      origin.accepted.length = 0;
      startClock();
      const world = new World(origin);
      await world.begin();
      for (const command of commands) await world.happen(command);
      await world.end();
    }),
    {
      numRuns: Number(runs),
      examples: found.map((commands) => [commands]),
      seed: Number(seed),
    },
  );
  expect(Number(runs)).toBeGreaterThan(0);
});
