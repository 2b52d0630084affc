const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** The three forms of an HTTP date (RFC 9110, 5.6.7), all of them in UTC: engines differ in how they read the last one. */
const IMF_FIXDATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (\d{2}) ([A-Z][a-z]{2}) (\d{4}) (\d{2}):(\d{2}):(\d{2}) GMT$/;
const RFC850_DATE =
  /^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (\d{2})-([A-Z][a-z]{2})-(\d{2}) (\d{2}):(\d{2}):(\d{2}) GMT$/;
const ASCTIME_DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) ([A-Z][a-z]{2}) ([ \d]\d) (\d{2}):(\d{2}):(\d{2}) (\d{4})$/;

/**
 * How long a `Retry-After` asks to wait, in ms from `nowMs`: whole seconds or an HTTP date, clamped to
 * 1 s … `maxSeconds`. Null where the header is absent or says neither [V7].
 */
export function parseRetryAfter(value: string | null, nowMs: number, maxSeconds: number): number | null {
  const text = value?.trim() ?? "";
  const waitMs = /^\d+$/.test(text) ? Number(text) * 1_000 : waitUntil(text, nowMs);
  return waitMs === null ? null : Math.min(Math.max(waitMs, 1_000), maxSeconds * 1_000);
}

function waitUntil(text: string, nowMs: number): number | null {
  const atMs = parseHttpDate(text, nowMs);
  return atMs === null ? null : atMs - nowMs;
}

/** The instant an HTTP date names, in ms, or null for anything else, days that do not exist included. */
export function parseHttpDate(text: string, nowMs: number): number | null {
  const imf = IMF_FIXDATE.exec(text);
  if (imf !== null) return instant(imf[3], imf[2], imf[1], imf[4], imf[5], imf[6]);
  const rfc850 = RFC850_DATE.exec(text);
  if (rfc850 !== null) {
    const year = fullYear(Number(rfc850[3]), nowMs);
    return instant(String(year), rfc850[2], rfc850[1], rfc850[4], rfc850[5], rfc850[6]);
  }
  const asctime = ASCTIME_DATE.exec(text);
  if (asctime !== null) return instant(asctime[6], asctime[1], asctime[2], asctime[3], asctime[4], asctime[5]);
  return null;
}

/** RFC 9110: two digits that would be more than 50 years ahead mean the last year in the past that ends so. */
function fullYear(twoDigits: number, nowMs: number): number {
  const thisYear = new Date(nowMs).getUTCFullYear();
  const year = Math.floor(thisYear / 100) * 100 + twoDigits;
  return year > thisYear + 50 ? year - 100 : year;
}

function instant(...parts: readonly (string | undefined)[]): number | null {
  const [year, month, day, hour, minute, second] = parts;
  const monthIndex = MONTHS.indexOf(month ?? "");
  const [y, d, h, m, s] = [Number(year), Number(day), Number(hour), Number(minute), Number(second)];
  // A leap second is written 60 and counts as the last one of its minute.
  if (monthIndex < 0 || h > 23 || m > 59 || s > 60) return null;
  const date = new Date(Date.UTC(y, monthIndex, d, h, m, Math.min(s, 59)));
  return date.getUTCMonth() === monthIndex && date.getUTCDate() === d ? date.getTime() : null;
}
