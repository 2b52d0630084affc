import type { ConfigContext } from "../../src/tenants/context.ts";

/** A fixed time for tests that judge configurations: 2026-11-29T12:00:00Z. */
export const NOW_MS = Date.UTC(2026, 10, 29, 12);

export const SIGNING_SECRET = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";

/** A Worker in production, with a default destination. */
export const context: ConfigContext = {
  allowInsecureDestinations: false,
  ownHosts: ["hooks.example.com"],
  origin: { baseUrl: "https://api.example.net", token: "origin-token", signingSecret: SIGNING_SECRET },
  nowMs: NOW_MS,
};

/** The least a tenant needs: one source. */
export const minimal = {
  sources: { internal: { provider: "generic", secrets: ["0123456789abcdef0123456789abcdef"] } },
};

/** A copy of `base` with the value at `path` (dots between names) replaced, objects on the way made where missing. */
export function withValue(base: unknown, path: string, value: unknown): unknown {
  const copy = structuredClone(base) as Record<string, unknown>;
  const names = path.split(".");
  let at = copy;
  for (const name of names.slice(0, -1)) {
    at[name] ??= {};
    at = at[name] as Record<string, unknown>;
  }
  const last = names.at(-1) ?? "";
  if (value === undefined) delete at[last];
  else at[last] = value;
  return copy;
}

/** `minimal` with one destination of its own. */
export const withDestination = withValue(minimal, "destinations.api", {
  url: "https://api.example.org/hooks",
  signingSecrets: [SIGNING_SECRET],
});
