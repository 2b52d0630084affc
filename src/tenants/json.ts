/** Reading JSON of which nothing is known yet. Own members only: an input never reaches a prototype. */

type JsonObject = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The member at `path`, or undefined where anything on the way is missing or no object. */
export function memberAt(value: unknown, ...path: readonly string[]): unknown {
  let at = value;
  for (const name of path) {
    if (!isJsonObject(at) || !Object.hasOwn(at, name)) return undefined;
    at = at[name];
  }
  return at;
}

/** The members of an object, none for anything else. */
export function membersOf(value: unknown): [string, unknown][] {
  return isJsonObject(value) ? Object.entries(value) : [];
}

export function itemsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The number at `path`, or the default where it is absent or no number. */
export function numberAt(value: unknown, path: readonly string[], otherwise: number): number {
  const found = memberAt(value, ...path);
  return typeof found === "number" ? found : otherwise;
}

/** How deep objects and arrays are nested; stops counting beyond `depthMax`. Does not recurse. */
export function isDeeperThan(value: unknown, depthMax: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; depth <= depthMax; depth++) {
    const next: unknown[] = [];
    for (const item of level) {
      if (typeof item === "object" && item !== null) for (const child of Object.values(item)) next.push(child);
    }
    if (next.length === 0) return false;
    level = next;
  }
  return true;
}
