import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { generic, Site, signatureOf } from "./fakes.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A body whose chunks the test hands over one by one. */
function openBody() {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  return { readable, writer: writable.getWriter() };
}

async function turns(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
}

test("[I4] a body that brings no byte for 10 s is cut off with 408, one that keeps coming is not", async () => {
  const site = new Site();
  await site.configure("acme", { sources: { internal: generic() } });
  const pass = async (ms: number) => {
    await turns();
    site.nowMs += ms;
    await vi.advanceTimersByTimeAsync(ms);
  };
  const { readable, writer } = openBody();
  const headers = { "x-signature": await signatureOf("abc") };
  const sent = site.send("/webhook/acme", { body: readable, headers });
  void writer.write(new TextEncoder().encode("a"));
  await pass(9_000);
  void writer.write(new TextEncoder().encode("b"));
  await pass(9_000);
  void writer.write(new TextEncoder().encode("c"));
  await turns();
  void writer.close();
  expect((await sent).status).toBe(202);

  const stalling = openBody();
  const stalled = site.send("/webhook/acme", { body: stalling.readable, headers });
  void stalling.writer.write(new TextEncoder().encode("a")).catch(() => {});
  await pass(9_900);
  const early = await Promise.race([stalled, turns().then(() => null)]);
  expect(early).toBeNull();
  await pass(100);
  const response = await stalled;
  expect(response.status).toBe(408);
  expect(await response.json()).toMatchObject({ code: "body-stalled" });
  expect(site.object("acme").calls).toHaveLength(1);
});

test("[I20] a body that comes byte by byte is cut off after 120 s, and leaves its place to others", async () => {
  const site = new Site();
  await site.configure("acme", { maxBodyBytes: 26_214_400, sources: { internal: generic() } });
  const headers = { "x-signature": "00", "content-length": "2000000" };
  const bodies = [openBody(), openBody()];
  const dripping = bodies.map(({ readable }) => site.send("/webhook/acme", { body: readable, headers }));
  for (let seconds = 0; seconds < 120; seconds += 8) {
    for (const { writer } of bodies) void writer.write(new TextEncoder().encode("a")).catch(() => {});
    await turns();
    site.nowMs += 8_000;
    await vi.advanceTimersByTimeAsync(8_000);
    if (seconds === 0) expect((await site.send("/webhook/acme", { body: "a", headers })).status).toBe(503);
  }
  await turns();
  const answers = await Promise.race([Promise.all(dripping), turns().then(() => [])]);
  expect(answers.map(({ status }) => status)).toEqual([408, 408]);
  expect((await site.send("/webhook/acme", { body: "a", headers })).status).toBe(401);
});
