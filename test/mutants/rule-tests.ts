import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runVitest } from "./vitest-process.ts";

/** What running the tests of some rules showed. */
export type RuleTestRun =
  | { readonly kind: "passed"; readonly passedCount: number }
  | { readonly kind: "failed"; readonly failedNames: readonly string[]; readonly passedCount: number }
  /** A mutant that makes the code go round for ever is found out by the clock. */
  | { readonly kind: "timed-out" }
  /** No test of these rules ran to an end: the code does not even load, or there is no such test. */
  | { readonly kind: "no-test-ran"; readonly output: string };

/** How a run of tests ends before all of them have been run. */
export interface RunLimits {
  readonly stopAtFirstFailure: boolean;
  readonly timeoutMs: number;
}

/** For one mutant: it is found out by the first test that fails. */
export const MUTANT_LIMITS: RunLimits = { stopAtFirstFailure: true, timeoutMs: 240_000 };
/** For a mutant where some tests fail without it: it is found out by any other. */
export const UNSOUND_LIMITS: RunLimits = { stopAtFirstFailure: false, timeoutMs: 600_000 };
/** For the tests of all rules together, without a mutant. */
export const BASELINE_LIMITS: RunLimits = { stopAtFirstFailure: false, timeoutMs: 1_200_000 };

/** Left out: what starts processes and waits for them, tests of tests, and what needs packages installed beside ours. */
const LEFT_OUT = /^test\/(crash\/|mutants\/|oracles\/|[^/]*$)/;
/** Tests without a runtime to start: they are asked first. */
const QUICK = /^test\/(core|providers)\//;

/** Test files in which a name carries one of the rules. */
export function testFilesOf(projectDir: string, rules: readonly string[]): readonly string[] {
  return globSync("test/**/*.test.ts", { cwd: projectDir })
    .filter((file) => !LEFT_OUT.test(file))
    .filter((file) => {
      const text = readFileSync(join(projectDir, file), "utf8");
      return rules.some((rule) => text.includes(`[${rule}]`));
    })
    .toSorted();
}

/** Runs, in the tree at `dir`, every test whose name carries one of the rules. */
export async function runRuleTests(dir: string, rules: readonly string[], limits: RunLimits): Promise<RuleTestRun> {
  const files = testFilesOf(dir, rules);
  const failedNames: string[] = [];
  let passedCount = 0;
  let output = `no test file names ${rules.join(", ")}`;
  for (const part of [files.filter((file) => QUICK.test(file)), files.filter((file) => !QUICK.test(file))]) {
    if (part.length === 0) continue;
    const run = await runVitest(dir, part, `\\[(${rules.join("|")})\\]`, limits);
    if (run.report === null) {
      if (run.hasTimedOut) return { kind: "timed-out" };
      output = run.output;
      continue;
    }
    failedNames.push(...run.report.failedNames);
    passedCount += run.report.passedCount;
    if (failedNames.length > 0 && limits.stopAtFirstFailure) break;
    if (run.report.passedCount === 0) output = run.output;
  }
  if (failedNames.length > 0) return { kind: "failed", failedNames, passedCount };
  return passedCount > 0 ? { kind: "passed", passedCount } : { kind: "no-test-ran", output };
}
