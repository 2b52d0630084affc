/** Before `npm run dev`: secrets for local runs in `.dev.vars`, made once and kept, so that nothing has to be set up. */
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const path = join(import.meta.dirname, "..", ".dev.vars");

if (!existsSync(path)) {
  const lines = [
    "# For local runs only; delete the file to get new ones. Nothing in here is deployed.",
    `ADMIN_TOKEN=${randomBytes(24).toString("hex")}`,
    `CONFIG_KEY=${randomBytes(32).toString("base64")}`,
    "ALLOW_INSECURE_DESTINATIONS=true",
  ];
  writeFileSync(path, `${lines.join("\n")}\n`, { mode: 0o600 });
}

const token = /^ADMIN_TOKEN=(.+)$/m.exec(readFileSync(path, "utf8"))?.[1];
console.log(`Admin token of this local Spillway (from .dev.vars): ${token ?? "none: no admin call will be accepted"}`);
