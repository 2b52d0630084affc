import { inTime } from "../core/in-time.ts";
import { fetchText } from "./remote.ts";

/**
 * Keys that a provider publishes, fetched from its own fixed addresses and kept. A sender can name a certificate or a
 * key id, so misses are remembered and fetches are few, whatever is asked for; and what one sender makes up takes
 * nothing from the others: keys that were had are never put out by misses, and still count where they cannot be had anew.
 */

const KEPT_MS = 3_600_000;
/** A text that cannot be had anew counts for so long after it was fetched. */
const STALE_MAX_MS = 21_600_000;
const MISS_KEPT_MS = 60_000;
const ENTRIES_MAX = 200;
const FETCHES_PER_MINUTE_MAX = 20;
/** A fetch that is not over by then never will be: the request that began it was called off, and its fetch with it. */
const FETCH_MAX_MS = 4_000;

interface Kept {
  readonly text: string;
  readonly fetchedAtMs: number;
  /** Somebody missed a key in it. */
  isForgotten: boolean;
}

interface Fetching {
  readonly text: Promise<string | null>;
  readonly beganAtMs: number;
}

const kept = new Map<string, Kept>();
/** Until when nothing is fetched of what could not be had. */
const missed = new Map<string, number>();
const fetching = new Map<string, Fetching>();
let minuteStartMs = 0;
let fetchCount = 0;

/**
 * The text at an address, fetched at most once an hour; `null` where it cannot be had just now. `isMadeUp`: the sender may
 * have chosen the name, so that all such fetches together are few.
 */
export async function remoteText(
  cacheName: string,
  nowMs: number,
  isMadeUp: boolean,
  request: () => Promise<string | null>,
): Promise<string | null> {
  const known = kept.get(cacheName);
  if (known !== undefined) put(kept, cacheName, known);
  if (known !== undefined && isFresh(known, nowMs)) return known.text;
  const stale = known !== undefined && nowMs - known.fetchedAtMs < STALE_MAX_MS ? known.text : null;
  if (nowMs < (missed.get(cacheName) ?? 0)) return stale;
  let current = fetching.get(cacheName);
  if (current === undefined || nowMs - current.beganAtMs >= FETCH_MAX_MS) {
    if (isMadeUp && !mayFetch(nowMs)) return stale;
    current = { beganAtMs: nowMs, text: fetched(cacheName, nowMs, request) };
    fetching.set(cacheName, current);
  }
  // By a timer of the request that waits: the fetch of another one may never end.
  const text = await inTime(current.text, FETCH_MAX_MS);
  if (fetching.get(cacheName) === current) fetching.delete(cacheName);
  return text ?? stale;
}

async function fetched(
  cacheName: string,
  nowMs: number,
  request: () => Promise<string | null>,
): Promise<string | null> {
  const text = await request();
  if (text === null) put(missed, cacheName, nowMs + MISS_KEPT_MS);
  else put(kept, cacheName, { text, fetchedAtMs: nowMs, isForgotten: false });
  return text;
}

/** As the newest; the one that was not asked for the longest time gives way. */
function put<T>(into: Map<string, T>, name: string, value: T): void {
  into.delete(name);
  into.set(name, value);
  if (into.size <= ENTRIES_MAX) return;
  const oldest = into.keys().next();
  if (!oldest.done) into.delete(oldest.value);
}

function isFresh(known: Kept, nowMs: number): boolean {
  return !known.isForgotten && nowMs - known.fetchedAtMs < KEPT_MS;
}

/** A text lacked the key asked for: it is fetched again, unless it is young, or could not be had; key ids can be made up. */
export function forgetIfOld(cacheName: string, nowMs: number): boolean {
  const known = kept.get(cacheName);
  if (known === undefined || known.isForgotten || nowMs - known.fetchedAtMs < MISS_KEPT_MS) return false;
  known.isForgotten = true;
  return true;
}

/** The text that is kept may not be the newest: what it lacks may be there by now. */
export function isOutdated(cacheName: string, nowMs: number): boolean {
  const known = kept.get(cacheName);
  return known === undefined || !isFresh(known, nowMs);
}

function mayFetch(nowMs: number): boolean {
  if (Math.abs(nowMs - minuteStartMs) >= 60_000) {
    minuteStartMs = nowMs;
    fetchCount = 0;
  }
  fetchCount++;
  return fetchCount <= FETCHES_PER_MINUTE_MAX;
}

/** The certificate at an address that the table allows; a sender may name any of them. */
export function remoteCertificate(url: string, nowMs: number): Promise<string | null> {
  return remoteText(url, nowMs, true, () => fetchText(url, {}));
}
