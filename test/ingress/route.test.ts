import { expect, test } from "vitest";
import { isWebhookUrl, parseRoute } from "../../src/ingress/route.ts";

const good: readonly (readonly [string, string, string | null])[] = [
  ["https://h/webhook/acme", "acme", null],
  ["https://h/webhook/acme/", "acme", null],
  ["https://h:8787/webhook/acme/stripe", "acme", "stripe"],
  ["https://h/webhook/acme/stripe/", "acme", "stripe"],
  ["http://h/webhook/A-b_9?token=x/y/../z", "A-b_9", null],
  ["http://h/webhook/acme/s?x=/webhook/", "acme", "s"],
  [`http://h/webhook/${"x".repeat(64)}`, "x".repeat(64), null],
  ["http://h/webhook/hasOwnProperty", "hasOwnProperty", null],
];

test.each(good)("[I1] %s", (url, tenant, source) => {
  expect(isWebhookUrl(url)).toBe(true);
  expect(parseRoute(url)).toEqual({ tenant, source });
});

const bad = [
  "https://h/webhook/",
  "https://h/webhook//",
  "https://h/webhook//stripe",
  "https://h/webhook/acme//",
  "https://h/webhook/acme/stripe//",
  "https://h/webhook/acme/stripe/more",
  "https://h/webhook/acme/stripe/more/",
  "https://h/webhook/ac%6De",
  "https://h/webhook/%",
  "https://h/webhook/%ff%fe",
  "https://h/webhook/acme/%zz",
  "https://h/webhook/ac.me",
  "https://h/webhook/ac me",
  "https://h/webhook/acmé",
  `https://h/webhook/${"x".repeat(65)}`,
  "https://h/webhook/__proto__",
  "https://h/webhook/constructor",
  "https://h/webhook/prototype",
  "https://h/webhook/acme/__proto__",
  "https://h/webhook/acme/constructor",
  "https://h/webhook/?x=/acme",
];

test.each(bad)("[I1] %s is no webhook of anybody", (url) => {
  expect(parseRoute(url)).toBeNull();
});

test("[I1] only paths that begin with /webhook/ are taken for webhooks", () => {
  for (const url of ["https://h/", "https://h", "https://h/webhook", "https://webhook/x", "https://h/x?/webhook/a"]) {
    expect(isWebhookUrl(url)).toBe(false);
  }
});
