import type { InputProblem } from "../core/problem.ts";
import { buildConfig } from "./build.ts";
import type { TenantConfig } from "./config.ts";
import type { ConfigContext } from "./context.ts";
import { isDeeperThan } from "./json.ts";
import { meaningProblems } from "./meaning.ts";
import { problemsOf, tidyProblems } from "./problems.ts";
import { configSchema } from "./schema.ts";
import { withoutRetiredSecrets } from "./secrets.ts";
import { configWarnings } from "./warnings.ts";

/** Deeper than any field of the schema goes; beyond it nothing is read, so that no input exhausts the stack. */
const DEPTH_MAX = 12;

export type ParsedConfig =
  | { readonly kind: "config"; readonly config: TenantConfig; readonly warnings: readonly string[] }
  /** At least one; each names its path [O2]. */
  | { readonly kind: "problems"; readonly problems: readonly InputProblem[] };

/**
 * Judges an operator's input as a whole: a configuration with every default filled in, or everything that is wrong
 * with it. Never throws for any JSON value. Secrets whose time has come are left out.
 */
export function parseConfig(input: unknown, context: ConfigContext): ParsedConfig {
  if (isDeeperThan(input, DEPTH_MAX)) {
    return { kind: "problems", problems: [{ path: "", message: `is nested deeper than ${DEPTH_MAX} levels` }] };
  }
  const current = withoutRetiredSecrets(input, context.nowMs);
  const checked = configSchema().safeParse(current, { reportInput: true });
  const problems = tidyProblems([
    ...(checked.success ? [] : problemsOf(checked.error.issues)),
    ...meaningProblems(current, context),
  ]);
  if (!checked.success || problems.length > 0) return { kind: "problems", problems };
  const config = buildConfig(checked.data, current, context.ownHosts[0] ?? null);
  return { kind: "config", config, warnings: configWarnings(config, context) };
}
