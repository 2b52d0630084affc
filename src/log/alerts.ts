/**
 * Alerts as rows: raised once, cleared once, told of, shown in `stats`. Memory holds them all, so that asking costs no
 * row; `load` reads them anew after a start or a transaction that was rolled back.
 */
import { type AlertMessage, afterCleared, afterRaised, type Telling, UNTOLD } from "../core/alert-message.ts";
import { type AlertName, nameText } from "../core/alert-rules.ts";
import type { Sql, SqlRow } from "./sql.ts";

export interface Alert extends AlertName {
  readonly raisedAtMs: number;
  readonly clearedAtMs: number | null;
  readonly level: number;
  readonly detail: string;
  readonly telling: Telling;
}

interface Row extends SqlRow {
  kind: string;
  destination: string;
  subject: string;
  raised_at_ms: number;
  cleared_at_ms: number | null;
  level: number;
  detail: string;
  told_at_ms: number | null;
  message: string;
}

const COLUMNS = "kind, destination, subject, raised_at_ms, cleared_at_ms, level, detail, told_at_ms, message";
const ROWS_MAX = 2_000;
const LISTED_MAX = 50;
/** Subjects of one kind and destination that are remembered; the one that was cleared first makes room. */
const SUBJECTS_MAX = 50;

export class Alerts {
  readonly #sql: Sql;
  #alerts = new Map<string, Alert>();
  /** Hears of each alert that is raised or cleared, in its transaction. */
  onChange: ((alert: Alert) => void) | null = null;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Reads what is stored. */
  load(): void {
    const rows = this.#sql.all<Row>(`SELECT ${COLUMNS} FROM told_alert LIMIT ${ROWS_MAX}`);
    this.#alerts = new Map(rows.map(alertFromRow).map((alert) => [nameText(alert), alert]));
  }

  /** Raises an alert; one that is up already stays as it is and costs no row, unless `level` is higher than before. */
  raise(
    kind: string,
    destination: string,
    nowMs: number,
    detail: string,
    { subject = "", level = 0 }: { readonly subject?: string; readonly level?: number } = {},
  ): void {
    const before = this.#alerts.get(nameText({ kind, destination, subject }));
    const isUp = before !== undefined && before.clearedAtMs === null;
    if (isUp && before.level >= level) return;
    const raisedAtMs = isUp ? before.raisedAtMs : nowMs;
    const telling = afterRaised(before?.telling ?? UNTOLD, nowMs);
    this.#write({ kind, destination, subject, raisedAtMs, clearedAtMs: null, level, detail, telling });
  }

  /** Raises an alert of what has not been seen before; what has, cleared or not, costs no row. */
  raiseNew(kind: string, destination: string, nowMs: number, detail: string, subject: string): void {
    if (this.#alerts.has(nameText({ kind, destination, subject }))) return;
    const known = [...this.#alerts.values()].filter((each) => each.kind === kind && each.destination === destination);
    if (known.length >= SUBJECTS_MAX) {
      const [oldest] = known
        .filter((each) => each.clearedAtMs !== null)
        .sort((a, b) => (a.clearedAtMs ?? 0) - (b.clearedAtMs ?? 0));
      if (oldest === undefined) return;
      this.#remove(oldest);
    }
    this.raise(kind, destination, nowMs, detail, { subject });
  }

  clear(kind: string, destination: string, nowMs: number, subject = ""): void {
    const alert = this.#alerts.get(nameText({ kind, destination, subject }));
    if (alert === undefined || alert.clearedAtMs !== null) return;
    const telling = afterCleared(alert.telling, kind, alert.raisedAtMs, nowMs);
    this.#write({ ...alert, clearedAtMs: nowMs, telling });
  }

  isUp(kind: string, destination: string, subject = ""): boolean {
    return this.#alerts.get(nameText({ kind, destination, subject }))?.clearedAtMs === null;
  }

  find(name: AlertName): Alert | null {
    return this.#alerts.get(nameText(name)) ?? null;
  }

  up(): Alert[] {
    return [...this.#alerts.values()].filter((alert) => alert.clearedAtMs === null);
  }

  /** Alerts with a message that is still to be sent. */
  owed(): Alert[] {
    return [...this.#alerts.values()].filter(({ telling }) => (telling.message?.nextTryAtMs ?? null) !== null);
  }

  /** Writes how far telling of an alert has come; one that is gone meanwhile stays gone. */
  tell(name: AlertName, telling: Telling): void {
    const alert = this.find(name);
    if (alert !== null) this.#put({ ...alert, telling });
  }

  /** The newest ones, those that are up first. */
  list(): Alert[] {
    const isOver = (alert: Alert): number => (alert.clearedAtMs === null ? 0 : 1);
    return [...this.#alerts.values()]
      .sort((a, b) => isOver(a) - isOver(b) || b.raisedAtMs - a.raisedAtMs)
      .slice(0, LISTED_MAX);
  }

  removeOf(destination: string): void {
    for (const alert of [...this.#alerts.values()]) if (alert.destination === destination) this.#remove(alert);
  }

  #write(alert: Alert): void {
    this.#put(alert);
    this.onChange?.(alert);
  }

  #put(alert: Alert): void {
    const { kind, destination, subject, raisedAtMs, clearedAtMs, level, detail, telling } = alert;
    this.#sql.run(
      `INSERT INTO told_alert (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET raised_at_ms = excluded.raised_at_ms, cleared_at_ms = excluded.cleared_at_ms,
       level = excluded.level, detail = excluded.detail, told_at_ms = excluded.told_at_ms, message = excluded.message`,
      kind,
      destination,
      subject,
      raisedAtMs,
      clearedAtMs,
      level,
      detail,
      telling.toldAtMs,
      telling.message === null ? "" : JSON.stringify(telling.message),
    );
    this.#alerts.set(nameText(alert), alert);
  }

  #remove({ kind, destination, subject }: AlertName): void {
    this.#sql.run(
      "DELETE FROM told_alert WHERE kind = ? AND destination = ? AND subject = ?",
      kind,
      destination,
      subject,
    );
    this.#alerts.delete(nameText({ kind, destination, subject }));
  }
}

function alertFromRow(row: Row): Alert {
  const message = row.message === "" ? null : (JSON.parse(row.message) as AlertMessage);
  return {
    kind: row.kind,
    destination: row.destination,
    subject: row.subject,
    raisedAtMs: row.raised_at_ms,
    clearedAtMs: row.cleared_at_ms,
    level: row.level,
    detail: row.detail,
    telling: { toldAtMs: row.told_at_ms, message },
  };
}
