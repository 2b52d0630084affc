/**
 * Runs before `npm start` and `npm test`, in plain JavaScript that any Node reads: says what to do where nothing would
 * work, instead of letting the first import fail.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";

const modules = join(import.meta.dirname ?? ".", "..", "node_modules");
const needed = ["wrangler", "vitest", "node", "picocolors"];
const missing = needed.filter((name) => !existsSync(join(modules, name)));

if (missing.length > 0) {
  console.error(`Spillway is not installed here (missing: ${missing.join(", ")}). Run first:\n\n    npm ci\n`);
  process.exit(1);
}

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  console.error(
    `Node ${process.versions.node} is running, and 22.18 or later is needed. The project brings its own:\n` +
      "start it through npm (`npm start`, `npm test`), which puts node_modules/.bin first in the PATH.\n",
  );
  process.exit(1);
}
