import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startClock, stopClock } from "./clock.ts";
import { bytesOf, Origin } from "./origin.ts";
import { isBalanced, Tenant } from "./tenant.ts";

beforeEach(() => startClock());

afterEach(() => {
  vi.restoreAllMocks();
  stopClock();
});

test("[I12] [V2] [X5] a signed event is answered 202, delivered once in a batch, and the ledger balances", async () => {
  const origin = new Origin();
  const tenant = await Tenant.create();
  const response = await tenant.post("evt_1", '{"type":"invoice.paid"}');
  expect(response.status).toBe(202);
  expect(await response.json()).toEqual({ status: "buffered", eventId: "in:evt_1" });
  await tenant.settle();
  expect(origin.ids()).toEqual(["in:evt_1"]);
  const stats = await tenant.stats();
  expect(stats.destinations["origin"]).toMatchObject({ offered: 1, delivered: 1, backlog: 0, state: "closed" });
  expect(isBalanced(stats)).toBe(true);
});

test("[I3] [V2] bytes that are not UTF-8, a BOM and CR LF arrive exactly as sent", async () => {
  const origin = new Origin();
  const tenant = await Tenant.create();
  const bodies = [
    new Uint8Array([0x48, 0xeb, 0x6c, 0x00, 0xff]),
    new Uint8Array([0xef, 0xbb, 0xbf, 0x7b, 0x7d]),
    new TextEncoder().encode('{\r\n "a": "\\u00e4 ä"\r\n}\r\n'),
    new Uint8Array(0),
  ];
  for (const [index, body] of bodies.entries()) expect((await tenant.post(`evt_${index}`, body)).status).toBe(202);
  await tenant.settle();
  expect(origin.accepted.map(bytesOf)).toEqual(bodies);
});

test("[D3] [D4] racing copies store one event and answer one 202, and a duplicate writes no row", async () => {
  new Origin();
  const tenant = await Tenant.create({ destinations: { origin: { kind: "http", url: "https://origin.test/in" } } });
  const answers = await Promise.all(Array.from({ length: 20 }, () => tenant.post("evt_1", "{}")));
  const statuses = answers.map((answer) => answer.status).sort();
  expect(statuses).toEqual([...Array.from({ length: 19 }, () => 200), 202]);
  const before = await tenant.stats();
  for (let repeat = 0; repeat < 5; repeat += 1) expect((await tenant.post("evt_1", "{}")).status).toBe(200);
  const after = await tenant.stats();
  expect(after.accepted).toBe(1);
  expect(after.cost.rowsWritten).toBe(before.cost.rowsWritten);
});
