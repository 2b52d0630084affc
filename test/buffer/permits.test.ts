import { expect, test } from "vitest";
import { type PermitAnswer, Permits } from "../../src/buffer/permits.ts";
import type { GateAnswer } from "../../src/gate/contract.ts";

function permitOf(answer: PermitAnswer) {
  if (answer.kind !== "lent") throw new Error(`answered ${answer.kind}`);
  return answer.permit;
}

test("[V27] where the gate cannot be reached a tenant sends one request at a time to each host", async () => {
  let nowMs = 0;
  let asked = 0;
  const failing = () => ({
    ask: (): Promise<GateAnswer> => {
      asked += 1;
      return Promise.reject(new Error("Durable Object reset because its code was updated."));
    },
  });
  const permits = new Permits(failing, "acme", () => nowMs);
  const first = permitOf(await permits.ask("a.test", 10_000));
  expect(asked).toBe(1);
  expect(await permits.ask("a.test", 10_000)).toEqual({ kind: "later", afterMs: 200 });
  permitOf(await permits.ask("b.test", 10_000));
  first.end("failed");
  permitOf(await permits.ask("a.test", 10_000)).end("accepted");
  // It is not asked again for five seconds.
  expect(asked).toBe(2);
  nowMs = 5_000;
  permitOf(await permits.ask("a.test", 10_000));
  expect(asked).toBe(3);
});

test("[V27] without the binding there is no gate, and each tenant sends one request at a time", async () => {
  const permits = new Permits(null, "acme", () => 0);
  permitOf(await permits.ask("a.test", 10_000));
  expect(await permits.ask("a.test", 10_000)).toMatchObject({ kind: "later" });
});

test("[V27] what came of a request is told to the gate, and the call is let go of", async () => {
  const told: string[] = [];
  const answer = {
    kind: "lent",
    permit: { end: (outcome: string) => void told.push(outcome) },
    [Symbol.dispose]: () => void told.push("let go"),
  } as const;
  const permits = new Permits(
    () => ({ ask: () => Promise.resolve(answer) }),
    "acme",
    () => 0,
  );
  permitOf(await permits.ask("a.test", 10_000)).end("failed");
  await new Promise((resolve) => setTimeout(resolve));
  expect(told).toEqual(["failed", "let go"]);
});
