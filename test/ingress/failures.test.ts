import { expect, test } from "vitest";
import { generic, SECRET, Site, signatureOf, signed } from "./fakes.ts";

async function siteWith(input: unknown = { sources: { internal: generic() } }): Promise<Site> {
  const site = new Site();
  await site.configure("acme", input);
  return site;
}

const failing =
  (flags: Readonly<Record<string, unknown>>, message = "boom") =>
  () => {
    throw Object.assign(new Error(message), flags);
  };

/** What the object throws, and how often it is called for one webhook. */
const failures: readonly (readonly [string, Readonly<Record<string, unknown>>, number])[] = [
  ["overloaded", { overloaded: true, retryable: true }, 1],
  ["reset", { durableObjectReset: true }, 2],
  ["retryable", { retryable: true }, 2],
  ["exception", { remote: true }, 1],
];

test.each(failures)(
  "[I13] %s: the sender hears 503 with Retry-After: 30, after %j and %d calls",
  async (code, flags, count) => {
    const site = await siteWith();
    site.object("acme").answer = failing(flags);
    const response = await site.send("/webhook/acme", await signed("{}"));
    expect([response.status, response.headers.get("retry-after"), await response.json()]).toEqual([
      503,
      "30",
      { status: "unavailable" },
    ]);
    expect(site.object("acme").calls).toHaveLength(count);
    // A stub stays broken after an exception: each call has one of its own.
    expect(site.stubs).toHaveLength(count);
    expect(site.lines).toMatchObject([{ event: "webhook-not-stored", fields: { code, tenant: "acme" } }]);
  },
);

test("[I13] what the second try stores is answered as stored", async () => {
  const site = await siteWith();
  site.object("acme").answer = (call, count) =>
    count === 1 ? failing({ retryable: true })() : { kind: "buffered", eventId: call.eventId };
  expect((await site.send("/webhook/acme", await signed("{}"))).status).toBe(202);
});

test("[I13] an object that never answers is given up within four fifths of the provider's time limit", async () => {
  const site = await siteWith({ sources: { slack: { provider: "slack", secrets: [SECRET] } } });
  site.object("acme").answer = () => new Promise(() => {});
  const body = '{"type":"event_callback","event_id":"Ev1"}';
  const time = String(Math.floor(site.nowMs / 1_000));
  const mac = await signatureOf(`v0:${time}:${body}`);
  const startedAtMs = Date.now();
  const sent = site.send("/webhook/acme", {
    body,
    headers: { "x-slack-request-timestamp": time, "x-slack-signature": `v0=${mac}` },
  });
  // The clock of the site runs with the real one.
  const tick = setInterval(() => {
    site.nowMs += 20;
  }, 20);
  const response = await sent;
  clearInterval(tick);
  expect([response.status, response.headers.get("retry-after")]).toEqual([503, "30"]);
  expect(Date.now() - startedAtMs).toBeGreaterThan(1_500);
  expect(Date.now() - startedAtMs).toBeLessThan(3_000);
  expect(site.lines).toMatchObject([{ fields: { code: "timed-out" } }]);
});

test("[O4] a stale answer is verified again with the newest configuration and called again", async () => {
  const site = await siteWith();
  const newer = await site.configure(
    "acme",
    { sources: { internal: generic(), extra: generic("another-0123456789") } },
    5,
  );
  site.kv.clear();
  const stale = new Site();
  await stale.configure("acme", { sources: { internal: generic() } }, 1);
  stale.object("acme").answer = (call) =>
    call.version < 5 ? { kind: "stale", record: newer } : { kind: "buffered", eventId: call.eventId };
  expect((await stale.send("/webhook/acme/internal", await signed("{}"))).status).toBe(202);
  expect(stale.object("acme").calls.map((call) => call.version)).toEqual([1, 5]);
  expect((await stale.send("/webhook/acme/internal", await signed("{}"))).status).toBe(202);
  expect(stale.object("acme").calls.map((call) => call.version)).toEqual([1, 5, 5]);
});

test("[O4] a removed secret dies with the stale answer: nothing is stored, and the sender hears 401", async () => {
  const site = await siteWith();
  await site.send("/webhook/acme", await signed("{}"));
  const newer = await site.configure("acme", { sources: { internal: generic("rotated-0123456789abc") } }, 2);
  site.object("acme").answer = () => ({ kind: "stale", record: newer });
  const before = site.object("acme").calls.length;
  expect((await site.send("/webhook/acme", await signed("{}"))).status).toBe(401);
  expect(site.object("acme").calls.length).toBe(before + 1);
});

test("[O4] deactivation and deletion hold from the next request", async () => {
  const site = await siteWith();
  await site.send("/webhook/acme", await signed("{}"));
  const off = await site.configure("acme", { active: false, sources: { internal: generic() } }, 2);
  site.object("acme").answer = () => ({ kind: "stale", record: off });
  expect((await site.send("/webhook/acme", await signed("{}"))).status).toBe(404);

  const other = new Site();
  await other.configure("acme", { sources: { internal: generic() } });
  await other.send("/webhook/acme", await signed("{}"));
  const record = other.kv.get("acme");
  if (record === undefined) throw new Error("configured");
  other.object("acme").answer = () => ({ kind: "stale", record: { ...record, version: 9, state: "deleted" } });
  expect((await other.send("/webhook/acme", await signed("{}"))).status).toBe(404);
});

test("[O4] an object that names a newer configuration each time is called three times, then it is 503", async () => {
  const site = await siteWith();
  const records = await Promise.all(
    [2, 3, 4, 5].map((version) => site.configure("acme", { sources: { internal: generic() } }, version)),
  );
  const fresh = await siteWith();
  fresh.object("acme").answer = (_, count) => {
    const record = records[count - 1];
    if (record === undefined) throw new Error("called too often");
    return { kind: "stale", record };
  };
  const response = await fresh.send("/webhook/acme", await signed("{}"));
  expect([response.status, response.headers.get("retry-after")]).toEqual([503, "30"]);
  expect(fresh.object("acme").calls).toHaveLength(3);
});

test("[O4] an added secret works from the next request: the object is asked before the sender is turned away", async () => {
  const site = await siteWith();
  await site.send("/webhook/acme", await signed("{}"));
  const kept = site.kv.get("acme");
  await site.configure(
    "acme",
    { sources: { internal: { provider: "generic", secrets: ["added-0123456789abcd", SECRET] } } },
    2,
  );
  if (kept !== undefined) site.kv.set("acme", kept);
  expect((await site.send("/webhook/acme", await signed("{}", {}, "added-0123456789abcd"))).status).toBe(202);
  expect(site.object("acme").configReads).toBe(1);
  // Not turned away in the end: nothing to report.
  expect(site.lines).toEqual([]);
});

test("[O4] an added source and a tenant made active again work from the next request, too", async () => {
  const site = new Site();
  await site.configure("acme", { active: false, sources: { internal: generic() } });
  expect((await site.send("/webhook/acme", await signed("{}"))).status).toBe(404);
  await site.configure("acme", { sources: { internal: generic(), extra: generic() } }, 2);
  site.nowMs += 5_000;
  expect((await site.send("/webhook/acme/extra", await signed("{}"))).status).toBe(202);
});

test("[O4] a flood of forgeries asks the object once in 5 s, and those that wait share the answer", async () => {
  const site = await siteWith();
  const init = await signed("{}", {}, "forged-0123456789abcdef");
  const responses = await Promise.all(Array.from({ length: 50 }, () => site.send("/webhook/acme", init)));
  expect(responses.every((response) => response.status === 401)).toBe(true);
  expect(site.object("acme").configReads).toBe(1);
  site.nowMs += 4_999;
  await site.send("/webhook/acme", init);
  expect(site.object("acme").configReads).toBe(1);
  site.nowMs += 1;
  await site.send("/webhook/acme", init);
  expect(site.object("acme").configReads).toBe(2);
  expect(site.object("acme").calls).toEqual([]);
});

test("[I2] [O4] nothing about a tenant that does not exist ever reaches an object", async () => {
  const site = new Site();
  for (let i = 0; i < 20; i++) await site.send(`/webhook/nobody-${i}`, await signed("{}"));
  await site.send("/webhook/nobody/source", { method: "GET" });
  expect(site.stubs).toEqual([]);
});

test("[O21] [O4] an object that does not answer keeps no refused sender waiting, and is asked again", async () => {
  const site = new Site();
  const first = await site.configure("acme", { sources: { internal: generic("another-secret-of-16") } });
  const object = site.object("acme");
  object.readConfig = () => {
    object.configReads += 1;
    return object.configReads === 1 ? new Promise(() => {}) : Promise.resolve(object.newest);
  };
  const beganMs = performance.now();
  const forged = await signed("{}", {}, "a-third-secret-of-16-chars");
  const answers = await Promise.all([site.send("/webhook/acme", forged), site.send("/webhook/acme", forged)]);
  expect(answers.map(({ status }) => status)).toEqual([401, 401]);
  expect(performance.now() - beganMs).toBeLessThan(4_000);
  await site.configure("acme", { sources: { internal: generic() } }, 2);
  site.kv.set("acme", first);
  site.nowMs += 5_000;
  expect((await site.send("/webhook/acme", await signed("{}"))).status).toBe(202);
  expect(object.configReads).toBe(2);
});

test("[O4] an object that cannot be asked leaves the refusal as it is", async () => {
  const site = await siteWith();
  site.object("acme").readConfig = () => Promise.reject(new Error("down"));
  expect((await site.send("/webhook/acme", { body: "{}" })).status).toBe(401);
});

test("[I13] [O12] an answer that this release does not know is trouble of ours: 503, a line in the log, and no exception", async () => {
  const site = new Site();
  await site.configure("acme", { sources: { internal: generic() } }, 1);
  site.object("acme").answer = () => ({ kind: "teleported" }) as never;
  const response = await site.send("/webhook/acme", await signed("{}", { "x-event-id": "one" }));
  expect([response.status, response.headers.get("retry-after")]).toEqual([503, "30"]);
  expect(site.lines).toMatchObject([{ event: "webhook-not-stored", fields: { tenant: "acme", code: "fault" } }]);
});
