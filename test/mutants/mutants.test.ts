import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Mutant, mutantTitle, mutated } from "./mutant.ts";
import { MUTANTS } from "./mutants.ts";
import { BASELINE_LIMITS, MUTANT_LIMITS, runRuleTests, testFilesOf } from "./rule-tests.ts";
import { Tree } from "./tree.ts";
import { verdictOf } from "./verdict.ts";

const PROJECT_DIR = join(import.meta.dirname, "../..");

test("every mutant fits the source and has a test that could kill it", () => {
  for (const mutant of MUTANTS) {
    const title = mutantTitle(mutant);
    expect(mutated(readFileSync(join(PROJECT_DIR, mutant.file), "utf8"), mutant), title).not.toBeNull();
    expect(testFilesOf(PROJECT_DIR, [mutant.rule]), title).not.toEqual([]);
  }
});

test("a mutant applies only where its text stands exactly once, and changes it", () => {
  const mutant: Mutant = { rule: "Z1", file: "a.ts", find: "a < b", replace: "a <= b" };
  expect(mutated("if (a < b) go();", mutant)).toBe("if (a <= b) go();");
  expect(mutated("if (a > b) go();", mutant)).toBeNull();
  expect(mutated("a < b && a < b", mutant)).toBeNull();
  expect(mutated("a < b", { ...mutant, replace: "a < b" })).toBeNull();
});

test("only a test that ran kills a mutant", () => {
  const failed = { kind: "failed", failedNames: ["[Z1] flickers", "[Z1] adds"], passedCount: 1 } as const;
  expect(verdictOf(failed, new Set(["[Z1] flickers"]))).toEqual({ kind: "killed", by: "[Z1] adds" });
  expect(verdictOf(failed, new Set(failed.failedNames)).kind).toBe("survived");
  expect(verdictOf({ kind: "timed-out" }, new Set()).kind).toBe("killed");
  expect(verdictOf({ kind: "passed", passedCount: 3 }, new Set()).kind).toBe("survived");
  const unloaded = { kind: "no-test-ran", output: "SyntaxError" } as const;
  expect(verdictOf(unloaded, new Set())).toEqual({ kind: "broken", why: "SyntaxError" });
});

describe("on a project of one function", () => {
  const dir = mkdtempSync(join(tmpdir(), "spillway-mutants-test-"));
  let tree: Tree;

  beforeAll(() => {
    mkdirSync(join(dir, "src"));
    mkdirSync(join(dir, "test/core"), { recursive: true });
    writeFileSync(join(dir, "package.json"), `{"type":"module"}`);
    writeFileSync(join(dir, ".gitignore"), "node_modules\n");
    writeFileSync(join(dir, "src/sum.ts"), "export const sum = (a: number, b: number) => a + b;\n");
    writeFileSync(
      join(dir, "test/core/sum.test.ts"),
      `import { expect, test } from "vitest";
       import { sum } from "../../src/sum.ts";
       test("[Z1] adds", () => expect(sum(2, 3)).toBe(5));
       test("[Z2] adds nothing to two", () => expect(sum(2, 0)).toBe(2));
      `,
    );
    symlinkSync(join(PROJECT_DIR, "node_modules"), join(dir, "node_modules"));
    execFileSync("git", ["init", "--quiet"], { cwd: dir });
    tree = new Tree(dir);
  });

  afterAll(() => {
    tree.remove();
    rmSync(dir, { recursive: true, force: true });
  });

  const tryMutant = (rule: string, replace: string) =>
    tree.withMutant({ rule, file: "src/sum.ts", find: "a + b", replace }, () =>
      runRuleTests(tree.dir, [rule], MUTANT_LIMITS),
    );

  test("a mutant is judged by the tests of its own rule, and gone afterwards", { timeout: 60_000 }, async () => {
    expect(await tryMutant("Z1", "a - b")).toEqual({ kind: "failed", failedNames: ["[Z1] adds"], passedCount: 0 });
    expect(await tryMutant("Z2", "a - b")).toEqual({ kind: "passed", passedCount: 1 });
    expect((await tryMutant("Z1", "a +")).kind).toBe("no-test-ran");
    expect((await tryMutant("Z3", "a - b")).kind).toBe("no-test-ran");
    expect(await runRuleTests(tree.dir, ["Z1", "Z2"], BASELINE_LIMITS)).toEqual({ kind: "passed", passedCount: 2 });
  });

  test("a mutant whose text is not there is refused", async () => {
    const mutant: Mutant = { rule: "Z1", file: "src/sum.ts", find: "a * b", replace: "a" };
    await expect(tree.withMutant(mutant, async () => {})).rejects.toThrow("does not stand exactly once");
  });
});
