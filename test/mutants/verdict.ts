import type { RuleTestRun } from "./rule-tests.ts";

/** What became of a mutant. Only `killed` is as it should be. */
export type Verdict =
  | { readonly kind: "killed"; readonly by: string }
  | { readonly kind: "survived" }
  | { readonly kind: "broken"; readonly why: string };

/** A mutant is killed only by a test of its own rule that ran and failed, or that never ended. */
export function verdictOf(run: RuleTestRun): Verdict {
  switch (run.kind) {
    case "failed":
      return { kind: "killed", by: run.failedNames[0] ?? "" };
    case "timed-out":
      return { kind: "killed", by: "a test that never ended" };
    case "passed":
      return { kind: "survived" };
    case "no-test-ran":
      return { kind: "broken", why: run.output };
  }
}
