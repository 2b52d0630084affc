import { expect, test } from "vitest";
import { parseSettings } from "../../src/env.ts";

const KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

test("[O1] [O3] without variables everything that needs one is off, and nothing is wrong", () => {
  const settings = parseSettings({});
  expect(settings).toEqual({
    adminToken: null,
    configKeys: { current: null, previous: null },
    origin: { baseUrl: null, token: null, signingSecret: null },
    sharedOrigins: { hosts: [], maxInFlight: 32 },
    publicHosts: [],
    allowInsecureDestinations: false,
    fixedClockMs: null,
    problems: [],
  });
});

test("[O3] [V5] [V17] [V27] every variable is read", () => {
  const settings = parseSettings({
    ADMIN_TOKEN: "token",
    CONFIG_KEY: KEY,
    CONFIG_KEY_PREVIOUS: KEY,
    ORIGIN_BASE_URL: "https://api.example.com/v1/",
    ORIGIN_TOKEN: "origin",
    ORIGIN_SIGNING_SECRET: "whsec_AAECAw==",
    SHARED_ORIGIN_HOSTS: "API.example.com other.example.com",
    SHARED_ORIGIN_MAX_IN_FLIGHT: "64",
    PUBLIC_HOSTS: "Hooks.example.com, hooks.example.org:8443\nhooks.example.net",
    ALLOW_INSECURE_DESTINATIONS: "true",
    FIXED_CLOCK_MS: "1767225600000",
  });
  expect(settings.problems).toEqual([]);
  expect(settings.adminToken).toBe("token");
  expect(settings.configKeys.current).toEqual(Uint8Array.from({ length: 32 }, (_, index) => index));
  expect(settings.configKeys.previous).toHaveLength(32);
  expect(settings.origin).toEqual({
    baseUrl: "https://api.example.com/v1",
    token: "origin",
    signingSecret: "whsec_AAECAw==",
  });
  expect(settings.sharedOrigins).toEqual({ hosts: ["api.example.com", "other.example.com"], maxInFlight: 64 });
  expect(settings.publicHosts).toEqual(["hooks.example.com", "hooks.example.org", "hooks.example.net"]);
  expect(settings.allowInsecureDestinations).toBe(true);
  expect(settings.fixedClockMs).toBe(1_767_225_600_000);
});

const malformed: readonly (readonly [string, unknown])[] = [
  ["ADMIN_TOKEN", "two words"],
  ["ADMIN_TOKEN", 7],
  ["CONFIG_KEY", "short"],
  ["CONFIG_KEY", `${KEY.slice(0, -2)}==`],
  ["CONFIG_KEY_PREVIOUS", KEY.slice(1)],
  ["ORIGIN_BASE_URL", "origin.example.org"],
  ["ORIGIN_BASE_URL", "ftp://api.example.com"],
  ["ORIGIN_BASE_URL", "https://user:pass@api.example.com"],
  ["ORIGIN_BASE_URL", "https://api.example.com/?tenant=1"],
  ["ORIGIN_TOKEN", "line\nbreak"],
  ["ORIGIN_SIGNING_SECRET", "whsec_not base64"],
  ["PUBLIC_HOSTS", "https://hooks.example.com/"],
  ["SHARED_ORIGIN_HOSTS", "https://api.example.com/"],
  ["SHARED_ORIGIN_MAX_IN_FLIGHT", "0"],
  ["SHARED_ORIGIN_MAX_IN_FLIGHT", "many"],
  ["ALLOW_INSECURE_DESTINATIONS", "yes"],
  ["FIXED_CLOCK_MS", "1767225600000"],
];

test.each(malformed)("[O2] %s = %j is named, its value is not, and it counts as absent", (setting, value) => {
  const settings = parseSettings({ [setting]: value });
  expect(settings.problems.map((problem) => problem.setting)).toEqual([setting]);
  if (typeof value === "string" && value.length > 2) expect(JSON.stringify(settings.problems)).not.toContain(value);
  expect({ ...settings, problems: [] }).toEqual(parseSettings({}));
});

test("[I10] FIXED_CLOCK_MS counts only together with ALLOW_INSECURE_DESTINATIONS, and only as digits", () => {
  const settings = parseSettings({ FIXED_CLOCK_MS: "tomorrow", ALLOW_INSECURE_DESTINATIONS: "true" });
  expect(settings.fixedClockMs).toBeNull();
  expect(settings.problems).toHaveLength(1);
});
