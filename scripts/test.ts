/**
 * `npm test`: every Vitest project, those with real processes after the others, as they would disturb each other on a
 * small machine, and those that need packages of their own by themselves. The last line is `N passed, N failed`,
 * summed over all; the exit code is 0 only if tests ran and all passed.
 *
 * Arguments are handed to Vitest (`npm test -- test/core`), all projects in one run then.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { installOracles } from "./oracles.ts";

/** The tests by the providers' own packages. */
const ORACLES_PROJECT = "oracles";
/** Projects whose tests start processes of their own, kill them, and wait for real time. */
const PROCESS_PROJECTS: ReadonlySet<string> = new Set(["crash"]);

const projectDir = join(import.meta.dirname, "..");

/** The part of Vitest's JSON report that is counted. */
interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly testResults: readonly {
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string }[];
  }[];
}

interface Count {
  readonly passed: number;
  readonly failed: number;
}

async function main(args: readonly string[]): Promise<number> {
  const runs = args.length > 0 ? [args] : await runsByProject();
  let total: Count = { passed: 0, failed: 0 };
  for (const run of runs) {
    const isReady = !run.some((arg) => arg.includes(ORACLES_PROJECT)) || (await installOracles());
    const count = isReady ? await runVitest(run) : { passed: 0, failed: 1 };
    total = { passed: total.passed + count.passed, failed: total.failed + count.failed };
  }
  console.log(`\n${total.passed} passed, ${total.failed} failed`);
  return total.failed === 0 && total.passed > 0 ? 0 : 1;
}

/** The arguments of each run of Vitest: the quick projects together, then each of the others by itself. */
async function runsByProject(): Promise<readonly (readonly string[])[]> {
  const { default: config } = await import("../vitest.config.ts");
  const names = (config.test?.projects ?? []).flatMap((project) => {
    const test = typeof project === "object" && "test" in project ? project.test : undefined;
    return typeof test?.name === "string" ? [test.name] : [];
  });
  const isSlow = (name: string): boolean => PROCESS_PROJECTS.has(name) || name === ORACLES_PROJECT;
  const quick = names.filter((name) => !isSlow(name));
  const slow = names.filter(isSlow);
  return [quick, ...slow.map((name) => [name])].map((group) => group.map((name) => `--project=${name}`));
}

async function runVitest(args: readonly string[]): Promise<Count> {
  const dir = mkdtempSync(join(tmpdir(), "spillway-test-"));
  const reportPath = join(dir, "report.json");
  try {
    const vitest = join(projectDir, "node_modules/vitest/vitest.mjs");
    const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${reportPath}`];
    const child = spawn(process.execPath, [vitest, "run", ...args, ...reporters], {
      cwd: projectDir,
      stdio: "inherit",
    });
    const [exitCode] = await once(child, "exit");
    return count(reportPath, exitCode === 0);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** A file that does not load, or an error outside every test, is a failure like a test's. */
function count(reportPath: string, succeeded: boolean): Count {
  let report: Report;
  try {
    report = JSON.parse(readFileSync(reportPath, "utf8"));
  } catch {
    return { passed: 0, failed: 1 };
  }
  const unloaded = report.testResults.filter(
    (file) => file.status === "failed" && !file.assertionResults.some((test) => test.status === "failed"),
  );
  const failed = report.numFailedTests + unloaded.length;
  return { passed: report.numPassedTests, failed: failed === 0 && !succeeded ? 1 : failed };
}

process.exitCode = await main(process.argv.slice(2));
