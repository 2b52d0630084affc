import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { WorkerDescription } from "../../scripts/workerd/config.ts";
import { plainJavaScript } from "../../scripts/workerd/module-text.ts";
import { BENCH_SECRET } from "./load/signed-requests.ts";

export type FloorName = "bare" | "insert" | "straightforward" | "drain-loop";

/** A floor as the runtime takes it; `originUrl` for those that deliver. */
export function floor(name: FloorName, compatibilityDate: string, originUrl: string): WorkerDescription {
  const hasObject = name !== "bare";
  return {
    modules: [floorModule(name), floorModule("verify")],
    compatibilityDate,
    compatibilityFlags: [],
    vars: { SECRET: BENCH_SECRET, ORIGIN_URL: originUrl },
    objects: hasObject ? [{ binding: "TENANT", className: "Tenant" }] : [],
    namespaces: [],
  };
}

function floorModule(name: string): { readonly name: string; readonly text: string } {
  const source = readFileSync(join(import.meta.dirname, "floors", `${name}.ts`), "utf8");
  return { name: `${name}.ts`, text: plainJavaScript(source) };
}
