import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { StartFailure } from "./failure.ts";

/** Secrets of the demonstration: made on the first start, so that nobody has to set anything up. */
export interface Settings {
  readonly adminToken: string;
  /** 32 bytes in base64. */
  readonly configKey: string;
  /** What the origin verifies batches with. */
  readonly signingSecret: string;
  readonly bearerToken: string;
  readonly stripeSecret: string;
  readonly githubSecret: string;
  readonly shopifySecret: string;
  readonly slackSecret: string;
  readonly internalSecret: string;
}

/** Where a run keeps what it has to keep, and how to give it back. */
export interface State {
  /** The Worker's storage. */
  readonly dir: string;
  readonly settings: Settings;
  /** `keep`: leave what was stored on the disk. */
  release(keep: boolean): void;
}

const ROOT = join(import.meta.dirname, "..", ".spillway");

/** State that lasts from one `npm start` to the next; refused while another one uses it. */
export function openLasting(): State {
  mkdirSync(ROOT, { recursive: true });
  const lockPath = join(ROOT, "running.pid");
  const pid = existsSync(lockPath) ? Number(readFileSync(lockPath, "utf8")) : 0;
  if (pid > 0 && isAlive(pid)) {
    throw new StartFailure(
      `Spillway already runs here, as process ${pid}.`,
      "Stop it with Ctrl-C in its terminal, or run `npm start -- --once`, which keeps its state apart.",
    );
  }
  writeFileSync(lockPath, String(process.pid));
  return {
    dir: join(ROOT, "state"),
    settings: readOrMakeSettings(),
    release: () => rmSync(lockPath, { force: true }),
  };
}

/** State of one run only. */
export function openFresh(): State {
  const dir = join(ROOT, `once-${process.pid}`);
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(dir, { recursive: true });
  return {
    dir,
    settings: makeSettings(),
    release: (keep) => {
      if (!keep) rmSync(dir, { recursive: true, force: true });
    },
  };
}

function readOrMakeSettings(): Settings {
  const path = join(ROOT, "settings.json");
  const made = makeSettings();
  if (!existsSync(path)) {
    writeFileSync(path, `${JSON.stringify(made, null, 2)}\n`, { mode: 0o600 });
    return made;
  }
  try {
    const kept: Partial<Settings> = JSON.parse(readFileSync(path, "utf8"));
    return { ...made, ...kept };
  } catch {
    throw new StartFailure(`${path} cannot be read as JSON.`, `Delete ${ROOT} to begin anew.`);
  }
}

/** Each in the form its provider gives secrets. */
function makeSettings(): Settings {
  return {
    adminToken: randomBytes(24).toString("base64url"),
    configKey: randomBytes(32).toString("base64"),
    signingSecret: `whsec_${randomBytes(32).toString("base64")}`,
    bearerToken: randomBytes(24).toString("base64url"),
    stripeSecret: `whsec_${randomBytes(16).toString("hex")}`,
    githubSecret: randomBytes(20).toString("hex"),
    shopifySecret: randomBytes(32).toString("hex"),
    slackSecret: randomBytes(16).toString("hex"),
    internalSecret: randomBytes(24).toString("hex"),
  };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
