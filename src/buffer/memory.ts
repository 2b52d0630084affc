/** What an object holds of one destination; replaced as a whole, so that a rolled-back transaction leaves it as it was. */
import { createRow, type DeliveryRow, type Live } from "../core/delivery/machine.ts";
import type { Counters, Cursor } from "../log/cursors.ts";
import type { Log } from "../log/log.ts";

export interface Memory {
  readonly cursor: Cursor;
  readonly row: DeliveryRow;
  readonly live: Live;
}

const NOTHING: Counters = { delivered: 0, dead: 0, filtered: 0, purged: 0, expired: 0, erased: 0 };

/** A destination that begins with what is accepted after it, or with the oldest event whose bytes are stored [V21]. */
export function newCursor(name: string, from: "now" | "oldest", log: Log, nowMs: number): Cursor {
  const { high, bodies } = log.segments;
  const [oldest] = from === "oldest" ? bodies : [];
  const baseSeq = oldest === undefined ? high.seq : oldest.firstSeq - 1;
  return {
    name,
    incarnation: nowMs,
    baseSeq,
    positionBytes: oldest === undefined ? high.offeredBytes : oldest.bytesBefore,
    offeredExtra: 0,
    counters: NOTHING,
    aside: 0,
    asideBytes: 0,
    settledAhead: 0,
    delivery: JSON.stringify(createRow(baseSeq)),
  };
}

/** The ledger with a change counted. */
export function counted(memory: Memory, change: Partial<Counters>): Memory {
  const { counters } = memory.cursor;
  const add = (name: keyof Counters): number => counters[name] + (change[name] ?? 0);
  return {
    ...memory,
    cursor: {
      ...memory.cursor,
      counters: {
        delivered: add("delivered"),
        dead: add("dead"),
        filtered: add("filtered"),
        purged: add("purged"),
        expired: add("expired"),
        erased: add("erased"),
      },
    },
  };
}

/** Rows of set-aside events that came or went, and their bytes. */
export function asideChanged(memory: Memory, count: number, bytes: number): Memory {
  const { cursor } = memory;
  return { ...memory, cursor: { ...cursor, aside: cursor.aside + count, asideBytes: cursor.asideBytes + bytes } };
}

export function settledAhead(memory: Memory, count: number): Memory {
  return { ...memory, cursor: { ...memory.cursor, settledAhead: memory.cursor.settledAhead + count } };
}
