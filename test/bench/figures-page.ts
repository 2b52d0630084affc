import { readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";

const BEGIN = "<!-- figures: begin -->";
const END = "<!-- figures: end -->";

/** Puts a report where a page of the documentation has room for it. Throws where the page has none. */
export function writeFigures(path: string, report: string): void {
  const page = readFileSync(path, "utf8");
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`${path} has no place for figures: ${BEGIN} … ${END}`);
  const date = new Date().toISOString().slice(0, 10);
  const machine = `${cpus().length} cores (${cpus()[0]?.model.trim() ?? "unknown"})`;
  const block = `Measured on ${date}, ${machine}, client and origin on the same machine.\n\n\`\`\`text\n${report}\n\`\`\`\n`;
  writeFileSync(path, `${page.slice(0, begin)}${BEGIN}\n\n${block}\n${page.slice(end)}`);
}
