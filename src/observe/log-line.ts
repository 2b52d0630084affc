export type LogLevel = "info" | "warn" | "error";
export type LogValue = string | number | boolean | null | undefined;

const TEXT_LENGTH_MAX = 300;

/**
 * One line of JSON on the console. What senders wrote may stand in `fields`: control characters and anything that
 * could begin a new line or an escape sequence are written as `\uXXXX`, and long text is cut [I15]. Callers never
 * pass a query string or a secret.
 */
export function logLine(level: LogLevel, event: string, fields: Readonly<Record<string, LogValue>>): void {
  console[level](formatLogLine(level, event, fields));
}

/** The line itself, without printing it. */
export function formatLogLine(level: LogLevel, event: string, fields: Readonly<Record<string, LogValue>>): string {
  const line: Record<string, LogValue> = { level, event };
  for (const [name, value] of Object.entries(fields)) {
    line[name] =
      typeof value === "string" && value.length > TEXT_LENGTH_MAX ? `${value.slice(0, TEXT_LENGTH_MAX)}…` : value;
  }
  // JSON escapes U+0000 … U+001F; terminals and log viewers also act on DEL, C1 controls, line separators and bidi marks.
  return JSON.stringify(line).replace(/[\u007f-\u009f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, toEscape);
}

function toEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
