/**
 * What a tenant costs and what is counted beside the ledger [O10] [X9]. It lives in memory and is written within a row
 * that is written anyway; what happened after the last such row is lost with an eviction, so `sinceMs` says from when
 * the figures hold.
 */
interface MeterTotals {
  sinceMs: number;
  rowsWritten: number;
  rowsRead: number;
  setupRows: number;
  commits: number;
  deduplicated: number;
  deduplicatedWithOtherBody: number;
  rateLimited: number;
  reopened: number;
  rejected: number;
}

function emptyTotals(nowMs: number): MeterTotals {
  return {
    sinceMs: nowMs,
    rowsWritten: 0,
    rowsRead: 0,
    setupRows: 0,
    commits: 0,
    deduplicated: 0,
    deduplicatedWithOtherBody: 0,
    rateLimited: 0,
    reopened: 0,
    rejected: 0,
  };
}

export class Meter {
  totals: MeterTotals;

  constructor(nowMs: number) {
    this.totals = emptyTotals(nowMs);
  }

  count(rowsRead: number, rowsWritten: number): void {
    this.totals.rowsRead += rowsRead;
    this.totals.rowsWritten += rowsWritten;
  }

  countSetup(rowsRead: number, rowsWritten: number): void {
    this.totals.rowsRead += rowsRead;
    this.totals.setupRows += rowsWritten;
  }

  /** `setAlarm` and `deleteAlarm` write a row that no cursor reports. */
  countAlarmWrite(): void {
    this.totals.rowsWritten += 1;
  }

  countCommit(): void {
    this.totals.commits += 1;
  }

  /** The totals as text for the row about to be written, that write of `rows` rows included. */
  encodeWithWrite(rows: number): string {
    return JSON.stringify({ ...this.totals, rowsWritten: this.totals.rowsWritten + rows });
  }

  /** Goes on from stored totals where they are further than what memory has. */
  restore(stored: string): void {
    const totals = JSON.parse(stored) as MeterTotals;
    if (totals.rowsWritten + totals.setupRows >= this.totals.rowsWritten + this.totals.setupRows) {
      this.totals = { ...emptyTotals(totals.sinceMs), ...totals };
    }
  }
}
