const HOPS_HEADER = "spillway-hops";

/** A request that has been through this many Spillways is going in circles [V17]. */
export const HOPS_MAX = 3;

/** How often the request passed through a Spillway before it came here; only Spillway writes this header. */
export function readHops(headers: Headers): number {
  const text = headers.get(HOPS_HEADER);
  if (text === null) return 0;
  // Two digits are more than enough to be refused; anything else was not written by Spillway.
  return /^\d{1,2}$/.test(text) ? Number(text) : 0;
}
