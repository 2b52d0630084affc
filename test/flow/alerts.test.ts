import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { moveClock, startClock, stopClock } from "./clock.ts";
import { Origin, type Received, status } from "./origin.ts";
import { ask, http, SECRET, Tenant } from "./tenant.ts";

const ALERTS = { webhookUrl: "https://alerts.test/in" };

beforeEach(() => startClock());

afterEach(() => {
  vi.restoreAllMocks();
  stopClock();
});

interface Told {
  readonly type: string;
  readonly data: {
    kind: string;
    destination: string | null;
    subject: string | null;
    waitingEvents: number;
    link: string;
  };
}

/** An origin that answers deliveries as `answer` says, and takes alerts. */
class AlertedOrigin extends Origin {
  readonly told: Told[] = [];
  deliver: (events: readonly { readonly id: string }[]) => number = () => 204;
  takeAlert: () => number = () => 204;

  constructor() {
    super();
    this.answer = (request, events) => {
      if (!request.url.startsWith(ALERTS.webhookUrl)) return status(this.deliver(events));
      const taken = this.takeAlert();
      if (taken === 204) this.told.push(toldBy(request));
      return status(taken);
    };
  }

  /** What was told so far, as `raised breaker-open`. */
  summary(): string[] {
    return this.told.map(({ type, data }) => `${type.replace("alert.", "")} ${data.kind}`);
  }
}

function toldBy(request: Received): Told {
  return JSON.parse(new TextDecoder().decode(request.body)) as Told;
}

/** Runs for `ms`; what is told beside a run may still be on its way when that ends. */
async function runFor(tenant: Tenant, ms: number): Promise<void> {
  await tenant.runFor(ms);
  await new Promise((resolve) => setTimeout(resolve, 20));
}

async function alertsOf(tenant: Tenant): Promise<string[]> {
  const { alerts } = await tenant.stats();
  return alerts.filter((alert) => alert.clearedAt === null).map((alert) => alert.kind);
}

test("[O9] an outage is told once when it begins and once when it ends, with what waits and a link", async () => {
  const origin = new AlertedOrigin();
  origin.deliver = () => 500;
  const tenant = await Tenant.create({ alerts: ALERTS });
  await tenant.accept(...Array.from({ length: 12 }, (_, index) => `evt_${index}`));
  await runFor(tenant, 60_000);
  expect(origin.summary()).toEqual(["raised breaker-open"]);
  expect(origin.told[0]?.data).toMatchObject({
    destination: "origin",
    waitingEvents: 12,
    link: `https://buf.test/admin/tenants/${tenant.name}/stats`,
  });
  await runFor(tenant, 1_200_000);
  expect(origin.summary()).toEqual(["raised breaker-open", "raised oldest-event"]);
  origin.deliver = () => 204;
  await runFor(tenant, 1_200_000);
  expect(origin.summary().slice(2).sort()).toEqual(["cleared breaker-open", "cleared oldest-event"]);
  expect(await alertsOf(tenant)).toEqual([]);
  await runFor(tenant, 7_200_000);
  expect(origin.told).toHaveLength(4);
});

test("[O9] an alert that nobody takes is tried five times, shown in stats, and delays no delivery", async () => {
  const origin = new AlertedOrigin();
  let tries = 0;
  origin.takeAlert = () => {
    tries += 1;
    return 503;
  };
  const tenant = await Tenant.create({
    alerts: ALERTS,
    destinations: { origin: http("origin.test", { retry: { maxAttempts: 1 } }) },
  });
  origin.deliver = (events) => (events.length === 1 && events[0]?.id === "in:evt_0" ? 422 : 204);
  await tenant.accept("evt_1");
  await runFor(tenant, 1_000);
  await tenant.accept("evt_0");
  await runFor(tenant, 1_000);
  await runFor(tenant, 7_200_000);
  const { alerts } = await tenant.stats();
  const untold = alerts.filter((alert) => alert.untold !== undefined);
  expect(untold.map((alert) => alert.kind).sort()).toEqual(["dead-letters", "event-refused"]);
  expect(untold[0]?.untold).toEqual({ what: "raised", tries: 5, failure: "webhook: answered 503", nextTryAt: null });
  expect(tries).toBe(5 * untold.length);
  expect(origin.told).toEqual([]);
});

test("[O9] a hanging alert webhook keeps no event waiting", async () => {
  const origin = new AlertedOrigin();
  const tenant = await Tenant.create({ alerts: ALERTS });
  const { answer } = origin;
  let isHanging = false;
  origin.answer = (request, events) => {
    if (!request.url.startsWith(ALERTS.webhookUrl)) return answer(request, events);
    isHanging = true;
    return new Promise((_, reject) => request.signal?.addEventListener("abort", () => reject(new Error("aborted"))));
  };
  origin.deliver = (events) => (events.length === 1 && events[0]?.id === "in:bad" ? 400 : 204);
  await tenant.accept("good_0");
  await tenant.runFor(1_000);
  await tenant.accept("bad");
  await tenant.runFor(1_000);
  await vi.waitFor(() => expect(isHanging).toBe(true));
  await tenant.accept("good_1");
  const beganMs = performance.now();
  await tenant.runFor(1_000);
  expect(performance.now() - beganMs).toBeLessThan(5_000);
  expect(origin.ids()).toEqual(["in:good_0", "in:good_1"]);
}, 20_000);

test("[O9] the first dead letter is told, then when their number doubles, an hour apart at least", async () => {
  const origin = new AlertedOrigin();
  const tenant = await Tenant.create({
    alerts: ALERTS,
    destinations: { origin: http("origin.test", { retry: { maxAttempts: 1 } }) },
  });
  origin.deliver = (events) => (events.some((event) => event.id.includes("bad")) ? 400 : 204);
  const die = async (id: string): Promise<void> => {
    await tenant.accept(`good_${id}`);
    await runFor(tenant, 1_000);
    await tenant.accept(`bad_${id}`);
    await runFor(tenant, 1_000);
  };
  const deaths = () => origin.told.filter(({ data }) => data.kind === "dead-letters").length;
  await die("1");
  expect(deaths()).toBe(1);
  await die("2");
  await die("3");
  expect(deaths()).toBe(1);
  await runFor(tenant, 3_600_000);
  expect(deaths()).toBe(2);
  await die("4");
  await runFor(tenant, 3_600_000);
  expect(deaths()).toBe(3);
  expect((await tenant.ledger()).dead).toBe(4);
});

test("[O9] [O18] an event refused with a new status is told once for its type", async () => {
  const origin = new AlertedOrigin();
  const tenant = await Tenant.create({ alerts: ALERTS, sources: { in: { provider: "generic", secrets: [SECRET] } } });
  let code = 422;
  origin.deliver = (events) => (events.some((event) => event.id.includes("bad")) ? code : 204);
  const refuse = async (id: string, type: string): Promise<void> => {
    await tenant.accept(`good_${id}`);
    await runFor(tenant, 1_000);
    expect((await tenant.post(`bad_${id}`, JSON.stringify({ type }))).status).toBe(202);
    await runFor(tenant, 1_000);
  };
  const subjects = () =>
    origin.told.filter(({ data }) => data.kind === "event-refused").map(({ data }) => data.subject);
  await refuse("1", "a");
  await refuse("2", "a");
  expect(subjects()).toEqual(["422 a"]);
  await refuse("3", "b");
  code = 400;
  await refuse("4", "a");
  expect(subjects()).toEqual(["422 a", "422 b", "400 a"]);
  const detail = (await tenant.stats()).alerts.find((alert) => alert.subject === "400 a")?.detail;
  expect(detail).toBe("answered 400 to an event of type a (in:bad_4)");
});

test("[O9] a secret within seven days of its retirement is told, also where nothing arrives", async () => {
  const origin = new AlertedOrigin();
  const retiresAt = new Date(Date.now() + 10 * 86_400_000).toISOString();
  const secrets = [SECRET, { value: `${SECRET}-old`, retiresAt }];
  const tenant = await Tenant.create({ alerts: ALERTS, sources: { in: { provider: "generic", secrets } } });
  await runFor(tenant, 2 * 86_400_000);
  expect(origin.told).toEqual([]);
  await runFor(tenant, 2 * 86_400_000);
  expect(origin.told.map(({ data }) => [data.kind, data.subject])).toEqual([["secret-retiring", "in"]]);
  await runFor(tenant, 7 * 86_400_000);
  expect(origin.summary()).toEqual(["raised secret-retiring", "cleared secret-retiring"]);
});

test("[O9] a source that has been silent is told, and that it is heard again; an eviction does not forget it", async () => {
  const origin = new AlertedOrigin();
  const tenant = await Tenant.create({ alerts: { ...ALERTS, silentSourceSeconds: 3_600 } });
  await tenant.accept("evt_1");
  await runFor(tenant, 1_800_000);
  await tenant.accept("evt_2");
  await runFor(tenant, 1_000);
  await tenant.evict();
  await runFor(tenant, 3_000_000);
  expect(origin.summary()).toEqual([]);
  await runFor(tenant, 1_200_000);
  expect(origin.summary()).toEqual(["raised source-silent"]);
  await tenant.accept("evt_3");
  await runFor(tenant, 1_000);
  expect(origin.summary()).toEqual(["raised source-silent", "cleared source-silent"]);
});

test("[O9] [O17] who names an address while an alert is up is told of it; without one alerts are only shown", async () => {
  const origin = new AlertedOrigin();
  origin.deliver = () => 500;
  const tenant = await Tenant.create();
  await tenant.accept(...Array.from({ length: 12 }, (_, index) => `evt_${index}`));
  await runFor(tenant, 60_000);
  expect(await alertsOf(tenant)).toEqual(["breaker-open"]);
  expect(origin.told).toEqual([]);
  moveClock(1_000);
  await tenant.reconfigure({ alerts: ALERTS });
  await runFor(tenant, 1_000);
  expect(origin.summary()).toEqual(["raised breaker-open"]);
});

test("[O9] [C1] without an alert a delivery writes not one row more", async () => {
  new AlertedOrigin();
  const plain = await Tenant.create();
  const alerted = await Tenant.create({ alerts: ALERTS });
  const rows = async (tenant: Tenant): Promise<number> => {
    await tenant.accept("warm");
    await runFor(tenant, 5_000);
    const before = (await tenant.stats()).cost.rowsWritten;
    for (const id of ["a", "b", "c"]) {
      await tenant.accept(id);
      await runFor(tenant, 5_000);
    }
    return (await tenant.stats()).cost.rowsWritten - before;
  };
  expect(await rows(alerted)).toBe(await rows(plain));
});

test("[O9] [O7] when over half of at least 20 requests are turned away within five minutes, that is told, and that it is over", async () => {
  const origin = new AlertedOrigin();
  const tenant = await Tenant.create({ alerts: ALERTS });
  const forge = async (count: number): Promise<void> => {
    for (let each = 0; each < count; each += 1) {
      const response = await ask(`/webhook/${tenant.name}`, {
        method: "POST",
        headers: { "x-signature": "00".repeat(32), "x-event-id": `forged_${each}` },
        body: "{}",
      });
      expect(response.status).toBe(401);
    }
  };
  await tenant.accept("evt_1", "evt_2", "evt_3");
  await forge(20);
  expect(origin.told).toEqual([]);
  // The isolate tells of the others with the first that comes 30 s later.
  moveClock(30_000);
  await forge(1);
  await new Promise((resolve) => setTimeout(resolve, 50));
  await runFor(tenant, 1_000);
  expect(origin.summary()).toEqual(["raised rejections-high"]);
  await runFor(tenant, 600_000);
  expect(origin.summary()).toEqual(["raised rejections-high", "cleared rejections-high"]);
});
