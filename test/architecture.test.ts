/** The house rules that a machine can check: who may import whom, who may touch what, and that every rule has a test. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { expect, test } from "vitest";
import { notBuilt } from "./not-built.ts";

const root = resolve(import.meta.dirname, "..");
const sourceRoot = join(root, "src");

/** Folder → folders it may import from; `buffer/contract` and `admin/contract` are files of their own right. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  core: [],
  providers: ["core"],
  tenants: ["core", "providers"],
  log: ["core"],
  sinks: ["core"],
  alerts: ["core", "sinks/signing", "sinks/version"],
  observe: ["core"],
  gate: ["core", "env"],
  buffer: ["core", "log", "sinks", "alerts", "observe", "tenants", "gate/contract", "env"],
  sweep: ["core", "tenants", "observe", "buffer/contract", "env"],
  ingress: ["core", "providers", "tenants", "observe", "buffer/contract", "env"],
  admin: ["core", "providers", "tenants", "observe", "buffer/contract", "sweep/summaries", "sweep/sweep-kv", "env"],
  dashboard: ["core", "admin/contract"],
  cli: ["core", "admin/contract"],
  objects: ["core", "tenants", "buffer/contract", "buffer/namespace"],
  consumer: ["core", "sinks", "tenants", "buffer/contract", "env"],
  env: [],
};

/** What only certain files may touch; a pattern, and where it is at home. */
const onlyIn: readonly { readonly what: string; readonly pattern: RegExp; readonly files: RegExp }[] = [
  {
    what: "SQL",
    pattern: /\b(SELECT|INSERT INTO|UPDATE \w+ SET|DELETE FROM|CREATE TABLE|DROP TABLE)\b/,
    files: /^log\//,
  },
  {
    what: "the clock",
    pattern: /\bDate\.now\(|new Date\(\)/,
    files: /^(buffer|gate\/origin-gate|ingress|admin|index|env|providers\/fetch|tenants\/cache)/,
  },
  { what: "randomness", pattern: /\bMath\.random\b/, files: /^(buffer\/tenan|ingress|index)/ },
  { what: "the alarm", pattern: /\.(setAlarm|deleteAlarm)\(/, files: /^buffer\/wake\.ts$/ },
  { what: "the environment", pattern: /\bprocess\.env\b/, files: /^(env|cli)/ },
];

/** Files of a folder that may use `crypto.subtle`: one where it verifies, one where it signs, one where it seals. */
const cryptoFilesMax: Readonly<Record<string, number>> = {
  providers: 1,
  sinks: 1,
  tenants: 1,
  ingress: 1,
  admin: 1,
  alerts: 1,
  buffer: 1,
};

interface SourceFile {
  readonly path: string;
  readonly folder: string;
  readonly text: string;
  /** The text without comments. */
  readonly code: string;
  readonly imports: readonly string[];
}

function sourceFiles(): SourceFile[] {
  return readdirSync(sourceRoot, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => {
      const text = readFileSync(join(sourceRoot, name), "utf8");
      const code = text.replaceAll(/\/\*[\s\S]*?\*\//g, "").replaceAll(/^\s*\/\/.*$/gm, "");
      const folder = name.includes("/") ? name.slice(0, name.indexOf("/")) : name.replace(/\.ts$/, "");
      const imports = [...code.matchAll(/(?:from|import)\s+"(\.[^"]+)"/g)].map((match) =>
        relative(sourceRoot, resolve(sourceRoot, dirname(name), match[1] ?? "")),
      );
      return { path: name, folder, text, code, imports };
    });
}

const files = sourceFiles();

test("[A1] imports go one way, as the table says", () => {
  const wrong: string[] = [];
  for (const file of files) {
    if (file.folder === "index") continue;
    const allowed = mayImport[file.folder];
    if (allowed === undefined) {
      wrong.push(`${file.path}: folder ${file.folder} is not in the table`);
      continue;
    }
    for (const target of file.imports) {
      const targetFolder = target.includes("/") ? target.slice(0, target.indexOf("/")) : target.replace(/\.ts$/, "");
      const isAllowed =
        targetFolder === file.folder ||
        allowed.includes(targetFolder) ||
        allowed.includes(target.replace(/\.tsx?$/, ""));
      if (!isAllowed) wrong.push(`${file.path} imports ${target}`);
    }
  }
  expect(wrong).toEqual([]);
});

test("[A1] docs/ARCHITECTURE.md shows the same table", () => {
  const page = readFileSync(join(root, "docs/ARCHITECTURE.md"), "utf8");
  const rows = [...page.matchAll(/^\| (`[a-z]+`(?:, `[a-z]+`)*) \| [^|]+ \| ([^|]+) \|$/gm)];
  const shown = rows.flatMap(([, folders = "", imports = ""]) => {
    const names = imports.trim() === "–" ? [] : imports.split(",").map((name) => name.trim().replaceAll("`", ""));
    return [...folders.matchAll(/`([a-z]+)`/g)].map(([, folder = ""]) => [folder, names] as const);
  });
  const isBuilt = (folder: string) => files.some((file) => file.folder === folder && file.path !== `${folder}.ts`);
  const built = Object.entries(mayImport).filter(([folder]) => isBuilt(folder));
  expect(Object.fromEntries(shown)).toEqual(Object.fromEntries(built));
});

test.each(onlyIn)("[A2] $what is touched only where it is at home", ({ pattern, files: home }) => {
  const wrong = files.filter((file) => !home.test(file.path) && pattern.test(file.code)).map((file) => file.path);
  expect(wrong).toEqual([]);
});

test("[A2] [I8] (by construction) crypto.subtle is used in one file of a folder, and secrets are compared nowhere else", () => {
  const users = files.filter((file) => /\bcrypto\.subtle\b|\btimingSafeEqual\b/.test(file.code));
  const wrong: string[] = [];
  for (const folder of new Set(users.map((file) => file.folder))) {
    const inFolder = users.filter((file) => file.folder === folder).map((file) => file.path);
    if (inFolder.length > (cryptoFilesMax[folder] ?? 0)) wrong.push(`${folder}: ${inFolder.join(", ")}`);
  }
  expect(wrong).toEqual([]);
});

test("[A3] a file is one idea: at most 300 lines, and no folder of odds and ends", () => {
  const long = files.filter((file) => file.text.split("\n").length > 301).map((file) => file.path);
  const vague = files.filter((file) => /(^|\/)(utils?|helpers?|common|types|misc)(\/|\.ts$)/.test(file.path));
  expect(long).toEqual([]);
  expect(vague.map((file) => file.path)).toEqual([]);
});

test("[A5] what a file exports is imported somewhere", () => {
  const imported = new Set(
    ["src", "start", "scripts", "test"].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
        .filter((name) => /\.tsx?$/.test(name))
        .flatMap((name) => namesImportedBy(join(root, folder, name))),
    ),
  );
  const unused = files
    .filter((file) => file.path !== "index.ts")
    .flatMap((file) => exportedNames(file.code).map((name) => `${file.path} exports ${name}`))
    .filter((each) => !imported.has(each));
  expect(unused).toEqual([]);
});

/** Declarations; a list of re-exported names is an import of each. */
function exportedNames(code: string): string[] {
  const declarations = /^export (?:async |abstract )*(?:const|function\*?|class|interface|type) (\w+)/gm;
  return [...code.matchAll(declarations)].map((match) => match[1] ?? "");
}

/** As `<path> exports <name>`, for each name that the file imports from the sources, or exports again. */
function namesImportedBy(path: string): string[] {
  const text = readFileSync(path, "utf8");
  const atOnce = text.matchAll(/(?:import|export)\s+(?:type\s+)?\{(?<names>[^}]*)\}\s*from\s+"(?<from>\.[^"]+)"/g);
  const whole = text.matchAll(/export type \* from "(?<from>\.[^"]+)"/g);
  const later = text.matchAll(/import\("(?<from>\.[^"]+)"\)\.then\(\(\{(?<names>[^}]*)\}/g);
  const targetOf = (from: string): string => relative(sourceRoot, resolve(dirname(path), from));
  const listed = [...atOnce, ...later].flatMap(({ groups: { names = "", from = "" } = {} }) =>
    names.split(",").map((name) => `${targetOf(from)} exports ${name.trim().replace(/^type | as .*/gs, "")}`),
  );
  const handedOn = [...whole].flatMap(({ groups: { from = "" } = {} }) => {
    const file = files.find((each) => each.path === targetOf(from));
    return exportedNames(file?.code ?? "").map((name) => `${targetOf(from)} exports ${name}`);
  });
  return [...listed, ...handedOn];
}

test("[A4] every rule of docs/SPEC.md has a test that carries its id, or is listed as not built", () => {
  const spec = readFileSync(join(root, "docs/SPEC.md"), "utf8");
  const rules = new Set([...spec.matchAll(/^- \[([A-Z]\d+)\]/gm)].map((match) => match[1] ?? ""));
  const tests = readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => readFileSync(join(root, "test", name), "utf8"))
    .join("\n");
  const named = new Set([...tests.matchAll(/\[([A-Z]\d+)\]/g)].map((match) => match[1] ?? ""));
  expect([...rules].filter((rule) => !named.has(rule) && !(rule in notBuilt))).toEqual([]);
  expect(Object.keys(notBuilt).filter((rule) => named.has(rule))).toEqual([]);
});
