import { expect, test } from "vitest";
import { type CallFailure, classifyCallFailure, isWorthRetrying } from "../../src/core/call-failure.ts";

/** Errors as the runtime throws them on the caller's side, recorded from its source, its documentation and its users. */
const recorded: readonly (readonly [string, Readonly<Record<string, unknown>>, CallFailure, boolean])[] = [
  ["Durable Object is overloaded. Too many requests queued.", { overloaded: true, remote: true }, "overloaded", false],
  [
    "Durable Object is overloaded. Too much data was queued.",
    { overloaded: true, retryable: true },
    "overloaded",
    false,
  ],
  ["Durable Object is overloaded. Requests queued for too long.", {}, "overloaded", false],
  [
    "Durable Object is overloaded. Too many requests for the same object within a 10 second window.",
    {},
    "overloaded",
    false,
  ],
  ["Exceeded the account's spending cap for Durable Objects", { remote: true }, "spending-cap", false],
  ["Durable Object reset because its code was updated.", { durableObjectReset: true, retryable: true }, "reset", true],
  ["Connection closed: this Durable Object instance is no longer active", {}, "reset", true],
  ["Durable Object storage operation exceeded timeout which caused object to be reset.", {}, "reset", true],
  ["Network connection lost.", { retryable: true }, "reset", true],
  ["Internal error in Durable Object storage caused object to be reset.", {}, "reset", true],
  ["Cannot resolve Durable Object due to transient issue on remote node.", { retryable: true }, "reset", true],
  ["Something that will pass", { retryable: true }, "retryable", true],
  ["boom", { remote: true }, "exception", false],
  ["D1 is down", { remote: true, retryable: "yes" }, "exception", false],
  ["", {}, "exception", false],
];

test.each(recorded)("[I13] (by construction) %s %j is %s, tried again: %s", (message, flags, failure, isRetried) => {
  const error = Object.assign(new Error(message), flags);
  expect(classifyCallFailure(error)).toBe(failure);
  expect(isWorthRetrying(failure)).toBe(isRetried);
});

test("[I13] whatever is thrown is classified, error or not", () => {
  for (const thrown of [null, undefined, 7, "overloaded", Symbol("x"), {}, [], { message: 7 }]) {
    expect(["exception", "overloaded"]).toContain(classifyCallFailure(thrown));
  }
  expect(isWorthRetrying("timed-out")).toBe(false);
});
