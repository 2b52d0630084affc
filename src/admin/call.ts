/** What an admin call says beside its body: versions, switches, parameters. Each fault is a Problem. */
import type { Context } from "hono";
import type { InputProblem } from "../core/problem.ts";
import { invalidInput, Problem } from "./problem.ts";

/** A change of a tenant's configuration, as the call asks for it. */
export interface Change {
  readonly tenant: string;
  /** The version the operator means to change; null: whatever there is. */
  readonly ifVersion: number | null;
  /** Also where a destination with a backlog would go. */
  readonly force: boolean;
  readonly requestUrl: string;
}

export function changeOf(c: Context, tenant: string): Change {
  const { force } = readQuery(c.req.url, ["force"]);
  return {
    tenant,
    ifVersion: ifMatchVersion(c.req.raw.headers),
    force: queryFlag("force", force),
    requestUrl: c.req.url,
  };
}

/** The version that `If-Match` names [O4]; null where the header is absent. */
function ifMatchVersion(headers: Headers): number | null {
  const text = headers.get("if-match");
  if (text === null) return null;
  const match = /^"?(\d{1,15})"?$/.exec(text.trim());
  if (match === null) {
    throw new Problem(
      400,
      "invalid-if-match",
      'If-Match must be the version the configuration was read with, such as "3".',
    );
  }
  return Number(match[1]);
}

/** The call's parameters; unknown names and repeated ones are refused, so that a typing error is never ignored. */
export function readQuery<const N extends string>(url: string, known: readonly N[]): Partial<Record<N, string>> {
  const query = new URL(url).searchParams;
  const problems: InputProblem[] = [];
  const values = new Map<string, string>();
  for (const [name, value] of query) {
    if (!known.some((each) => each === name)) problems.push({ path: name, message: unknownParameter(known) });
    else if (values.has(name)) problems.push({ path: name, message: "may be given only once" });
    else values.set(name, value);
  }
  if (problems.length > 0) throw invalidInput("query", problems);
  return Object.fromEntries(values) as Partial<Record<N, string>>;
}

function unknownParameter(known: readonly string[]): string {
  return known.length === 0
    ? "is not a parameter of this call, which takes none"
    : `is not a parameter of this call; known are ${known.join(", ")}`;
}

/** `true` or `false`, absent counts as false. */
function queryFlag(name: string, value: string | undefined): boolean {
  if (value === undefined || value === "false") return false;
  if (value === "true") return true;
  throw invalidInput("query", [{ path: name, message: "must be true or false" }]);
}

export function queryNumber(
  name: string,
  value: string | undefined,
  min: number,
  max: number,
  otherwise: number,
): number {
  if (value === undefined) return otherwise;
  const number = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN;
  if (number >= min && number <= max) return number;
  throw invalidInput("query", [{ path: name, message: `must be a whole number from ${min} to ${max}` }]);
}
