import { isJsonObject } from "./json.ts";

/**
 * What `target` becomes by `patch` (RFC 7396): members of an object are replaced one by one, null removes, anything
 * else stands for itself. Neither is changed. `__proto__` is a member like any other.
 */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) return patch;
  const merged = new Map<string, unknown>(isJsonObject(target) ? Object.entries(target) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name);
    else merged.set(name, mergePatch(merged.get(name), value));
  }
  // fromEntries defines members; assigning would let "__proto__" set the prototype.
  return Object.fromEntries(merged);
}
