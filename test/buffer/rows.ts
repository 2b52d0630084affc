/** Counts what an object's database bills, from outside the object: the rows of every statement, and each alarm set. */
import { runInDurableObject } from "cloudflare:test";
import type { Tenant } from "../flow/tenant.ts";

export interface Rows {
  /** Rows written by statements, and one for each `setAlarm` and `deleteAlarm`. */
  written(): number;
  read(): number;
  alarmWrites(): number;
}

/** Listens to the object from now on, until it is evicted. */
export async function countRows(tenant: Tenant): Promise<Rows> {
  const cursors: SqlStorageCursor<Record<string, SqlStorageValue>>[] = [];
  let alarmWrites = 0;
  let isTestsOwn = false;
  await runInDurableObject(tenant.stub, (_, state) => {
    const { storage } = state;
    const { sql } = storage;
    const exec = sql.exec.bind(sql);
    const setAlarm = storage.setAlarm.bind(storage);
    const deleteAlarm = storage.deleteAlarm.bind(storage);
    const getAlarm = storage.getAlarm.bind(storage);
    Object.defineProperty(sql, "exec", {
      configurable: true,
      value: (statement: string, ...bindings: SqlStorageValue[]) => {
        const cursor = exec(statement, ...bindings);
        cursors.push(cursor);
        return cursor;
      },
    });
    Object.defineProperty(storage, "setAlarm", {
      configurable: true,
      value: (atMs: number) => {
        alarmWrites += 1;
        return setAlarm(atMs);
      },
    });
    // The test runtime clears an alarm before it runs it, as the platform does by itself and for nothing; it asks first.
    Object.defineProperty(storage, "getAlarm", {
      configurable: true,
      value: () => {
        isTestsOwn = true;
        return getAlarm();
      },
    });
    Object.defineProperty(storage, "deleteAlarm", {
      configurable: true,
      value: () => {
        if (!isTestsOwn) alarmWrites += 1;
        isTestsOwn = false;
        return deleteAlarm();
      },
    });
  });
  const sum = (of: (cursor: SqlStorageCursor<Record<string, SqlStorageValue>>) => number): number =>
    cursors.reduce((total, cursor) => total + of(cursor), 0);
  return {
    written: () => sum((cursor) => cursor.rowsWritten) + alarmWrites,
    read: () => sum((cursor) => cursor.rowsRead),
    alarmWrites: () => alarmWrites,
  };
}
