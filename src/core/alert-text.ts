/** The words of an alert [O9]: who, what, since when, how much waits, and where to look. */
import type { AlertName } from "./alert-rules.ts";

export interface AlertNews extends AlertName {
  readonly what: "raised" | "cleared";
  readonly tenant: string;
  /** One of several objects of the tenant [S1]; null: the only one. */
  readonly shard: number | null;
  readonly detail: string;
  readonly level: number;
  readonly raisedAtMs: number;
  readonly clearedAtMs: number | null;
  /** Events that wait for the destination, or for all of them; null: unknown. */
  readonly waitingEvents: number | null;
  /** A page to look at; null where no host of this Worker is known. */
  readonly link: string | null;
}

const TITLES: Readonly<Record<string, string>> = {
  "breaker-open": "deliveries are suspended, too many requests failed",
  "destination-disabled": "the destination is disabled",
  "hold-long": "the destination asked for a long pause",
  "head-blocked": "one event blocks the order",
  "aside-full": "too many events failed on their own",
  "backlog-nearly-full": "the backlog is nearly full",
  "oldest-event": "events wait too long",
  "dead-letters": "events were given up",
  "rejections-high": "most requests are turned away",
  "secret-retiring": "a secret is about to retire",
  "source-silent": "a source is silent",
  "event-refused": "an event was refused in a new way",
  "event-unreadable": "an event cannot be read from storage",
  "position-beyond-log": "the store is damaged, nothing more is accepted",
  "backlog-full": "events went to the dead letters to make room",
};

const DETAIL_LENGTH_MAX = 300;

/** One line: `acme / origin: the destination is disabled`. */
export function alertTitle(news: AlertNews): string {
  const { tenant, destination, shard, kind, what } = news;
  const place = [tenant, ...(shard === null ? [] : [`object ${shard}`]), ...(destination === "" ? [] : [destination])];
  const prefix = what === "cleared" ? "over: " : "";
  return `${place.join(" / ")}: ${prefix}${TITLES[kind] ?? kind}`;
}

/** The lines below the title. Plain text: what senders wrote is escaped [O11]. */
export function alertLines(news: AlertNews): string[] {
  const { detail, raisedAtMs, clearedAtMs, waitingEvents, link } = news;
  return [
    ...(detail === "" ? [] : [plain(detail)]),
    `Since: ${new Date(raisedAtMs).toISOString()}`,
    ...(clearedAtMs === null ? [] : [`Until: ${new Date(clearedAtMs).toISOString()}`]),
    ...(waitingEvents === null ? [] : [`Waiting: ${waitingEvents} ${waitingEvents === 1 ? "event" : "events"}`]),
    ...(link === null ? [] : [link]),
  ];
}

/** Text in which nothing acts: control characters, line breaks and marks of direction are written out. */
export function plain(text: string): string {
  const cut = text.length > DETAIL_LENGTH_MAX ? `${text.slice(0, DETAIL_LENGTH_MAX)}…` : text;
  return cut.replace(
    /[\p{Cc}\p{Zl}\p{Zp}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
