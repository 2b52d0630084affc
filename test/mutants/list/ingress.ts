import { inFile, type Mutant } from "../mutant.ts";

const answers = inFile("src/ingress/answers.ts");
const bodyBudget = inFile("src/ingress/body-budget.ts");
const callObject = inFile("src/ingress/call-object.ts");
const digests = inFile("src/ingress/digests.ts");
const hops = inFile("src/ingress/hops.ts");
const newest = inFile("src/ingress/newest.ts");
const prepared = inFile("src/ingress/prepared.ts");
const readBody = inFile("src/ingress/read-body.ts");
const route = inFile("src/ingress/route.ts");
const webhook = inFile("src/ingress/webhook.ts");
const callFailure = inFile("src/core/call-failure.ts");

/** The public side, up to the call of the tenant's object. */
export const INGRESS_MUTANTS: readonly Mutant[] = [
  route("I1", "if (url.charCodeAt(end - 1) === SLASH) end -= 1;", ""),
  prepared("I1", "const CANDIDATE_COUNT_MAX = 4;", "const CANDIDATE_COUNT_MAX = 5;"),
  prepared("I9", "secret.retiresAtMs > nowMs", "secret.retiresAtMs > 0"),
  bodyBudget("I4", "const LARGE_COUNT_MAX = 2;", "const LARGE_COUNT_MAX = 3;"),
  bodyBudget("I4", "const HELD_BYTES_MAX = 64_000_000;", "const HELD_BYTES_MAX = 640_000_000;"),
  readBody("I4", "if (needed > sizeBytesMax) {", "if (needed > 2 * sizeBytesMax) {"),
  webhook("I5", "if (!config.active) return", "if (config.active === null) return"),
  webhook("I7", "response: sourceUnusable(), version, note", "response: unauthorized(), version, note"),
  answers("I11", "Math.max(1, Math.ceil(retryAfterSeconds))", "Math.floor(retryAfterSeconds)"),
  callObject("I13", "if (tries === 2 ||", "if (tries === 3 ||"),
  callFailure("I13", 'if (overloaded || OVERLOAD_TEXT.test(message)) return "overloaded";', ""),
  hops("V17", "export const HOPS_MAX = 3;", "export const HOPS_MAX = 4;"),
  digests("D7", 'const isSuffixed = trust === "unsigned";', "const isSuffixed = false;"),
  newest("O4", "const ASK_EVERY_MS = 5_000;", "const ASK_EVERY_MS = 0;"),
];
