import type { TimeForm } from "./scheme.ts";
import { type Rejected, rejected } from "./verdict.ts";

/**
 * The time that a request says it was signed, or that a part of a text says, in ms since 1970; `null` where it is no
 * time of this unit. Seconds are 1 … 12 digits and milliseconds 1 … 15: no sign, no point, no exponent, no space [I10].
 */
export function parseTime(text: string, unit: TimeForm["unit"], start = 0, end = text.length): number | null {
  switch (unit) {
    case "seconds": {
      const seconds = parseDigits(text, start, end, 12);
      return seconds === null ? null : seconds * 1000;
    }
    case "milliseconds":
      return parseDigits(text, start, end, 15);
    case "rfc3339":
      return parseRfc3339(text.slice(start, end));
  }
}

const ZERO = "0".charCodeAt(0);

/** 15 digits are still exact in a double. */
function parseDigits(text: string, start: number, end: number, countMax: number): number | null {
  if (end <= start || end - start > countMax) return null;
  let value = 0;
  for (let i = start; i < end; i++) {
    const digit = text.charCodeAt(i) - ZERO;
    if (!(digit >= 0 && digit <= 9)) return null;
    value = value * 10 + digit;
  }
  return value;
}

const RFC3339 = /^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}:\d{2})(\.\d{1,12})?([Zz]|[+-]\d{2}:?\d{2})?$/;

/** Fractions beyond milliseconds are cut; a time without a zone is UTC. */
function parseRfc3339(text: string): number | null {
  const match = RFC3339.exec(text);
  if (match === null) return null;
  const [, day, time, fraction, zone] = match;
  const milliseconds = fraction === undefined ? "" : fraction.slice(0, 4);
  const offset = zone === undefined ? "Z" : zone.length === 5 ? `${zone.slice(0, 3)}:${zone.slice(3)}` : zone;
  const timeMs = Date.parse(`${day}T${time}${milliseconds}${offset.toUpperCase()}`);
  return Number.isNaN(timeMs) ? null : timeMs;
}

/** `null` where the time is near enough to the receipt, in either direction; the limit itself is near enough [I10]. */
export function checkAge(timeMs: number, receivedAtMs: number, toleranceSeconds: number | null): Rejected | null {
  if (toleranceSeconds === null) return null;
  const ageMs = receivedAtMs - timeMs;
  if (Math.abs(ageMs) <= toleranceSeconds * 1000) return null;
  const seconds = Math.round(Math.abs(ageMs) / 1000);
  return ageMs > 0
    ? rejected("timestamp-too-old", `signed ${seconds} s before it came; at most ${toleranceSeconds} s are accepted`)
    : rejected(
        "timestamp-in-future",
        `the sender's clock is ${seconds} s ahead; at most ${toleranceSeconds} s are accepted`,
      );
}
