/** The namespace of tenants' objects, as far as a place goes [O13]. */
import type { Place } from "../core/place.ts";

/** The part of the namespace that holds objects of this place. Throws where the runtime has no jurisdictions. */
export function namespaceAt(namespace: DurableObjectNamespace, { jurisdiction }: Place): DurableObjectNamespace {
  return jurisdiction === null ? namespace : namespace.jurisdiction(jurisdiction);
}

/** What a stub is asked for beside the name: only the very first call to an object heeds it. */
export function hintOf({ locationHint }: Place): { readonly locationHint?: DurableObjectLocationHint } {
  return locationHint === null ? {} : { locationHint };
}

/** Whether the runtime keeps objects within this jurisdiction. */
export function hasJurisdiction(namespace: DurableObjectNamespace, jurisdiction: string): boolean {
  try {
    namespace.jurisdiction(jurisdiction as DurableObjectJurisdiction);
    return true;
  } catch {
    return false;
  }
}
