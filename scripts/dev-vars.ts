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
console.log(
  token === undefined
    ? "There is no ADMIN_TOKEN in .dev.vars: no admin call will be accepted. Delete the file to get a new one."
    : `For the README's lines (another port, if Wrangler says so below):\n\n` +
        `export SPILLWAY=http://localhost:8787 ADMIN_TOKEN=${token}\n`,
);
