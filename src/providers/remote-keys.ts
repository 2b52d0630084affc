import { fetchText } from "./remote.ts";

/**
 * Keys that a provider publishes, fetched from its own fixed addresses and kept. A sender can name a certificate or a
 * key id, so misses are remembered and fetches are few, whatever is asked for.
 */

const KEPT_MS = 3_600_000;
const MISS_KEPT_MS = 60_000;
const ENTRIES_MAX = 200;
const FETCHES_PER_MINUTE_MAX = 20;

interface Entry {
  readonly text: Promise<string | null>;
  readonly fetchedAtMs: number;
  /** Until then the answer is used as it is. */
  validUntilMs: number;
}

const entries = new Map<string, Entry>();
let minuteStartMs = 0;
let fetchCount = 0;

/** The text at an address, fetched at most once an hour; `null` where it cannot be had just now. */
export function remoteText(
  cacheName: string,
  nowMs: number,
  request: () => Promise<string | null>,
): Promise<string | null> {
  const known = entries.get(cacheName);
  if (known !== undefined && nowMs < known.validUntilMs) return known.text;
  if (!mayFetch(nowMs)) return Promise.resolve(null);
  const entry: Entry = { text: request(), fetchedAtMs: nowMs, validUntilMs: nowMs + KEPT_MS };
  entries.delete(cacheName);
  entries.set(cacheName, entry);
  if (entries.size > ENTRIES_MAX) {
    const oldest = entries.keys().next();
    if (!oldest.done) entries.delete(oldest.value);
  }
  return entry.text.then((text) => {
    if (text === null) entry.validUntilMs = nowMs + MISS_KEPT_MS;
    return text;
  });
}

/** Forgets an answer that lacked the key asked for, unless it is fresh: key ids can be made up. */
export function forgetIfOld(cacheName: string, nowMs: number): boolean {
  const known = entries.get(cacheName);
  if (known === undefined || nowMs - known.fetchedAtMs < MISS_KEPT_MS) return false;
  entries.delete(cacheName);
  return true;
}

function mayFetch(nowMs: number): boolean {
  if (Math.abs(nowMs - minuteStartMs) >= 60_000) {
    minuteStartMs = nowMs;
    fetchCount = 0;
  }
  fetchCount++;
  return fetchCount <= FETCHES_PER_MINUTE_MAX;
}

/** The certificate at an address that the table allows. */
export function remoteCertificate(url: string, nowMs: number): Promise<string | null> {
  return remoteText(url, nowMs, () => fetchText(url, {}));
}
