/** One line of the source made wrong, and the rule that this breaks: some test of that rule must fail. */
export interface Mutant {
  /** As in docs/SPEC.md, without brackets: `V9`. */
  readonly rule: string;
  /** Path within the project. */
  readonly file: string;
  /** Text that stands exactly once in the file. */
  readonly find: string;
  readonly replace: string;
}

/** Writes mutants of one file, one to a line. */
export function inFile(file: string): (rule: string, find: string, replace: string) => Mutant {
  return (rule, find, replace) => ({ rule, file, find, replace });
}

/** How a person recognises a mutant in a report. */
export function mutantTitle(mutant: Mutant): string {
  return `[${mutant.rule}] ${mutant.file}: ${oneLine(mutant.find)} → ${oneLine(mutant.replace)}`;
}

/** The source with the mutant in it, or null when its text is not there exactly once (the source has moved on). */
export function mutated(source: string, mutant: Mutant): string | null {
  const at = source.indexOf(mutant.find);
  if (at < 0 || source.indexOf(mutant.find, at + 1) >= 0 || mutant.find === mutant.replace) return null;
  return source.slice(0, at) + mutant.replace + source.slice(at + mutant.find.length);
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim() || "(nothing)";
}
