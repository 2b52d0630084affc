/**
 * What a configuration may say by its schema, and this version cannot do yet. Refused rather than ignored. A line
 * goes when the thing is built; `*` stands for any id.
 */
import type { InputProblem } from "../core/problem.ts";
import { isJsonObject } from "./json.ts";
import { pathText } from "./problems.ts";

interface NotYet {
  readonly at: string;
  readonly works: (value: unknown) => boolean;
  readonly use: string;
}

const isAbsent = (value: unknown) => value === null;

const NOT_YET: readonly NotYet[] = [
  { at: "jurisdiction", works: isAbsent, use: "none" },
  { at: "locationHint", works: isAbsent, use: "none" },
];

/** A problem for each thing in `input` that is not built yet. */
export function notYetProblems(input: unknown): InputProblem[] {
  return NOT_YET.flatMap((entry) => {
    const found = valuesAt(input, entry.at.split("."), []);
    return found
      .filter(({ value }) => !entry.works(value))
      .map(({ path }) => ({ path, message: `is not supported by this version yet: use ${entry.use}` }));
  });
}

function valuesAt(
  value: unknown,
  pattern: readonly string[],
  path: readonly string[],
): { path: string; value: unknown }[] {
  const [name, ...rest] = pattern;
  if (name === undefined) return [{ path: pathText(path), value }];
  if (!isJsonObject(value)) return [];
  const names = name === "*" ? Object.keys(value) : Object.hasOwn(value, name) ? [name] : [];
  return names.flatMap((found) => valuesAt(value[found], rest, [...path, found]));
}
