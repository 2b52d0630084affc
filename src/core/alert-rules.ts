/** When an alert is up [O9]: rules over what an object knows of its tenant, without reading the log. */
import { HOLD_LONG_MS } from "./delivery/hold.ts";
import { HEAD_BLOCKED_MS } from "./delivery/judge.ts";
import type { DeliveryRow } from "./delivery/row.ts";

/**
 * Alerts that hold as long as their reason does, and those that tell of something past. Others (`position-beyond-log`) are
 * raised and cleared where they arise, and are left alone here.
 */
export const STANDING_ALERTS = [
  "breaker-open",
  "destination-disabled",
  "hold-long",
  "head-blocked",
  "aside-full",
  "backlog-nearly-full",
  "oldest-event",
  "dead-letters",
  "rejections-high",
  "secret-retiring",
  "source-silent",
] as const;
export const PASSING_ALERTS = ["event-refused", "event-unreadable", "backlog-full"] as const;

type AlertKind = (typeof STANDING_ALERTS)[number] | (typeof PASSING_ALERTS)[number];

export interface AlertFacts {
  readonly destinations: readonly DestinationFacts[];
  readonly sources: readonly SourceFacts[];
  /** Requests of the last five minutes, and those among them that were turned away unverified. */
  readonly traffic: { readonly requests: number; readonly rejected: number };
  /** null: nobody wants to know. */
  readonly silentSourceMs: number | null;
}

export interface DestinationFacts {
  readonly name: string;
  readonly row: Pick<DeliveryRow, "breaker" | "disabled" | "paused" | "hold" | "busy" | "head">;
  readonly backlogEvents: number;
  /** The share of its bounds that the backlog takes [R4]. */
  readonly backlogShare: number;
  readonly deadEvents: number;
  /** Since when its oldest event has waited, or a time before that; null: none waits. */
  readonly oldestSinceMs: number | null;
}

export interface SourceFacts {
  readonly id: string;
  /** When its secrets retire. */
  readonly retirementsMs: readonly number[];
  /** The last verified request, or since when there could have been one. */
  readonly heardAtMs: number;
}

/** What tells an alert from another: `destination` "" for the tenant's own, `subject` a source, or what an event was. */
export interface AlertName {
  readonly kind: string;
  readonly destination: string;
  readonly subject: string;
}

export interface UpAlert extends AlertName {
  readonly raisedAtMs: number;
  /** The figure it was raised for, where it is raised anew by a larger one. */
  readonly level: number;
}

interface HeldAlert extends AlertName {
  readonly kind: AlertKind;
  readonly level: number;
  readonly detail: string;
}

export interface AlertChanges {
  readonly raise: readonly HeldAlert[];
  readonly clear: readonly UpAlert[];
  /** When time alone may change something; null: never. */
  readonly nextMs: number | null;
}

interface Ruling {
  readonly held: HeldAlert | null;
  readonly nextMs: number | null;
}

export const OLDEST_EVENT_MS = 900_000;
/** Raised at the first share, cleared under the second. */
export const BACKLOG_ALERT_SHARE = 0.8;
export const BACKLOG_CLEAR_SHARE = 0.7;
const REQUESTS_MIN = 20;
const RETIREMENT_AHEAD_MS = 7 * 86_400_000;
/** How long an alert of the past stays up. */
const PASSING_MS = 86_400_000;
/** An alert that ends because nothing happens is looked at again after this. */
const LOOK_AGAIN_MS = 60_000;

const isRuled = (kind: string): boolean => isPassing(kind) || STANDING_ALERTS.some((each) => each === kind);
const isPassing = (kind: string): boolean => PASSING_ALERTS.some((each) => each === kind);

/** What to raise and to clear now, given which alerts are up. */
export function judgeAlerts(facts: AlertFacts, up: readonly UpAlert[], nowMs: number): AlertChanges {
  const upByName = new Map(up.map((alert) => [nameText(alert), alert]));
  const find = (name: AlertName): UpAlert | null => upByName.get(nameText(name)) ?? null;
  const rulings = [
    ...facts.destinations.flatMap((each) => destinationRules.map((rule) => rule(each, find, nowMs))),
    ...facts.sources.flatMap((each) => [secretRetiring(each, nowMs), sourceSilent(each, facts.silentSourceMs, nowMs)]),
    rejectionsHigh(facts.traffic, nowMs),
    ...up.filter(({ kind }) => isPassing(kind)).map((alert) => passing(alert, nowMs)),
  ];
  const held = rulings.flatMap((ruling) => ruling.held ?? []);
  const names = new Set(held.map(nameText));
  const dues = rulings.flatMap((ruling) => ruling.nextMs ?? []);
  return {
    raise: held.filter((alert) => !isPassing(alert.kind) && (find(alert)?.level ?? -1) < alert.level),
    clear: up.filter((alert) => isRuled(alert.kind) && !names.has(nameText(alert))),
    nextMs: dues.length === 0 ? null : Math.min(...dues),
  };
}

export function nameText({ kind, destination, subject }: AlertName): string {
  return JSON.stringify([kind, destination, subject]);
}

type Find = (name: AlertName) => UpAlert | null;
type DestinationRule = (facts: DestinationFacts, find: Find, nowMs: number) => Ruling;

const NOT: Ruling = { held: null, nextMs: null };

function hold(kind: AlertKind, destination: string, detail: string, more: Partial<HeldAlert> = {}): HeldAlert {
  return { kind, destination, subject: "", level: 0, detail, ...more };
}

const destinationRules: readonly DestinationRule[] = [
  ({ name, row }) => {
    const detail = "too many requests in a row did not succeed";
    return row.breaker.state === "closed" ? NOT : { held: hold("breaker-open", name, detail), nextMs: null };
  },

  ({ name, row }) =>
    row.disabled === null ? NOT : { held: hold("destination-disabled", name, row.disabled.reason), nextMs: null },

  ({ name, row }) => {
    if (row.hold === null) return NOT;
    const lengthMs = row.hold.untilMs - (row.busy?.sinceMs ?? row.hold.sinceMs);
    const detail = `held until ${new Date(row.hold.untilMs).toISOString()}`;
    return lengthMs > HOLD_LONG_MS ? { held: hold("hold-long", name, detail), nextMs: null } : NOT;
  },

  ({ name, row }, _, nowMs) => {
    if (row.head === null) return NOT;
    const dueMs = row.head.firstFailureAtMs + HEAD_BLOCKED_MS;
    if (nowMs < dueMs) return { held: null, nextMs: dueMs };
    return { held: hold("head-blocked", name, `event ${row.head.seq} has blocked the order`), nextMs: null };
  },

  // Raised by the state machine alone, which counts; it ends with the open breaker.
  ({ name, row }, find) => {
    const alert = find({ kind: "aside-full", destination: name, subject: "" });
    return alert === null || row.breaker.state === "closed"
      ? NOT
      : { held: hold("aside-full", name, ""), nextMs: null };
  },

  ({ name, backlogShare }, find) => {
    const isUp = find({ kind: "backlog-nearly-full", destination: name, subject: "" }) !== null;
    const isHeld = backlogShare >= (isUp ? BACKLOG_CLEAR_SHARE : BACKLOG_ALERT_SHARE);
    return isHeld ? { held: hold("backlog-nearly-full", name, backlogDetail(name, backlogShare)), nextMs: null } : NOT;
  },

  // Who stopped a destination knows that its events wait.
  ({ name, row, oldestSinceMs }, _, nowMs) => {
    if (oldestSinceMs === null || row.paused || row.disabled !== null) return NOT;
    const dueMs = oldestSinceMs + OLDEST_EVENT_MS;
    if (nowMs < dueMs) return { held: null, nextMs: dueMs };
    const detail = `an event has waited since ${new Date(oldestSinceMs).toISOString()}`;
    return { held: hold("oldest-event", name, detail), nextMs: null };
  },

  ({ name, deadEvents }, find) => {
    if (deadEvents === 0) return NOT;
    const level = find({ kind: "dead-letters", destination: name, subject: "" })?.level ?? null;
    const isRaisedAnew = level === null || deadEvents >= level * 2;
    const detail = `${deadEvents} dead ${deadEvents === 1 ? "letter" : "letters"}`;
    return { held: hold("dead-letters", name, detail, { level: isRaisedAnew ? deadEvents : level }), nextMs: null };
  },
];

export function backlogDetail(name: string, share: number): string {
  return `${name} is at ${Math.floor(share * 100)} % of its backlog bound`;
}

function secretRetiring({ id, retirementsMs }: SourceFacts, nowMs: number): Ruling {
  const ahead = retirementsMs.filter((atMs) => atMs > nowMs).sort((a, b) => a - b);
  const [first] = ahead;
  if (first === undefined) return NOT;
  if (first - nowMs > RETIREMENT_AHEAD_MS) return { held: null, nextMs: first - RETIREMENT_AHEAD_MS };
  const detail = `a secret of ${id} retires at ${new Date(first).toISOString()}`;
  return { held: hold("secret-retiring", "", detail, { subject: id }), nextMs: first };
}

function sourceSilent({ id, heardAtMs }: SourceFacts, silentMs: number | null, nowMs: number): Ruling {
  if (silentMs === null) return NOT;
  const dueMs = heardAtMs + silentMs;
  if (nowMs < dueMs) return { held: null, nextMs: dueMs };
  const detail = `${id} has sent nothing since ${new Date(heardAtMs).toISOString()}`;
  return { held: hold("source-silent", "", detail, { subject: id }), nextMs: null };
}

function rejectionsHigh({ requests, rejected }: AlertFacts["traffic"], nowMs: number): Ruling {
  if (requests < REQUESTS_MIN || rejected * 2 <= requests) return NOT;
  const detail = `${rejected} of ${requests} requests in 5 minutes were turned away: their signatures do not fit`;
  return { held: hold("rejections-high", "", detail), nextMs: nowMs + LOOK_AGAIN_MS };
}

function passing(alert: UpAlert, nowMs: number): Ruling {
  const endMs = alert.raisedAtMs + PASSING_MS;
  return nowMs >= endMs ? NOT : { held: { ...alert, kind: alert.kind as AlertKind, detail: "" }, nextMs: endMs };
}
