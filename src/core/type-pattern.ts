/** Whether an event's type is meant by `pattern`: `invoice.*` means all that begin so; no type is meant only by `*`. */
export function fitsType(pattern: string, type: string | null): boolean {
  if (pattern === "*") return true;
  if (type === null) return false;
  return pattern.endsWith("*") ? type.startsWith(pattern.slice(0, -1)) : type === pattern;
}
