/** An event that takes the object with it whenever it is sent [V26], on the real runtime. */
import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { TenantBuffer } from "../../src/buffer/tenant-buffer.ts";
import { moveClock, startClock, stopClock } from "../flow/clock.ts";
import { Origin, status } from "../flow/origin.ts";
import { isBalanced, Tenant } from "../flow/tenant.ts";

beforeEach(() => startClock());

afterEach(() => {
  vi.restoreAllMocks();
  stopClock();
});

/** The alarm goes off again after it was cut off, with its count of retries, as the runtime does it. */
async function goesOffAgain(tenant: Tenant, retryCount: number): Promise<void> {
  moveClock(2_000);
  await runInDurableObject(tenant.stub, (object) =>
    (object as unknown as TenantBuffer).alarm({ retryCount, isRetry: true, scheduledTime: Date.now() }),
  ).catch(() => {});
}

test("[V26] [V41] an event whose sending kills the object is dead after five times, its neighbours are delivered, with no further request", {
  timeout: 30_000,
}, async () => {
  const origin = new Origin();
  const tenant = await Tenant.create();
  let kills = 0;
  origin.answer = async (_request, events) => {
    if (!events.some((event) => event.id === "in:evt_5")) return status(204);
    kills += 1;
    await runInDurableObject(tenant.stub, (_, state) => state.abort("out of memory")).catch(() => {});
    return status(204);
  };
  await tenant.accept(...Array.from({ length: 12 }, (_, index) => `evt_${index}`));
  await tenant.runAlarm().catch(() => {});
  for (let retryCount = 1; retryCount < 20 && (await tenant.ledger()).backlog > 0; retryCount += 1) {
    await goesOffAgain(tenant, retryCount);
  }
  expect(kills).toBe(5);
  expect(await tenant.ledger()).toMatchObject({ offered: 12, delivered: 11, dead: 1, backlog: 0, state: "closed" });
  expect((await tenant.event("evt_5"))?.destinations.origin?.state).toBe("dead");
  // The batch that killed the object went twice, as nobody had an answer to it; then each event alone.
  for (const index of [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11]) {
    expect(origin.exchangesOf(`in:evt_${index}`).length).toBeLessThanOrEqual(3);
  }
  expect(isBalanced(await tenant.stats())).toBe(true);
});
