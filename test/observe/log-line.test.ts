import { expect, test } from "vitest";
import { formatLogLine } from "../../src/observe/log-line.ts";
import { ThrottledLog } from "../../src/observe/throttled-log.ts";

/** What a sender might write to forge a line, hide it, or move a terminal's cursor. */
const tricks = [
  "\n{}",
  "\r\n",
  "\u001b[2J",
  "\u009b1A",
  "\u007f",
  "\u2028",
  "\u2029",
  "\u202e",
  "\u2066",
  '","level":"info',
  "\\",
];

test.each(tricks)(
  "[I15] %j in a field stays one line, one value, and prints nothing but visible characters",
  (trick) => {
    const line = formatLogLine("warn", "webhook-rejected", { source: `a${trick}b`, count: 1 });
    expect(line).not.toMatch(/[\p{Cc}\u2028-\u202e\u2066-\u2069]/u);
    expect(JSON.parse(line)).toEqual({ level: "warn", event: "webhook-rejected", source: `a${trick}b`, count: 1 });
  },
);

test("[I15] long text is cut, and a half of a surrogate pair does not spoil the line", () => {
  const parsed = JSON.parse(formatLogLine("info", "x", { text: `${"x".repeat(299)}😀` }));
  expect(parsed.text.length).toBeLessThanOrEqual(301);
});

test("[I15] of each kind one line in 10 s is written, and the next says how many were held back", () => {
  const lines: unknown[] = [];
  const log = new ThrottledLog((level, event, fields) => lines.push([level, event, fields]));
  for (let i = 0; i < 5; i++) log.line("a", i, "warn", "e", { kind: "a" });
  log.line("b", 5, "warn", "e", { kind: "b" });
  log.line("a", 10_000, "warn", "e", { kind: "a" });
  expect(lines).toEqual([
    ["warn", "e", { kind: "a" }],
    ["warn", "e", { kind: "b" }],
    ["warn", "e", { kind: "a", heldBack: 4 }],
  ]);
});
