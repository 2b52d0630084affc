import { inFile, type Mutant } from "../mutant.ts";

const adminAuth = inFile("src/admin/auth.ts");
const adminCall = inFile("src/admin/call.ts");
const cache = inFile("src/tenants/cache.ts");
const sealing = inFile("src/tenants/sealing.ts");

/** Configurations, their secrets, and who may change them. */
export const CONFIGURATION_MUTANTS: readonly Mutant[] = [
  sealing("O3", "[keys.current, keys.previous].filter", "[keys.current].filter"),
  cache("C4", "const FRESH_MS = 30_000;", "const FRESH_MS = 10_000;"),
  cache("C4", "const KNOWN_COUNT_MAX = 800;", "const KNOWN_COUNT_MAX = 2_000;"),
  adminAuth(
    "O1",
    "if (adminToken === null || match?.[1] === undefined) return false;",
    "if (adminToken === null || match?.[1] === undefined) return adminToken === null;",
  ),
  adminCall("O2", "if (!known.some((each) => each === name))", "if (known.length > 99)"),
];
