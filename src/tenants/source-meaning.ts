/** What a source's input means to its provider: secrets in the provider's own form, and what its scheme needs. */
import type { InputProblem } from "../core/problem.ts";
import { providerNames, providerRow } from "../providers/catalogue.ts";
import { pointerTokens } from "../providers/refs.ts";
import type { ProviderRow } from "../providers/row.ts";
import { parseCustomRow } from "../providers/schema/row.ts";
import { checkParams, checkSecret, secretIsHandedOver, secretIsNeeded } from "../providers/secret.ts";
import type { ConfigContext } from "./context.ts";
import { WINDOW_MS } from "./handshake-window.ts";
import { isJsonObject, itemsOf, memberAt } from "./json.ts";
import { nearestName } from "./nearest-name.ts";
import { pathText } from "./problems.ts";

/** Every problem of one source; `path` leads to it. */
export function sourceProblems(source: unknown, path: readonly string[], context: ConfigContext): InputProblem[] {
  if (!isJsonObject(source)) return [];
  const problems: InputProblem[] = [];
  const add = (at: readonly string[], message: string) => problems.push({ path: pathText([...path, ...at]), message });

  const pointer = memberAt(source, "eventId", "pointer");
  if (typeof pointer === "string" && (pointer === "" || pointerTokens(pointer) === null)) {
    add(["eventId", "pointer"], "must be a JSON pointer such as /data/id");
  }
  const publicUrl = memberAt(source, "publicUrl");
  if (typeof publicUrl === "string" && !isHttpUrl(publicUrl, context)) {
    add(["publicUrl"], "must be the https URL as it is registered with the provider");
  }
  const provider = memberAt(source, "provider");
  const custom = memberAt(source, "custom");
  if (custom !== undefined && custom !== null && provider !== "custom") {
    add(["custom"], 'only goes with "provider": "custom"');
  }
  if (typeof provider !== "string" || provider === "") return problems;
  const row = provider === "custom" ? customRow(custom, path, problems) : providerRow(provider);
  if (row === undefined) {
    if (provider !== "custom") add(["provider"], unknownProvider(provider));
    return problems;
  }
  problems.push(...secretProblems(source, path, row));
  problems.push(...windowProblems(source, path, row, context));
  const params = textMembers(memberAt(source, "params"));
  const hasSecret = itemsOf(memberAt(source, "secrets")).length > 0;
  for (const { name, problem } of checkParams(row, params, hasSecret)) add(["params", name], problem);
  if (needsPublicUrl(row) && (publicUrl === undefined || publicUrl === null)) {
    add(["publicUrl"], `is needed: ${row.title} signs the URL as it is registered there`);
  }
  return problems;
}

/** There are far too many to name them all. */
function unknownProvider(typed: string): string {
  const nearest = nearestName(typed, [...providerNames(), "custom"]);
  const meant = nearest === null ? "" : `; did you mean ${nearest}?`;
  return `is not a known provider${meant || ":"} docs/PROVIDERS.md lists them, and "custom" describes any other sender`;
}

/** An operator's own row, by the schema of the table [P2]; undefined where it is wrong, with each problem named. */
function customRow(custom: unknown, path: readonly string[], problems: InputProblem[]): ProviderRow | undefined {
  const at = [...path, "custom"];
  if (custom === undefined || custom === null) {
    const message = 'is required with "provider": "custom": how your sender signs, in the fields of the provider table';
    problems.push({ path: pathText(at), message });
    return undefined;
  }
  const parsed = parseCustomRow(custom);
  if (parsed.ok) return parsed.row;
  for (const problem of parsed.problems) {
    const names = problem.path === "" ? [] : problem.path.split(".");
    problems.push({ path: pathText([...at, ...names]), message: problem.message });
  }
  return undefined;
}

function secretProblems(source: unknown, path: readonly string[], row: ProviderRow): InputProblem[] {
  const problems: InputProblem[] = [];
  const secrets = itemsOf(memberAt(source, "secrets"));
  if (secrets.length === 0 && secretIsNeeded(row) && !secretIsHandedOver(row)) {
    problems.push({
      path: pathText([...path, "secrets"]),
      message: `must have 1 to 8 secrets: without one nothing can be verified. Wanted: ${row.setup.secret}`,
    });
  }
  secrets.forEach((item, index) => {
    const value = typeof item === "string" ? item : memberAt(item, "value");
    if (typeof value !== "string" || value === "") return;
    const at = [...path, "secrets", String(index)];
    const checked = checkSecret(row, value);
    if (!checked.ok) {
      problems.push({
        path: pathText(at),
        message: `${checked.detail ?? checked.reason}. Wanted: ${row.setup.secret}`,
      });
    }
    if (value === memberAt(source, "verifyToken")) {
      problems.push({
        path: pathText([...path, "verifyToken"]),
        message: "must be another text than the secrets: whoever registers a hook gets to see it",
      });
    }
  });
  return problems;
}

/** A window in which a stranger may set the secret is opened by expect-handshake, and is short [I7]. */
function windowProblems(
  source: unknown,
  path: readonly string[],
  row: ProviderRow,
  context: ConfigContext,
): InputProblem[] {
  const until = memberAt(source, "handshakeUntil");
  const untilMs = typeof until === "string" ? Date.parse(until) : Number.NaN;
  if (Number.isNaN(untilMs)) return [];
  const at = pathText([...path, "handshakeUntil"]);
  if (!secretIsHandedOver(row)) return [{ path: at, message: `only goes with a provider that hands over its secret` }];
  const isLong = untilMs > context.nowMs + WINDOW_MS;
  return isLong ? [{ path: at, message: "must be at most 15 minutes ahead: use expect-handshake" }] : [];
}

function needsPublicUrl(row: ProviderRow): boolean {
  return "signed" in row.scheme && /\{(url|url-decoded|path)\}/.test(row.scheme.signed);
}

function textMembers(value: unknown): Record<string, string> {
  const texts = Object.entries(isJsonObject(value) ? value : {}).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
  return Object.fromEntries(texts);
}

function isHttpUrl(text: string, context: ConfigContext): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username } = new URL(text);
  return username === "" && (protocol === "https:" || (protocol === "http:" && context.allowInsecureDestinations));
}
