import type { z } from "zod";
import type { InputProblem } from "../core/problem.ts";

/** `["sources", "a.b", 0]` → `sources["a.b"].0`: dots between plain names, quotes around the others. */
export function pathText(path: readonly PropertyKey[]): string {
  let text = "";
  for (const part of path) {
    const name = String(part);
    if (!/^[A-Za-z0-9_-]+$/.test(name)) text += `[${JSON.stringify(name)}]`;
    else text += text === "" ? name : `.${name}`;
  }
  return text;
}

/** The schema's findings as problems: one for each unknown field, one for each wrong value. */
export function problemsOf(issues: readonly z.core.$ZodIssue[]): InputProblem[] {
  const problems: InputProblem[] = [];
  for (const issue of issues) {
    if (issue.code === "unrecognized_keys") {
      for (const key of issue.keys) {
        problems.push({ path: pathText([...issue.path, key]), message: "is not a known field" });
      }
    } else {
      const missing = issue.code === "invalid_type" && issue.input === undefined;
      problems.push({
        path: pathText(issue.path),
        message: missing ? `is required: it ${issue.message}` : issue.message,
      });
    }
  }
  return problems;
}

/** Sorted by path and without repeats, so that an answer reads in the order of the input and is the same each time. */
export function tidyProblems(problems: readonly InputProblem[]): InputProblem[] {
  const byText = new Map(problems.map((problem) => [`${problem.path}\n${problem.message}`, problem]));
  return [...byText.values()].sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
}
