import { expect, test } from "vitest";
import { joinedBytes } from "../../src/core/joined-bytes.ts";

test.each([
  [[], []],
  [[[1]], [1]],
  [
    [[1, 2], [], [3]],
    [1, 2, 3],
  ],
])("[I4] the chunks %j are the bytes %j", (chunks, bytes) => {
  const parts = chunks.map((chunk) => Uint8Array.from(chunk));
  expect([...joinedBytes(parts, bytes.length)]).toStrictEqual(bytes);
});
