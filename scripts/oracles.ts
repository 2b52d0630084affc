/**
 * The providers' own packages, by which the verifier is judged, have a lock file of their own: neither the product nor
 * its demonstration loads them. They are installed by the test command, when they are missing or older than the lock.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { statSync } from "node:fs";
import { join } from "node:path";

const oraclesDir = join(import.meta.dirname, "../test/oracles");

/** Installs the packages where that is needed; false: they could not be installed, and npm has said why. */
export async function installOracles(): Promise<boolean> {
  // npm writes this file last.
  const installedAtMs = modifiedAtMs("node_modules/.package-lock.json");
  if (installedAtMs !== null && installedAtMs >= (modifiedAtMs("package-lock.json") ?? 0)) return true;
  console.log("Installing the providers' own packages (test/oracles); this takes a minute or two, once.");
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const child = spawn(npm, ["ci"], { cwd: oraclesDir, stdio: "inherit", shell: process.platform === "win32" });
  try {
    const [exitCode] = await once(child, "exit");
    return exitCode === 0;
  } catch (error) {
    console.error(`npm could not be started: ${String(error)}`);
    return false;
  }
}

function modifiedAtMs(name: string): number | null {
  return statSync(join(oraclesDir, name), { throwIfNoEntry: false })?.mtimeMs ?? null;
}
