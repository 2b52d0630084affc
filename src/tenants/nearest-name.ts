/** Typing errors in a longer name; more of them and the name is another one. */
const EDITS_MAX = 2;

/**
 * The known name that a mistyped one was most likely meant to be: the first that differs by the fewest letters, at most
 * two, or else the first that begins with it or that it begins with. `null`: nothing is near enough to be suggested.
 */
export function nearestName(typed: string, known: readonly string[]): string | null {
  const wanted = typed.trim().toLowerCase().replaceAll(/[\s_]/g, "-");
  // Longer texts than any name could take as long as they like to compare.
  if (wanted.length < 2 || wanted.length > 64) return null;
  let nearest: string | null = null;
  let edits = Math.min(EDITS_MAX, Math.floor(wanted.length / 3)) + 1;
  for (const name of known) {
    const distance = editDistance(wanted, name);
    if (distance < edits) [nearest, edits] = [name, distance];
  }
  return nearest ?? known.find((name) => name.startsWith(wanted) || wanted.startsWith(`${name}-`)) ?? null;
}

/** Letters to insert, to leave out or to put in another's place (Levenshtein). */
function editDistance(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const line = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1] ? 0 : 1;
      line.push(Math.min((above[column] ?? 0) + 1, (line[column - 1] ?? 0) + 1, (above[column - 1] ?? 0) + same));
    }
    above = line;
  }
  return above[b.length] ?? 0;
}
