/** Where a tenant's objects live, fixed when the tenant is created [O13]: it is part of how they are found. */
export interface Place {
  /** A guarantee: nothing of the objects leaves it. null: none. */
  readonly jurisdiction: Jurisdiction | null;
  /** A wish that the first call to an object may carry. null: near whoever calls first. */
  readonly locationHint: LocationHint | null;
}

export const JURISDICTIONS = ["eu", "us", "fedramp", "fedramp-high"] as const;
export const LOCATION_HINTS = [
  "wnam",
  "enam",
  "sam",
  "weur",
  "eeur",
  "apac",
  "apac-ne",
  "apac-se",
  "oc",
  "afr",
  "me",
] as const;

type Jurisdiction = (typeof JURISDICTIONS)[number];
type LocationHint = (typeof LOCATION_HINTS)[number];

export const ANYWHERE: Place = { jurisdiction: null, locationHint: null };

export function isSamePlace(a: Place, b: Place): boolean {
  return a.jurisdiction === b.jurisdiction && a.locationHint === b.locationHint;
}

/** As an operator reads it. */
export function placeText({ jurisdiction, locationHint }: Place): string {
  const named = [
    ...(jurisdiction === null ? [] : [`jurisdiction ${jurisdiction}`]),
    ...(locationHint === null ? [] : [`locationHint ${locationHint}`]),
  ];
  return named.length === 0 ? "no jurisdiction and no locationHint" : named.join(", ");
}
