import { expect, test } from "vitest";
import type { GateAnswer, OriginGateCalls } from "../../src/gate/contract.ts";
import { bindings } from "../flow/tenant.ts";

type Lent = Extract<GateAnswer, { kind: "lent" }> & Disposable;

function gate(host: string): OriginGateCalls {
  return bindings.ORIGIN_GATE?.getByName(host) as unknown as OriginGateCalls;
}

async function lend(host: string, tenant: string, timeoutMs = 10_000): Promise<Lent> {
  const answer = await gate(host).ask({ tenant, timeoutMs });
  if (answer.kind !== "lent") throw new Error(`answered ${answer.kind}`);
  return answer as Lent;
}

/** Whether it is settled after a few turns of the event loop. */
async function isPending(answer: Promise<unknown>): Promise<boolean> {
  const later = new Promise((resolve) => setTimeout(resolve, 50, "later"));
  return (await Promise.race([answer, later])) === "later";
}

test("[V27] the object lends five permits to a tenant; a sixth comes when one is given back, or let go of", async () => {
  const host = `h-${crypto.randomUUID()}`;
  const held = await Promise.all(Array.from({ length: 5 }, () => lend(host, "a")));
  const sixth = lend(host, "a");
  const seventh = lend(host, "a");
  expect(await isPending(sixth)).toBe(true);
  (await lend(host, "b"))[Symbol.dispose]();
  await held[0]?.permit.end("accepted");
  held[0]?.[Symbol.dispose]();
  held.push(await sixth);
  expect(await isPending(seventh)).toBe(true);
  // A holder that dies lets go without a word.
  held[1]?.[Symbol.dispose]();
  held.push(await seventh);
  for (const each of held.slice(2)) each[Symbol.dispose]();
});

test("[V27] a permit ends by itself 5 s after the request's own limit", async () => {
  const host = `h-${crypto.randomUUID()}`;
  const beganMs = Date.now();
  const held = await Promise.all(Array.from({ length: 5 }, () => lend(host, "a", 0)));
  const sixth = await lend(host, "a", 0);
  expect(Date.now() - beganMs).toBeGreaterThanOrEqual(4_900);
  for (const each of [...held, sixth]) each[Symbol.dispose]();
}, 10_000);

test("[V27] while the host is failing a tenant is told to come later, and nobody waits at the gate", async () => {
  const host = `h-${crypto.randomUUID()}`;
  for (const tenant of ["a", "b", "a", "b", "a"]) {
    const lent = await lend(host, tenant);
    await lent.permit.end("failed");
    lent[Symbol.dispose]();
  }
  const answer = await gate(host).ask({ tenant: "c", timeoutMs: 10_000 });
  expect(answer).toMatchObject({ kind: "later" });
  expect(answer.kind === "later" && answer.afterMs).toBeGreaterThan(0);
});
