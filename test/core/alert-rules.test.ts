import { expect, test } from "vitest";
import {
  type AlertFacts,
  type AlertName,
  type DestinationFacts,
  judgeAlerts,
  PASSING_ALERTS,
  type SourceFacts,
  STANDING_ALERTS,
  type UpAlert,
} from "../../src/core/alert-rules.ts";
import { type AsideEvent, type Breaker, createRow } from "../../src/core/delivery/row.ts";

const NOW_MS = Date.UTC(2026, 10, 29, 12);
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

const OPEN: Breaker = { state: "open", untilMs: NOW_MS + 60_000, openForMs: 60_000, few: null, probedSeq: null };
const HEAD: AsideEvent = {
  seq: 7,
  lane: "aside",
  failures: 3,
  charged: 0,
  firstFailureAtMs: NOW_MS - 15 * MINUTE_MS,
  lastFailureAtMs: NOW_MS,
  dueAtMs: NOW_MS,
  waitingSinceMs: 0,
  busies: 0,
  reason: "failed",
};

function destination(changes: Partial<DestinationFacts> = {}, row: Partial<DestinationFacts["row"]> = {}): AlertFacts {
  const facts: DestinationFacts = {
    name: "origin",
    row: { ...createRow(0), ...row },
    backlogEvents: 0,
    backlogShare: 0,
    deadEvents: 0,
    oldestSinceMs: null,
    ...changes,
  };
  return { destinations: [facts], sources: [], traffic: { requests: 0, rejected: 0 }, silentSourceMs: null };
}

function source(changes: Partial<SourceFacts>, silentSourceMs: number | null = null): AlertFacts {
  const facts = { id: "stripe", retirementsMs: [], heardAtMs: NOW_MS, ...changes };
  return { destinations: [], sources: [facts], traffic: { requests: 0, rejected: 0 }, silentSourceMs };
}

function traffic(requests: number, rejected: number): AlertFacts {
  return { destinations: [], sources: [], traffic: { requests, rejected }, silentSourceMs: null };
}

function up(kind: string, more: Partial<UpAlert> = {}): UpAlert {
  return { kind, destination: "origin", subject: "", raisedAtMs: NOW_MS - MINUTE_MS, level: 0, ...more };
}

const holdOf = (ms: number) => ({ sinceMs: NOW_MS, untilMs: NOW_MS + ms, othersUntilMs: NOW_MS + ms });

/** What the facts are, what is up before, and which alerts are up after. */
const cases: readonly (readonly [string, AlertFacts, readonly UpAlert[], readonly string[]])[] = [
  ["a destination that is well", destination(), [], []],
  ["breaker open", destination({}, { breaker: OPEN }), [], ["breaker-open"]],
  ["breaker closed again", destination(), [up("breaker-open")], []],
  ["disabled", destination({}, { disabled: { reason: "gone", atMs: 0 } }), [], ["destination-disabled"]],
  ["enabled again", destination(), [up("destination-disabled")], []],
  ["a hold of 15 minutes", destination({}, { hold: holdOf(15 * MINUTE_MS) }), [], []],
  ["a longer hold", destination({}, { hold: holdOf(15 * MINUTE_MS + 1) }), [], ["hold-long"]],
  [
    "a hold that was prolonged since",
    destination({}, { hold: holdOf(MINUTE_MS), busy: { count: 9, sinceMs: NOW_MS - 15 * MINUTE_MS, suspects: [] } }),
    [],
    ["hold-long"],
  ],
  ["no hold any more", destination(), [up("hold-long")], []],
  ["a head that has failed for 15 minutes", destination({}, { head: HEAD }), [], ["head-blocked"]],
  [
    "a head that has failed for less",
    destination({}, { head: { ...HEAD, firstFailureAtMs: HEAD.firstFailureAtMs + 1 } }),
    [],
    [],
  ],
  ["the head got through", destination(), [up("head-blocked")], []],
  [
    "too many set aside, as the machine said",
    destination({}, { breaker: OPEN }),
    [up("aside-full"), up("breaker-open")],
    ["aside-full", "breaker-open"],
  ],
  ["the breaker closed after that", destination(), [up("aside-full"), up("breaker-open")], []],
  ["a backlog of 79 %", destination({ backlogShare: 0.79 }), [], []],
  ["a backlog of 80 %", destination({ backlogShare: 0.8 }), [], ["backlog-nearly-full"]],
  [
    "a backlog that fell to 70 %",
    destination({ backlogShare: 0.7 }),
    [up("backlog-nearly-full")],
    ["backlog-nearly-full"],
  ],
  ["a backlog that fell further", destination({ backlogShare: 0.69 }), [up("backlog-nearly-full")], []],
  ["an event that waits 900 s", destination({ oldestSinceMs: NOW_MS - 900_000 }), [], ["oldest-event"]],
  ["one that waits for less", destination({ oldestSinceMs: NOW_MS - 899_999 }), [], []],
  ["one that waits because of a pause", destination({ oldestSinceMs: 0 }, { paused: true }), [up("oldest-event")], []],
  ["the first dead letter", destination({ deadEvents: 1 }), [], ["dead-letters:1"]],
  ["not yet twice as many", destination({ deadEvents: 9 }), [up("dead-letters", { level: 5 })], ["dead-letters:5"]],
  ["twice as many", destination({ deadEvents: 10 }), [up("dead-letters", { level: 5 })], ["dead-letters:10"]],
  ["none left", destination(), [up("dead-letters", { level: 5 })], []],
  ["19 of 19 rejected", traffic(19, 19), [], []],
  ["half of 20 rejected", traffic(20, 10), [], []],
  ["over half of 20 rejected", traffic(20, 11), [], ["rejections-high"]],
  ["few rejections again", traffic(30, 3), [up("rejections-high", { destination: "" })], []],
  ["a secret that retires in a week", source({ retirementsMs: [NOW_MS + 7 * DAY_MS] }), [], ["secret-retiring"]],
  ["one that retires later", source({ retirementsMs: [NOW_MS + 7 * DAY_MS + 1] }), [], []],
  [
    "one that has retired",
    source({ retirementsMs: [NOW_MS] }),
    [up("secret-retiring", { destination: "", subject: "stripe" })],
    [],
  ],
  ["a source that is silent", source({ heardAtMs: NOW_MS - 3_600_000 }, 3_600_000), [], ["source-silent"]],
  [
    "one that spoke since",
    source({ heardAtMs: NOW_MS - 3_599_999 }, 3_600_000),
    [up("source-silent", { destination: "", subject: "stripe" })],
    [],
  ],
  ["one of which nobody wants to know", source({ heardAtMs: 0 }), [], []],
  ...PASSING_ALERTS.flatMap((kind) => [
    [`${kind}, less than a day ago`, destination(), [up(kind, { raisedAtMs: NOW_MS - DAY_MS + 1 })], [kind]] as const,
    [`${kind}, a day ago`, destination(), [up(kind, { raisedAtMs: NOW_MS - DAY_MS })], []] as const,
  ]),
  ["an alert that others rule", destination(), [up("position-beyond-log")], ["position-beyond-log"]],
];

function after(facts: AlertFacts, before: readonly UpAlert[]): string[] {
  const { raise, clear } = judgeAlerts(facts, before, NOW_MS);
  const isSame = (a: AlertName, b: AlertName): boolean =>
    a.kind === b.kind && a.destination === b.destination && a.subject === b.subject;
  const left = before.filter((each) => !clear.some((other) => isSame(each, other)));
  const kept = left.filter((each) => !raise.some((other) => isSame(each, other)));
  return [...kept, ...raise].map(({ kind, level }) => (level === 0 ? kind : `${kind}:${level}`)).sort();
}

test.each(cases)("[O9] %s", (_, facts, before, expected) => {
  expect(after(facts, before)).toEqual([...expected].sort());
});

test("[O9] every alert that the rules know is in the table above", () => {
  const named = new Set(cases.flatMap(([, , , expected]) => expected.map((text) => text.split(":")[0] ?? "")));
  for (const kind of [...STANDING_ALERTS, ...PASSING_ALERTS]) expect(named).toContain(kind);
});

test("[O9] [V20] the rules say when time alone changes something", () => {
  const nextMs = (facts: AlertFacts, before: readonly UpAlert[] = []) => judgeAlerts(facts, before, NOW_MS).nextMs;
  expect(nextMs(destination())).toBeNull();
  expect(nextMs(destination({ oldestSinceMs: NOW_MS - 1_000 }))).toBe(NOW_MS + 899_000);
  expect(nextMs(destination({}, { head: { ...HEAD, firstFailureAtMs: NOW_MS } }))).toBe(NOW_MS + 900_000);
  expect(nextMs(source({ retirementsMs: [NOW_MS + 8 * DAY_MS] }))).toBe(NOW_MS + DAY_MS);
  expect(nextMs(source({ retirementsMs: [NOW_MS + 2 * DAY_MS, NOW_MS + DAY_MS] }))).toBe(NOW_MS + DAY_MS);
  expect(nextMs(source({ heardAtMs: NOW_MS }, 3_600_000))).toBe(NOW_MS + 3_600_000);
  expect(nextMs(traffic(40, 30))).toBe(NOW_MS + MINUTE_MS);
  expect(nextMs(destination(), [up("event-refused")])).toBe(NOW_MS - MINUTE_MS + DAY_MS);
  // What is up, and ends with an event, needs no look in between.
  expect(nextMs(destination({ oldestSinceMs: 0 }), [up("oldest-event")])).toBeNull();
});
