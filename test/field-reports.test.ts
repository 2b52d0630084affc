import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "..");
const REPORTS = 81;

/** Row n of docs/FIELD-REPORTS.md: the test files it names. */
function tableRows(): Map<number, string[]> {
  const text = readFileSync(join(root, "docs/FIELD-REPORTS.md"), "utf8");
  const rows = [...text.matchAll(/^\| (\d+) \|[^|]+\|([^|]+)\|[^|]*\|$/gm)];
  return new Map(
    rows.map(([, number, files]) => [
      Number(number),
      [...(files ?? "").matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? ""),
    ]),
  );
}

/** Which reports the tests of a file name. */
function named(path: string): Set<number> {
  const text = readFileSync(join(root, "test", path), "utf8");
  return new Set([...text.matchAll(/\[FR (\d+)\]/g)].map((match) => Number(match[1])));
}

const files = readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" }).filter(
  (name) => name.endsWith(".test.ts") && !name.includes("node_modules") && name !== "field-reports.test.ts",
);

test("every field report is played by a test that names it, and docs/FIELD-REPORTS.md says by which", () => {
  const rows = tableRows();
  const byReport = new Map<number, string[]>();
  for (const file of files)
    for (const number of named(file)) byReport.set(number, [...(byReport.get(number) ?? []), file]);
  const all = Array.from({ length: REPORTS }, (_, index) => index + 1);
  expect([...byReport.keys()].sort((a, b) => a - b)).toEqual(all);
  expect([...rows.keys()]).toEqual(all);
  for (const [number, listed] of rows) {
    expect(listed.length, `no. ${number}`).toBeGreaterThan(0);
    expect(byReport.get(number) ?? [], `no. ${number}`).toEqual(expect.arrayContaining(listed));
  }
});
