import { expect, test } from "vitest";
import { Journal } from "../start/journal.ts";
import type { Arrival } from "../start/origin.ts";
import type { Webhook } from "../start/webhooks.ts";

const webhook = (text: string): Webhook => ({
  source: "internal",
  type: "t",
  headers: {},
  body: new TextEncoder().encode(text),
});
const arrival = (id: string, text: string): Arrival => ({
  id,
  source: "internal",
  type: "t",
  attempt: 1,
  body: new TextEncoder().encode(text),
});

/** A run in which one event was accepted and another refused. */
function journalWith(...arrivals: readonly Arrival[]): Journal {
  const journal = new Journal();
  journal.promise(webhook("accepted"), "internal:1");
  journal.refuse(webhook("refused"));
  for (const each of arrivals) journal.arrive(each);
  return journal;
}

test("[I3] the demonstration is content when every accepted event arrived as it was sent, repeats included", () => {
  const good = arrival("internal:1", "accepted");
  expect(journalWith(good).complaints()).toStrictEqual([]);
  expect(journalWith(good, good).complaints()).toStrictEqual([]);
  expect(journalWith(good, good).repeatCount).toBe(1);
});

test.each([
  ["nothing arrived", []],
  ["one byte is another", [arrival("internal:1", "Accepted")]],
  ["it arrived under another id", [arrival("internal:2", "accepted")]],
  ["it arrived under two ids", [arrival("internal:1", "accepted"), arrival("internal:2", "accepted")]],
  ["what was refused arrived", [arrival("internal:1", "accepted"), arrival("internal:9", "refused")]],
])("[V14] the demonstration fails when %s", (_name, arrivals) => {
  expect(journalWith(...arrivals).complaints()).toHaveLength(1);
});

test("[R1] a webhook refused at first and accepted later is a promise", () => {
  const journal = journalWith(arrival("internal:1", "accepted"), arrival("internal:9", "refused"));
  journal.promise(webhook("refused"), "internal:9");
  expect(journal.complaints()).toStrictEqual([]);
});
