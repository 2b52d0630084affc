import { expect, test } from "vitest";
import { maskConfig } from "../../src/tenants/mask.ts";
import { parseConfig } from "../../src/tenants/parse.ts";
import { context, minimal, SIGNING_SECRET, withValue } from "./sample.ts";

const keys = { current: new Uint8Array(32).fill(1), previous: null };

test("[O3] a masked configuration holds no secret, in no form, and shows everything else with its defaults", async () => {
  const input = withValue(withValue(minimal, "sources.internal.verifyToken", "verify-0123456789"), "destinations.api", {
    url: "https://api.example.org/hooks",
    bearerToken: "bearer-0123456789",
    signingSecrets: [SIGNING_SECRET],
  });
  const parsed = parseConfig(input, context);
  if (parsed.kind !== "config") throw new Error(JSON.stringify(parsed));
  const masked = await maskConfig(parsed.config, "acme", keys, context.origin);
  const text = JSON.stringify(masked);
  for (const secret of ["0123456789abcdef", "verify-", "bearer-", SIGNING_SECRET.slice(6)]) {
    expect(text).not.toContain(secret);
  }
  expect(masked).toMatchObject({
    active: true,
    dedupeWindowSeconds: 345_600,
    sources: {
      internal: {
        provider: "generic",
        secrets: [{ fingerprint: expect.stringMatching(/^[0-9a-f]{12}$/), retiresAt: null }],
        verifyToken: { fingerprint: expect.any(String) },
      },
    },
    destinations: {
      api: {
        url: "https://api.example.org/hooks",
        bearerToken: { fingerprint: expect.any(String) },
        signingSecrets: [{ fingerprint: expect.any(String) }],
        batch: { maxEvents: 50 },
      },
    },
  });
});

test("[V5] [O3] the default destination is shown with the operator's URL, its token and secret masked", async () => {
  const parsed = parseConfig(minimal, context);
  if (parsed.kind !== "config") throw new Error(JSON.stringify(parsed));
  const masked = await maskConfig(parsed.config, "acme", keys, context.origin);
  expect(masked).toMatchObject({
    destinations: {
      origin: {
        url: "https://api.example.net/internal/webhooks/batch",
        bearerToken: { fingerprint: expect.any(String) },
        signingSecrets: [{ fingerprint: expect.any(String) }],
      },
    },
  });
  expect(JSON.stringify(masked)).not.toContain("origin-token");
});
