import { describe, expect, test } from "vitest";
import { Log } from "../../src/log/log.ts";
import { key, NOW_MS, newEvent, store, withLog } from "./own-log.ts";

const DIGEST = new Uint8Array(8).fill(7);

describe("numbers", () => {
  test("[L3] whatever is dropped, numbers and running totals go on from the stored mark", async () => {
    await withLog((log, again) => {
      store(log, 5);
      const sealed = log.segments.seal("body", NOW_MS, log.meter.encodeWithWrite(1));
      if (sealed === null) throw new Error("there was something to seal");
      log.segments.drop(sealed);
      const reopened = again();
      expect(reopened.segments.high).toEqual(log.segments.high);
      expect(reopened.segments.high.seq).toBe(5);
      expect(reopened.segments.bodies).toEqual([]);
      store(reopened, 1);
      expect(reopened.segments.openBody?.firstSeq).toBe(6);
      expect(again().segments.high.seq).toBe(6);
    });
  });

  test("[L3] an open segment's own rows carry the mark; a new one that is still empty keeps the stored one", async () => {
    await withLog((log, again) => {
      store(log, 3);
      expect(again().segments.high.seq).toBe(3);
      log.segments.seal("body", NOW_MS, log.meter.encodeWithWrite(1));
      log.segments.open("body", NOW_MS);
      expect(again().segments.high.seq).toBe(3);
      expect(again().segments.openBody?.firstSeq).toBe(4);
    });
  });

  test("[L3] an open segment without an event in it is not sealed", async () => {
    await withLog((log) => {
      log.segments.open("body", NOW_MS);
      expect(log.segments.seal("body", NOW_MS, log.meter.encodeWithWrite(1))).toBeNull();
    });
  });

  test("[L5] a transaction that is rolled back takes tables back with it; a reload finds what is stored", async () => {
    await withLog((log, again) => {
      store(log, 2);
      expect(() =>
        log.transaction(() => {
          log.segments.seal("body", NOW_MS, log.meter.encodeWithWrite(1));
          store(log, 2);
          throw new Error("no room");
        }),
      ).toThrow("no room");
      log.reload();
      expect(log.segments.high.seq).toBe(2);
      expect(log.segments.bodies).toHaveLength(1);
      expect(log.segments.openBody?.id).toBe(again().segments.openBody?.id);
      store(log, 1);
      expect(log.events.read(3)?.eventId).toBe("in:e3");
    });
  });
});

describe("events", () => {
  test("[I3] any bytes come back as they were stored", async () => {
    await withLog((log) => {
      const bodies = [
        new Uint8Array(0),
        new Uint8Array([0, 255, 254, 0xeb]),
        crypto.getRandomValues(new Uint8Array(50_000)),
        new TextEncoder().encode("\uFEFF{}\r\n"),
      ];
      for (const body of bodies) store(log, 1, { body });
      expect(bodies.map((_, index) => log.events.read(index + 1)?.body)).toEqual(bodies);
    });
  });

  test("[V1] heads and bodies are read across segments, in order of arrival", async () => {
    await withLog((log) => {
      for (let segment = 0; segment < 3; segment += 1) {
        store(log, 4);
        log.segments.seal("body", NOW_MS, log.meter.encodeWithWrite(1));
      }
      expect(log.events.heads(2, 7).map(({ seq }) => seq)).toEqual([3, 4, 5, 6, 7, 8, 9]);
      expect(log.events.heads(12, 5)).toEqual([]);
      expect(log.events.readMany([3, 4, 5, 9, 12]).map(({ eventId }) => eventId)).toEqual([
        "in:e3",
        "in:e4",
        "in:e5",
        "in:e9",
        "in:e12",
      ]);
      expect(log.events.readMany([5, 7]).map(({ seq }) => seq)).toEqual([5, 7]);
      expect(log.events.headsBefore(6, 3).map(({ seq }) => seq)).toEqual([5, 4, 3]);
    });
  });

  test("[V12] the last event received before an instant is found by halving", async () => {
    await withLog((log) => {
      store(log, 100);
      for (const seq of [1, 2, 50, 99, 100]) {
        expect(log.events.lastReceivedBefore(1, 100, NOW_MS + seq)).toBe(seq === 1 ? null : seq - 1);
      }
      const before = log.meter.totals.rowsRead;
      log.events.lastReceivedBefore(1, 100, NOW_MS + 37);
      expect(log.meter.totals.rowsRead - before).toBeLessThan(10);
    });
  });

  test("[L1] an event that is copied out is read as before after its segment is gone", async () => {
    await withLog((log, again) => {
      store(log, 3, { headers: '{"x-a":"1"}', contentType: "text/plain" });
      const before = log.events.read(2);
      const sealed = log.segments.seal("body", NOW_MS, log.meter.encodeWithWrite(1));
      if (sealed === null) throw new Error("there was something to seal");
      expect(log.events.keep(sealed, 2, 1_000_000)).toBe(before?.bodySizeBytes);
      log.segments.drop(sealed);
      const reopened = again();
      expect(reopened.events.read(2)).toEqual(before);
      expect(reopened.events.read(1)).toBeNull();
      expect(reopened.events.keptSeqs(0, 10, 10)).toEqual([2]);
      reopened.events.dropKept(2);
      expect(reopened.events.has(2)).toBe(false);
    });
  });

  test("[D6] bytes of a repeat stand under the old number, and an event that is there is not written over", async () => {
    await withLog((log) => {
      store(log, 1);
      const sealed = log.segments.seal("body", NOW_MS, log.meter.encodeWithWrite(1));
      if (sealed === null) throw new Error("there was something to seal");
      log.segments.drop(sealed);
      log.events.revive(newEvent(1, { body: new TextEncoder().encode("again") }));
      log.events.revive(newEvent(1, { body: new TextEncoder().encode("a third time") }));
      expect(new TextDecoder().decode(log.events.read(1)?.body as Uint8Array)).toBe("again");
    });
  });

  test("[R1] the newest receipts are read newest first, across segments, no more than are asked for", async () => {
    await withLog((log) => {
      store(log, 5);
      log.segments.seal("body", NOW_MS, log.meter.encodeWithWrite(1));
      store(log, 3);
      expect(log.events.newestReceipts(NOW_MS + 4, 100)).toEqual([8, 7, 6, 5, 4].map((seq) => NOW_MS + seq));
      expect(log.events.newestReceipts(0, 4)).toEqual([8, 7, 6, 5].map((seq) => NOW_MS + seq));
      const before = log.meter.totals.rowsRead;
      log.events.newestReceipts(0, 4);
      expect(log.meter.totals.rowsRead - before).toBe(4);
    });
  });
});

describe("keys", () => {
  test("[D3] [C2] a key is found in whatever segment it stands, the newest entry counts, and a miss reads no row", async () => {
    await withLog((log) => {
      let index = 0;
      for (let round = 0; round < 5; round += 1) {
        store(log, 1);
        const segment = log.segments.openKey ?? log.segments.open("key", NOW_MS);
        for (let count = 0; count < 200; count += 1) {
          index += 1;
          expect(log.keys.insert(segment, key(index), index, NOW_MS, DIGEST)).toBe(true);
        }
        log.segments.seal("key", NOW_MS, log.meter.encodeWithWrite(1));
      }
      expect(log.keys.find(key(1))?.seq).toBe(1);
      expect(log.keys.find(key(777))?.seq).toBe(777);
      const before = log.meter.totals.rowsRead;
      expect(log.keys.find(key(5_000))).toBeNull();
      expect(log.meter.totals.rowsRead - before).toBe(0);
      store(log, 1);
      const newest = log.segments.openKey ?? log.segments.open("key", NOW_MS);
      log.keys.replace(newest, key(1), 4_711, NOW_MS, DIGEST);
      expect(log.keys.find(key(1))?.seq).toBe(4_711);
      log.keys.replace(newest, key(1), 4_712, NOW_MS, DIGEST);
      expect(log.keys.find(key(1))?.seq).toBe(4_712);
    });
  });

  test("[D4] a key that is there already writes no row", async () => {
    await withLog((log) => {
      store(log, 1);
      const segment = log.segments.open("key", NOW_MS);
      log.keys.insert(segment, key(1), 1, NOW_MS, DIGEST);
      const before = log.meter.totals.rowsWritten;
      expect(log.keys.insert(segment, key(1), 2, NOW_MS, DIGEST)).toBe(false);
      expect(log.meter.totals.rowsWritten).toBe(before);
      expect(log.keys.find(key(1))?.seq).toBe(1);
    });
  });
});

describe("the object's tables", () => {
  test("[I2] [O4] looking into an object that was never set up writes nothing", async () => {
    await withLog((_log, _again, storage) => {
      storage.sql.exec("DROP TABLE schema_version");
      const stranger = new Log(storage, NOW_MS);
      const { databaseSize } = storage.sql;
      expect(stranger.open()).toBe(false);
      expect(stranger.meter.totals.rowsWritten + stranger.meter.totals.setupRows).toBe(0);
      expect(storage.sql.databaseSize).toBe(databaseSize);
    });
  });

  test("[O10] the meter goes on from the stored row that is furthest", async () => {
    await withLog((log, again) => {
      store(log, 10);
      const written = log.meter.totals.rowsWritten;
      log.segments.seal("body", NOW_MS, log.meter.encodeWithWrite(1));
      const reopened = again();
      expect(reopened.meter.totals.rowsWritten).toBeGreaterThanOrEqual(written + 1);
      expect(reopened.meter.totals.sinceMs).toBe(NOW_MS);
      expect(reopened.meter.totals.setupRows).toBe(log.meter.totals.setupRows);
    });
  });

  test("[X6] erasing everything leaves tables as of a new object, and nothing of the old one", async () => {
    await withLog((log, again, storage) => {
      store(log, 10);
      log.segments.open("key", NOW_MS);
      log.transaction(() => log.eraseAll());
      log.reload();
      expect(log.segments.high.seq).toBe(0);
      expect(again().segments.bodies).toEqual([]);
      const names = storage.sql
        .exec<{ name: string }>("SELECT name FROM sqlite_master WHERE name GLOB 'body_*' OR name GLOB 'key_*'")
        .toArray();
      expect(names).toEqual([]);
    });
  });
});
