/**
 * `npm run test:mutants`: makes one line of the source wrong at a time and expects a test of the broken rule to fail.
 *
 *   --only <text>  mutants whose title contains it; may be repeated
 *   --jobs <n>     how many at a time (by default one per processor, at most 4)
 *
 * Exit code 1 when a mutant survives, does not load, or no longer fits the source, or when a test fails without one.
 */
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Mutant, mutantTitle, mutated } from "./mutant.ts";
import { MUTANTS } from "./mutants.ts";
import { BASELINE_LIMITS, MUTANT_LIMITS, runRuleTests, UNSOUND_LIMITS } from "./rule-tests.ts";
import { Tree } from "./tree.ts";
import { type Verdict, verdictOf } from "./verdict.ts";

const PROJECT_DIR = join(import.meta.dirname, "../..");

const { values: options } = parseArgs({
  options: { only: { type: "string", multiple: true }, jobs: { type: "string" } },
});

async function main(): Promise<number> {
  const selected = MUTANTS.filter((mutant) => options.only?.some((text) => mutantTitle(mutant).includes(text)) ?? true);
  const misfits = selected.filter(
    (mutant) => mutated(readFileSync(join(PROJECT_DIR, mutant.file), "utf8"), mutant) === null,
  );
  for (const mutant of misfits) console.log(`does not fit  ${mutantTitle(mutant)}`);
  if (misfits.length > 0 || selected.length === 0) return 1;

  const jobs = Math.min(selected.length, Number(options.jobs ?? Math.min(4, availableParallelism())));
  const trees = Array.from({ length: jobs }, () => new Tree(PROJECT_DIR));
  try {
    const failingAnyway = await testsFailingAnyway(trees, selected);
    for (const name of failingAnyway) console.log(`fails without a mutant  ${name}`);
    const verdicts = await tryAll(trees, selected, failingAnyway);
    const killedCount = verdicts.filter((verdict) => verdict.kind === "killed").length;
    const ruleCount = new Set(selected.map((mutant) => mutant.rule)).size;
    console.log(`${killedCount} of ${selected.length} mutants of ${ruleCount} rules were killed`);
    return killedCount === selected.length && failingAnyway.size === 0 ? 0 : 1;
  } finally {
    for (const tree of trees) tree.remove();
  }
}

/** A test that fails anyway would kill every mutant: all of them are run once without one. */
async function testsFailingAnyway(trees: readonly Tree[], selected: readonly Mutant[]): Promise<ReadonlySet<string>> {
  const rules = [...new Set(selected.map((mutant) => mutant.rule))];
  const baseline = await runRuleTests(trees[0]?.dir ?? PROJECT_DIR, rules, BASELINE_LIMITS);
  if (baseline.kind !== "passed" && baseline.kind !== "failed") {
    throw new Error(`the tests do not run without a mutant: ${JSON.stringify(baseline)}`);
  }
  console.log(`${baseline.passedCount} tests of ${rules.length} rules pass without a mutant`);
  return new Set(baseline.kind === "failed" ? baseline.failedNames : []);
}

async function tryAll(
  trees: readonly Tree[],
  selected: readonly Mutant[],
  failingAnyway: ReadonlySet<string>,
): Promise<readonly Verdict[]> {
  const limits = failingAnyway.size === 0 ? MUTANT_LIMITS : UNSOUND_LIMITS;
  const waiting = [...selected];
  const verdicts: Verdict[] = [];
  await Promise.all(
    trees.map(async (tree) => {
      for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
        const { rule } = mutant;
        const run = await tree.withMutant(mutant, () => runRuleTests(tree.dir, [rule], limits));
        const verdict = verdictOf(run, failingAnyway);
        verdicts.push(verdict);
        const detail = verdict.kind === "killed" ? verdict.by : verdict.kind === "broken" ? verdict.why : "";
        console.log(`${verdict.kind.padEnd(8)}  ${mutantTitle(mutant)}${detail === "" ? "" : `\n          ${detail}`}`);
      }
    }),
  );
  return verdicts;
}

process.exitCode = await main();
