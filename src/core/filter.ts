import { fitsType } from "./type-pattern.ts";

/** Which events a destination wants [V16]. `"invoice.*"` means every type that begins with `invoice.`. */
export interface EventFilter {
  readonly sources: readonly string[] | null;
  readonly types: readonly string[] | null;
}

/** Whether an event of `source` and `type` passes; no filter lets everything pass, an event without a type fits only `*`. */
export function passes(filter: EventFilter | null, source: string, type: string | null): boolean {
  if (filter === null) return true;
  if (filter.sources !== null && !filter.sources.includes(source)) return false;
  return filter.types === null || filter.types.some((pattern) => fitsType(pattern, type));
}
