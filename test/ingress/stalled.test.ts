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
