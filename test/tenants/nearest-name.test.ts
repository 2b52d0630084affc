import { expect, test } from "vitest";
import { nearestName } from "../../src/tenants/nearest-name.ts";

const known = ["generic", "github", "gitlab", "shopify", "shopify-events", "slack", "x", "google-pubsub"];

test.each([
  ["shopfy", "shopify"],
  ["Shopify", "shopify"],
  ["shopify_event", "shopify-events"],
  ["githbu", "github"],
  ["google", "google-pubsub"],
  ["slack-events", "slack"],
  ["gitla", "gitlab"],
  // Nothing is suggested where any suggestion would be a guess.
  ["acme", null],
  ["y", null],
  ["", null],
  [" ", null],
  ["s".repeat(100_000), null],
])("[O2] the provider called %s may have been meant to be %s", (typed, meant) => {
  expect(nearestName(typed, known)).toBe(meant);
});
