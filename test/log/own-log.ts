/** A log on the database of an object of its own, without the object around it. */
import { runInDurableObject } from "cloudflare:test";
import type { NewEvent } from "../../src/log/event-row.ts";
import { Log } from "../../src/log/log.ts";
import { bindings } from "../flow/tenant.ts";

export const NOW_MS = Date.UTC(2040, 0, 1);

/** Runs `work` on a new log; `again` opens what is stored anew, as after a restart. */
export async function withLog(
  work: (log: Log, again: () => Log, storage: DurableObjectStorage) => void | Promise<void>,
): Promise<void> {
  const stub = bindings.TENANT_BUFFER.getByName(`log-${crypto.randomUUID()}`);
  await runInDurableObject(stub, async (_, { storage }) => {
    const log = new Log(storage, NOW_MS);
    log.create();
    const again = (): Log => {
      const opened = new Log(storage, NOW_MS);
      opened.open();
      return opened;
    };
    await work(log, again, storage);
  });
}

export function newEvent(seq: number, changes: Partial<NewEvent> = {}): NewEvent {
  const body = changes.body ?? new TextEncoder().encode(`body of ${seq}`);
  const sizeBytes = body instanceof Uint8Array ? body.byteLength : (changes.sizeBytes ?? 0);
  return {
    seq,
    receivedAtMs: NOW_MS + seq,
    sizeBytes,
    offeredBytes: 0,
    source: "in",
    provider: "generic",
    eventId: `in:e${seq}`,
    type: null,
    contentType: null,
    headers: "",
    hops: 0,
    ...changes,
    body,
  };
}

/** Stores `count` events in the open body segment, opening one where there is none, as the intake does. */
export function store(log: Log, count: number, changes: Partial<NewEvent> = {}): void {
  const segment = log.segments.openBody ?? log.segments.open("body", NOW_MS);
  for (let stored = 0; stored < count; stored += 1) {
    const event = newEvent(log.segments.high.seq + 1, changes);
    const offeredBytes = log.segments.high.offeredBytes + event.sizeBytes;
    log.events.insert(segment, { ...event, offeredBytes });
    log.segments.high = { seq: event.seq, offeredBytes, receivedAtMs: event.receivedAtMs };
  }
}

/** 16 bytes that stand for a key. */
export function key(index: number): Uint8Array {
  const bytes = new Uint8Array(16);
  new DataView(bytes.buffer).setUint32(0, index * 2_654_435_761);
  new DataView(bytes.buffer).setUint32(12, index);
  return bytes;
}
