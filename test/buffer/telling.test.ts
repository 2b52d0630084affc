/** Changes of a configuration that overtake each other on their way to KV [O4]. */
import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { hurried, startClock, stopClock } from "../flow/clock.ts";
import { gate, Origin } from "../flow/origin.ts";
import { admin, bindings, http, Tenant } from "../flow/tenant.ts";

beforeEach(() => startClock());

afterEach(() => {
  vi.restoreAllMocks();
  stopClock();
});

type Put = (key: string, value: string) => Promise<void>;

/** From here on the object writes to KV as `put` has it; `written` does what KV does. */
async function interceptPuts(tenant: Tenant, put: (key: string, written: () => Promise<void>) => Promise<void>) {
  await runInDurableObject(tenant.stub, (instance) => {
    const { env } = instance as unknown as { env: { TENANT_CONFIG: KVNamespace } };
    const kv = env.TENANT_CONFIG;
    const slow = new Proxy(kv, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== "function") return member;
        const own = member.bind(target) as Put;
        return name === "put" ? (key: string, value: string) => put(key, () => own(key, value)) : own;
      },
    });
    Object.defineProperty(env, "TENANT_CONFIG", { configurable: true, value: slow });
  });
}

/**
 * From here on the object's write number `held` of the tenant's configuration waits until it is let go, and those that
 * `isDown` names fail.
 */
async function holdPut(tenant: Tenant, held: number, isDown: (put: number) => boolean = () => false) {
  const slow = gate();
  const begun = gate();
  let puts = 0;
  await interceptPuts(tenant, async (key, written) => {
    if (key.startsWith("tenant:")) {
      puts += 1;
      if (isDown(puts)) throw new Error("KV is down");
      if (puts === held) {
        begun.open(new Response());
        await slow.answer;
      }
    }
    await written();
  });
  return { begun: begun.answer, letGo: () => slow.open(new Response()) };
}

async function versionInKv(tenant: Tenant): Promise<number | undefined> {
  return (await bindings.TENANT_CONFIG.get<{ version: number }>(`tenant:${tenant.name}`, "json"))?.version;
}

test("[O22] [O4] a write to KV that a newer one overtook is not what remains there", async () => {
  new Origin();
  const tenant = await Tenant.create();
  const { begun, letGo } = await holdPut(tenant, 1);
  const first = tenant.configure({ destinations: { origin: http("first.test") } });
  await begun;
  await tenant.reconfigure({ destinations: { origin: http("second.test") } });
  letGo();
  expect((await first).status).toBe(200);
  expect(await versionInKv(tenant)).toBe((await tenant.calls.readConfig())?.version);
});

test("[O4] [V20] a tenant that is created anew while KV is still told of its deletion stays, and delivers", async () => {
  const origin = new Origin();
  const tenant = await Tenant.create();
  const { begun, letGo } = await holdPut(tenant, 2, (put) => put === 1);
  expect((await admin("DELETE", `/tenants/${tenant.name}`)).status).toBe(503);
  const telling = tenant.runAlarm();
  await begun;
  await tenant.reconfigure({});
  await tenant.accept("evt_1");
  letGo();
  await telling;
  expect((await tenant.calls.readConfig())?.state).toBe("live");
  await tenant.runFor(60_000);
  expect(origin.ids()).toEqual(["in:evt_1"]);
});

test("[O4] a change that KV could not be told of while it was told of the one before is told later", async () => {
  new Origin();
  const tenant = await Tenant.create();
  await tenant.runFor(60_000);
  const { begun, letGo } = await holdPut(tenant, 2, (put) => put === 1 || put === 3);
  expect((await tenant.configure({ destinations: { origin: http("first.test") } })).status).toBe(503);
  vi.setSystemTime(Date.now() + 10_000);
  const telling = tenant.runAlarm();
  await begun;
  expect((await tenant.configure({ destinations: { origin: http("second.test") } })).status).toBe(503);
  letGo();
  await telling;
  await tenant.runFor(60_000);
  expect(await versionInKv(tenant)).toBe((await tenant.calls.readConfig())?.version);
});

test("[O22] [V20] a KV that does not answer holds no event up", async () => {
  const origin = new Origin();
  const tenant = await Tenant.create();
  await tenant.runFor(60_000);
  let puts = 0;
  await interceptPuts(tenant, async (key, written) => {
    if (key.startsWith("tenant:")) {
      puts += 1;
      if (puts === 1) throw new Error("KV is down");
      if (puts === 2) await new Promise(() => {});
    }
    await written();
  });
  expect((await tenant.configure({})).status).toBe(503);
  vi.setSystemTime(Date.now() + 10_000);
  await tenant.accept("evt_1");
  await hurried(() => tenant.runAlarm());
  expect(origin.ids()).toEqual(["in:evt_1"]);
  await tenant.runFor(60_000);
  expect(await versionInKv(tenant)).toBe((await tenant.calls.readConfig())?.version);
});
