import { expect, test } from "vitest";
import { Deadline, EXPIRED } from "../../src/ingress/deadline.ts";

const never = new Promise<never>(() => {});
const now = () => Date.now();
const after = (delayMs: number) => new Promise<string>((resolve) => setTimeout(() => resolve("done"), delayMs));

test("[I13] work that ends in time is handed on, work that fails too", async () => {
  const deadline = new Deadline(now, now(), 1_000, 1_000);
  expect(await deadline.within(Promise.resolve(7))).toBe(7);
  await expect(deadline.within(Promise.reject(new Error("boom")))).rejects.toThrow("boom");
  expect(deadline.leftMs()).toBeGreaterThan(500);
  deadline.end();
});

test("[I13] work that does not end is no longer waited for", async () => {
  const deadline = new Deadline(now, now(), 20, 20);
  expect(await deadline.within(never)).toBe(EXPIRED);
  expect(deadline.leftMs()).toBeLessThanOrEqual(1);
  deadline.end();
});

test("[I4] the limit may be later than the timer was set for: the timer then waits for the rest", async () => {
  const deadline = new Deadline(now, now(), 200, 10);
  expect(await deadline.within(after(60))).toBe("done");
  deadline.end();
});

test("[I4] with each byte the time begins anew", async () => {
  const deadline = new Deadline(now, now(), 50, 50);
  for (let i = 0; i < 4; i++) {
    expect(await deadline.within(after(25))).toBe("done");
    deadline.restart();
  }
  expect(await deadline.within(never)).toBe(EXPIRED);
  deadline.end();
});

test("[I13] the limit may be moved nearer", async () => {
  const deadline = new Deadline(now, now(), 60_000, 60_000);
  deadline.moveTo(now() + 20);
  expect(await deadline.within(never)).toBe(EXPIRED);
  deadline.end();
});

test("[I13] [I16] a limit that is moved on after the time was up counts all the same", async () => {
  const deadline = new Deadline(now, now(), 20, 20);
  // Nothing is waited for when the timer goes off: the body has come, its signature is being checked.
  await after(60);
  deadline.moveTo(now() + 20);
  expect(await Promise.race([deadline.within(never), after(500)])).toBe(EXPIRED);
  deadline.end();
});

test("[I13] the time counts from the beginning of the request, however long its configuration took to load", async () => {
  const startedMs = now() - 400;
  const deadline = new Deadline(now, startedMs, 500, 500);
  expect(await Promise.race([deadline.within(never), after(300)])).toBe(EXPIRED);
  deadline.end();
});
