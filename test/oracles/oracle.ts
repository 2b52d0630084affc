import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Plain, SignedRequest, Signer } from "../providers/signers/signer.ts";

/** The clock of these tests. */
export const NOW_SECONDS = 1_795_910_400;

/** A request as a provider's package sees it. Names of headers are in lower case. */
export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** The body as most packages want it. */
  readonly text: string;
  /** What the operator configures beside the secret. */
  readonly params: Readonly<Record<string, string>>;
}

/** What may be done to a genuine request, or be odd about it. */
export type CaseName =
  | "as it was sent"
  | "a byte of the body changed"
  | "signed with another secret"
  | "the signature cut short"
  | "the signature header removed"
  | "too old"
  | "from the future"
  | "an empty body"
  | "bytes that are not UTF-8"
  | "a line end after the body";

/** A provider's own code, which says whether a request is genuine and, where it can, signs it. */
export interface Oracle {
  /** The row it is held against. */
  readonly provider: string;
  /** The package the code comes from. */
  readonly package: string;
  /** Where the package signs. Without it the written-out formula of the provider tests signs. */
  readonly sign?: (secret: string, request: Plain) => SignedRequest;
  /** Where the written-out formula is not what is wanted: other keys, other bodies. */
  readonly signer?: Partial<Signer>;
  /** Headers that the package wants to see beside the signature. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The package's own verdict; an exception is a no. */
  readonly accepts: (request: Received, secret: string) => boolean | Promise<boolean>;
  /** The package's own limit, where it is not the row's. */
  readonly toleranceSeconds?: number;
  /** Where the package says the opposite of this product, and why. */
  readonly differs?: Readonly<Partial<Record<CaseName, string>>>;
}

/** The package takes the body as text: bytes that are none are changed before it looks at them. */
export const READS_TEXT = { "bytes that are not UTF-8": "the package takes the body as text" } as const;
/** The package also parses the body before it says that the request is genuine. */
export const READS_JSON = {
  ...READS_TEXT,
  "an empty body": "the package parses the body as JSON",
} as const;
/** It verifies what it would have written itself, not what came. */
export const REWRITES_JSON = {
  "a line end after the body": "the package writes the parsed body anew before it verifies",
} as const;
export const NO_EMPTY_BODY = { "an empty body": "the package takes an empty body for a missing one" } as const;
/** This product limits times in both directions [I10]. */
export const TAKES_THE_FUTURE = { "from the future": "the package looks at the age alone" } as const;
export const TAKES_ANY_TIME = {
  "too old": "the package leaves the time to its caller",
  "from the future": "the package leaves the time to its caller",
} as const;

const load = createRequire(import.meta.url);
/** Some packages are the product's own development dependencies: these are not installed twice. */
const FOLDERS = [join(import.meta.dirname, "node_modules"), join(import.meta.dirname, "../../node_modules")];

/** A provider's package; each adapter names only what it uses of it, so that types do not need it installed. */
export function sdk<Shape>(name: string): Shape {
  return load(name) as Shape;
}

/** A package that can only be imported is loaded by its file. */
export function sdkFile<Shape>(path: string): Shape {
  const folder = FOLDERS.find((one) => existsSync(join(one, path)));
  if (folder === undefined) throw new Error(`${path} is not installed`);
  return load(join(folder, path)) as Shape;
}

/** A package that remembers what it once fetched is loaded anew. */
export function freshSdk<Shape>(name: string): Shape {
  delete load.cache[load.resolve(name)];
  return load(name) as Shape;
}

/** The version that is installed, for the record of a vector. */
export function versionOf(name: string): string {
  const folder = FOLDERS.find((one) => existsSync(join(one, name)));
  if (folder === undefined) throw new Error(`${name} is not installed`);
  return (JSON.parse(readFileSync(join(folder, name, "package.json"), "utf8")) as { version: string }).version;
}

/** Whether a function that throws at what it does not like was content. */
export function isContent(check: () => unknown): boolean {
  try {
    check();
    return true;
  } catch {
    return false;
  }
}
