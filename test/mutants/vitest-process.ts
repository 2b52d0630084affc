import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { RunLimits } from "./rule-tests.ts";

export interface VitestRun {
  /** null: it ended without one, or was ended. */
  readonly report: { readonly failedNames: readonly string[]; readonly passedCount: number } | null;
  readonly hasTimedOut: boolean;
  /** The last of what it wrote. */
  readonly output: string;
}

/** The part of Vitest's JSON report that matters here. */
interface JsonReport {
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

/** Runs the tests of `files` whose full name matches `names`, in a process group of its own. */
export async function runVitest(
  dir: string,
  files: readonly string[],
  names: string,
  limits: RunLimits,
): Promise<VitestRun> {
  const reportPath = join(dir, "mutant-report.json");
  rmSync(reportPath, { force: true });
  const vitest = [join(dir, "node_modules/vitest/vitest.mjs"), "run", "-t", names, ...files];
  const reporting = ["--reporter=json", `--outputFile=${reportPath}`];
  // In a group of its own, so that a runtime which hangs ends with it.
  const child = spawn(process.execPath, [...vitest, ...reporting, ...(limits.stopAtFirstFailure ? ["--bail=1"] : [])], {
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
  return { report: hasTimedOut ? null : readReport(reportPath), hasTimedOut, output };
}

function readReport(path: string): VitestRun["report"] {
  let report: JsonReport;
  try {
    report = JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return null;
  }
  const tests = report.testResults.flatMap((file) => file.assertionResults);
  return {
    failedNames: tests.filter((test) => test.status === "failed").map((test) => test.fullName),
    passedCount: tests.filter((test) => test.status === "passed").length,
  };
}
