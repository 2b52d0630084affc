import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

/** What running the tests of some rules showed. */
export type RuleTestRun =
  | { readonly kind: "passed"; readonly passedCount: number }
  | { readonly kind: "failed"; readonly failedNames: readonly string[] }
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
export const MUTANT_LIMITS: RunLimits = { stopAtFirstFailure: true, timeoutMs: 180_000 };
/** For the tests of all rules together, without a mutant. */
export const BASELINE_LIMITS: RunLimits = { stopAtFirstFailure: false, timeoutMs: 1_200_000 };

/** The part of Vitest's JSON report that matters here. */
interface JsonReport {
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

/** Test files in which a name carries one of the rules. Those with real processes are left out: they take minutes. */
export function testFilesOf(projectDir: string, rules: readonly string[]): readonly string[] {
  return globSync("test/**/*.test.ts", { cwd: projectDir })
    .filter((file) => !file.startsWith("test/crash/") && !file.startsWith("test/mutants/"))
    .filter((file) => {
      const text = readFileSync(join(projectDir, file), "utf8");
      return rules.some((rule) => text.includes(`[${rule}]`));
    })
    .toSorted();
}

/** Runs, in the tree at `dir`, every test whose name carries one of the rules. */
export async function runRuleTests(dir: string, rules: readonly string[], limits: RunLimits): Promise<RuleTestRun> {
  const files = testFilesOf(dir, rules);
  if (files.length === 0) return { kind: "no-test-ran", output: `no test file names ${rules.join(", ")}` };
  const reportPath = join(dir, "mutant-report.json");
  rmSync(reportPath, { force: true });

  const names = `\\[(${rules.join("|")})\\]`;
  const vitest = [join(dir, "node_modules/vitest/vitest.mjs"), "run", "-t", names, ...files];
  const reporting = [
    "--reporter=json",
    `--outputFile=${reportPath}`,
    ...(limits.stopAtFirstFailure ? ["--bail=1"] : []),
  ];
  // In a group of its own, so that a runtime which hangs ends with it.
  const child = spawn(process.execPath, [...vitest, ...reporting], {
    cwd: dir,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, NO_COLOR: "1" },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      output = (output + chunk.toString("utf8")).slice(-4_000);
    });
  }
  let hasTimedOut = false;
  const timer = setTimeout(() => {
    hasTimedOut = true;
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  }, limits.timeoutMs);
  await once(child, "close");
  clearTimeout(timer);
  return hasTimedOut ? { kind: "timed-out" } : judged(reportPath, output);
}

function judged(reportPath: string, output: string): RuleTestRun {
  let report: JsonReport;
  try {
    report = JSON.parse(readFileSync(reportPath, "utf8"));
  } catch {
    return { kind: "no-test-ran", output };
  }
  const tests = report.testResults.flatMap((file) => file.assertionResults);
  const failedNames = tests.filter((test) => test.status === "failed").map((test) => test.fullName);
  if (failedNames.length > 0) return { kind: "failed", failedNames };
  const passedCount = tests.filter((test) => test.status === "passed").length;
  return passedCount === 0 ? { kind: "no-test-ran", output } : { kind: "passed", passedCount };
}
