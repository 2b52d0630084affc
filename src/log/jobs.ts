/** Long work that an operator began, so that it survives a restart [X2]. */
import type { Sql, SqlRow } from "./sql.ts";

export interface Job {
  readonly id: string;
  readonly kind: string;
  readonly state: "running" | "done" | "cancelled";
  /** What was asked for, as JSON. */
  readonly call: string;
  readonly eventCount: number;
  readonly done: number;
  /** Everything before this was looked at. */
  readonly nextSeq: number;
  /** Nothing beyond this is meant: what comes later was not there when the job began. */
  readonly throughSeq: number;
  readonly startedAtMs: number;
  readonly endedAtMs: number | null;
}

interface Row extends SqlRow {
  id: string;
  kind: string;
  state: Job["state"];
  call: string;
  event_count: number;
  done: number;
  next_seq: number;
  through_seq: number;
  started_at_ms: number;
  ended_at_ms: number | null;
}

const COLUMNS = "id, kind, state, call, event_count, done, next_seq, through_seq, started_at_ms, ended_at_ms";
/** Ended jobs that are still shown. */
const ENDED_MAX = 100;

export class Jobs {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  insert(job: Job): void {
    this.#sql.run(
      `INSERT INTO job (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      job.id,
      job.kind,
      job.state,
      job.call,
      job.eventCount,
      job.done,
      job.nextSeq,
      job.throughSeq,
      job.startedAtMs,
      job.endedAtMs,
    );
    this.#sql.run(
      `DELETE FROM job WHERE state <> 'running' AND id NOT IN
       (SELECT id FROM job WHERE state <> 'running' ORDER BY started_at_ms DESC LIMIT ${ENDED_MAX})`,
    );
  }

  update(job: Job): void {
    this.#sql.run(
      "UPDATE job SET state = ?, done = ?, next_seq = ?, ended_at_ms = ? WHERE id = ?",
      job.state,
      job.done,
      job.nextSeq,
      job.endedAtMs,
      job.id,
    );
  }

  find(id: string): Job | null {
    const row = this.#sql.first<Row>(`SELECT ${COLUMNS} FROM job WHERE id = ?`, id);
    return row === null ? null : fromRow(row);
  }

  /** Those that are not ended, oldest first. */
  running(): Job[] {
    return this.#sql
      .all<Row>(`SELECT ${COLUMNS} FROM job WHERE state = 'running' ORDER BY started_at_ms LIMIT 100`)
      .map(fromRow);
  }
}

function fromRow(row: Row): Job {
  return {
    id: row.id,
    kind: row.kind,
    state: row.state,
    call: row.call,
    eventCount: row.event_count,
    done: row.done,
    nextSeq: row.next_seq,
    throughSeq: row.through_seq,
    startedAtMs: row.started_at_ms,
    endedAtMs: row.ended_at_ms,
  };
}
