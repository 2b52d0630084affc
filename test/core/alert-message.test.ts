import { expect, test } from "vitest";
import {
  type AlertMessage,
  afterCleared,
  afterRaised,
  afterTry,
  afterTryBegan,
  type Telling,
  type TryResult,
  UNTOLD,
} from "../../src/core/alert-message.ts";

const HOUR_MS = 3_600_000;
const TAKEN: TryResult = { took: ["webhook"], failed: new Map() };
const REFUSED: TryResult = { took: [], failed: new Map([["webhook", "answered 500"]]) };
const UP = { kind: "breaker-open", clearedAtMs: null };

/** A try at `atMs` that ends so. */
function tried(
  telling: Telling,
  atMs: number,
  result: TryResult,
  alert = UP as { kind: string; clearedAtMs: number | null },
): Telling {
  const began = afterTryBegan(telling, atMs);
  return afterTry(began, began.message as AlertMessage, result, alert, atMs);
}

test("[O9] an alert is told once when it is raised and once when it is cleared", () => {
  const raised = afterRaised(UNTOLD, 1_000);
  expect(raised.message).toMatchObject({ what: "raised", nextTryAtMs: 1_000 });
  const told = tried(raised, 1_000, TAKEN);
  expect(told).toEqual({ toldAtMs: 1_000, message: null });
  const cleared = afterCleared(told, "breaker-open", 1_000, 5_000);
  expect(cleared.message).toMatchObject({ what: "cleared", nextTryAtMs: 5_000 });
  expect(tried(cleared, 5_000, TAKEN)).toEqual({ toldAtMs: 1_000, message: null });
});

test("[O9] the same alert raised again is told an hour after the last time at the earliest; in between nothing is told", () => {
  const told = tried(afterRaised(UNTOLD, 0), 0, TAKEN);
  const again = afterRaised(told, 60_000);
  expect(again.message?.nextTryAtMs).toBe(HOUR_MS);
  // It ends before that: who was not told that it was up again does not hear that it is over.
  expect(afterCleared(again, "breaker-open", 60_000, 120_000).message).toBeNull();
  expect(afterRaised(told, 2 * HOUR_MS).message?.nextTryAtMs).toBe(2 * HOUR_MS);
});

test("[O9] [O19] an alert that ends before anybody heard of it, or that told of something past, ends silently", () => {
  expect(afterCleared(afterRaised(UNTOLD, 0), "breaker-open", 0, 10).message).toBeNull();
  const told = tried(afterRaised(UNTOLD, 0), 0, TAKEN, { kind: "event-refused", clearedAtMs: null });
  expect(afterCleared(told, "event-refused", 0, 86_400_000).message).toBeNull();
});

test("[O9] [O19] five tries, further and further apart, then it is given up and the reason stays", () => {
  let telling = afterRaised(UNTOLD, 0);
  const times: number[] = [];
  for (let atMs = telling.message?.nextTryAtMs ?? null; atMs !== null; atMs = telling.message?.nextTryAtMs ?? null) {
    times.push(atMs);
    telling = tried(telling, atMs, REFUSED);
  }
  expect(times).toEqual([0, 30_000, 150_000, 750_000, 2_550_000]);
  expect(telling).toEqual({
    toldAtMs: null,
    message: { what: "raised", to: ["webhook"], tries: 5, nextTryAtMs: null, failure: "webhook: answered 500" },
  });
});

test("[O9] only the channels that did not take it are tried again", () => {
  const result = { took: ["email"], failed: new Map([["webhook", "no connection"]]) };
  const telling = tried(afterRaised(UNTOLD, 0), 0, result);
  expect(telling).toMatchObject({ toldAtMs: 0, message: { to: ["webhook"], tries: 1, nextTryAtMs: 30_000 } });
});

test("[O9] what changes while a message is on its way is told after it", () => {
  const began = afterTryBegan(afterRaised(UNTOLD, 0), 0);
  const message = began.message as AlertMessage;
  const cleared = afterCleared(began, "breaker-open", 0, 500);
  expect(cleared.message).toBeNull();
  // It was taken after all: so its end is told as well.
  const late = afterTry(cleared, message, TAKEN, { kind: "breaker-open", clearedAtMs: 500 }, 1_000);
  expect(late).toMatchObject({ toldAtMs: 1_000, message: { what: "cleared", nextTryAtMs: 1_000 } });
  const raisedAgain = afterRaised(cleared, 600);
  expect(afterTry(raisedAgain, message, TAKEN, UP, 1_000).message).toMatchObject({
    what: "raised",
    nextTryAtMs: 1_000 + HOUR_MS,
  });
  expect(afterTry(cleared, message, REFUSED, { kind: "breaker-open", clearedAtMs: 500 }, 1_000).message).toBeNull();
});
