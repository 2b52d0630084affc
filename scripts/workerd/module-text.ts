import { stripTypeScriptTypes } from "node:module";

/** A TypeScript module with erasable syntax only, as the JavaScript that a runtime without a bundler takes. */
export function plainJavaScript(source: string): string {
  // Node says once per process that this function is experimental; the output of a run should not begin with that.
  const emitWarning = process.emitWarning;
  process.emitWarning = () => {};
  try {
    return stripTypeScriptTypes(source, { mode: "strip" });
  } finally {
    process.emitWarning = emitWarning;
  }
}
