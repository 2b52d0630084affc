/** What an isolate that only takes webhooks has to load: everything that `src/index.ts` imports outright, and no more. */
import { readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { expect, test } from "vitest";

const sourceRoot = resolve(import.meta.dirname, "../src");

/** Every module that is loaded with `entry`, and what each imports from packages. Types are erased and load nothing. */
function loadedWith(entry: string): Map<string, string[]> {
  const loaded = new Map<string, string[]>();
  const waiting = [entry];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (loaded.has(path)) continue;
    const code = readFileSync(join(sourceRoot, path), "utf8").replaceAll(/\/\*[\s\S]*?\*\//g, "");
    const statements = [...code.matchAll(/^(?:import|export)\s+(?!type\b)(?:[^;"]*?\sfrom\s+)?"([^"]+)"/gm)];
    const named = statements.map((match) => match[1] ?? "");
    loaded.set(
      path,
      named.filter((name) => !name.startsWith(".")),
    );
    const from = dirname(join(sourceRoot, path));
    waiting.push(
      ...named.filter((name) => name.startsWith(".")).map((name) => relative(sourceRoot, resolve(from, name))),
    );
  }
  return loaded;
}

test("[A5] the ingress path parses no schema and routes no admin call: neither is loaded before the first admin call", () => {
  const loaded = loadedWith("index.ts");
  const packages = [...loaded].flatMap(([path, names]) => names.map((name) => `${path}: ${name}`));
  expect(packages.filter((line) => /: (zod|hono)/.test(line))).toEqual([]);
  expect([...loaded.keys()]).toContain("ingress/webhook.ts");
  expect([...loaded.keys()]).not.toContain("admin/app.ts");
  expect([...loadedWith("admin/app.ts").values()].flat()).toContain("zod");
});
