import type { RuleTestRun } from "./rule-tests.ts";

/** What became of a mutant. Only `killed` is as it should be. */
export type Verdict =
  | { readonly kind: "killed"; readonly by: string }
  | { readonly kind: "survived" }
  | { readonly kind: "broken"; readonly why: string };

/**
 * A mutant is killed only by a test of its own rule that ran and failed, or that never ended. Tests that fail without it
 * say nothing.
 */
export function verdictOf(run: RuleTestRun, failingAnyway: ReadonlySet<string>): Verdict {
  switch (run.kind) {
    case "failed": {
      const [by] = run.failedNames.filter((name) => !failingAnyway.has(name));
      return by === undefined ? { kind: "survived" } : { kind: "killed", by };
    }
    case "timed-out":
      return { kind: "killed", by: "a test that never ended" };
    case "passed":
      return { kind: "survived" };
    case "no-test-ran":
      return { kind: "broken", why: run.output };
  }
}
