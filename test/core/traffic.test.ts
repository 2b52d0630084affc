import { expect, test } from "vitest";
import { Traffic } from "../../src/core/traffic.ts";

test("[O9] requests and rejections are counted over the last five minutes, to half a minute", () => {
  const traffic = new Traffic();
  traffic.note(10, 10, 0);
  traffic.note(5, 0, 30_000);
  traffic.note(5, 5, 299_999);
  expect(traffic.sum(299_999)).toEqual({ requests: 20, rejected: 15 });
  expect(traffic.sum(300_000)).toEqual({ requests: 10, rejected: 5 });
  expect(traffic.sum(330_000)).toEqual({ requests: 5, rejected: 5 });
  expect(traffic.sum(600_000)).toEqual({ requests: 0, rejected: 0 });
});

test("[O9] a clock that goes back forgets, and counts anew", () => {
  const traffic = new Traffic();
  traffic.note(10, 10, 1_000_000);
  traffic.note(1, 0, 0);
  expect(traffic.sum(0)).toEqual({ requests: 1, rejected: 0 });
});
