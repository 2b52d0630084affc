import { expect, test } from "vitest";
import { BodyBudget } from "../../src/ingress/body-budget.ts";
import { Deadline } from "../../src/ingress/deadline.ts";
import { declaredLength, readBody } from "../../src/ingress/read-body.ts";

const now = () => Date.now();

/** A body that comes in these chunks; `hangs`: it never ends. */
function chunked(chunks: readonly Uint8Array[], hangs = false): ReadableStream<Uint8Array> {
  let next = 0;
  return new ReadableStream({
    pull(controller) {
      const chunk = chunks[next];
      next += 1;
      if (chunk !== undefined) controller.enqueue(chunk);
      else if (!hangs) controller.close();
      else return new Promise(() => {});
      return undefined;
    },
  });
}

function requestOf(body: BodyInit | null): Request {
  return new Request("https://h/webhook/acme", { method: "POST", body });
}

async function read(
  body: BodyInit | null,
  options: { declared?: number; max?: number; budget?: BodyBudget; limitMs?: number } = {},
) {
  const deadline = new Deadline(now, now(), options.limitMs ?? 5_000, options.limitMs ?? 5_000);
  try {
    const { declared = null, max = 1_048_576, budget = new BodyBudget() } = options;
    return await readBody(requestOf(body), declared, max, budget, deadline);
  } finally {
    deadline.end();
  }
}

const bytes = (length: number) => Uint8Array.from({ length }, (_, index) => (index * 31) % 256);

test.each([0, 1, 16_384, 16_385, 300_000])(
  "[I3] a body of %d bytes comes back exactly, declared or not",
  async (size) => {
    const body = bytes(size);
    for (const declared of [size, undefined]) {
      const result = await read(chunked(size === 0 ? [] : [body.slice(0, size >> 1), body.slice(size >> 1)]), {
        ...(declared === undefined ? {} : { declared }),
      });
      if (result.kind !== "body") throw new Error(result.kind);
      expect(result.bytes).toEqual(body);
      // A view of a larger buffer would carry all of it through the call to the object.
      expect(result.bytes.buffer.byteLength).toBe(size);
    }
    expect(await read(null)).toMatchObject({ kind: "body" });
  },
);

test("[I4] what is declared too large is refused before a byte is read", async () => {
  const body = chunked([bytes(10)], true);
  expect(await read(body, { declared: 2_000, max: 1_999 })).toEqual({ kind: "too-large" });
});

test("[I4] what turns out too large is refused while reading, whether the length was absent or a lie", async () => {
  const endless = () => chunked(Array.from({ length: 50 }, () => bytes(100)));
  expect(await read(endless(), { max: 1_024 })).toEqual({ kind: "too-large" });
  expect(await read(endless(), { max: 1_024, declared: 10 })).toEqual({ kind: "too-large" });
  expect(await read(bytes(20_000), { max: 19_000, declared: 17_000 })).toEqual({ kind: "too-large" });
  const exact = await read(chunked([bytes(1_024)]), { max: 1_024 });
  expect(exact).toMatchObject({ kind: "body" });
});

test("[I3] a false length does not cut or stretch what came", async () => {
  const short = await read(chunked([bytes(20_000)]), { declared: 30_000 });
  expect(short.kind === "body" && short.bytes).toEqual(bytes(20_000));
  const long = await read(chunked([bytes(20_000), bytes(20_000)]), { declared: 20_000 });
  expect(long.kind === "body" && long.bytes.length).toBe(40_000);
});

test("[I4] [I16] a body that stops coming is cut off, small or large, declared or not", async () => {
  for (const declared of [100, 100_000, undefined]) {
    const body = chunked([bytes(10)], true);
    const options = { limitMs: 20, ...(declared === undefined ? {} : { declared }) };
    expect(await read(body, options)).toEqual({ kind: "stalled" });
  }
});

test("[I4] a body that breaks off is told from one that is complete", async () => {
  const broken = () =>
    new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.error(new Error("connection lost"));
      },
    });
  expect(await read(broken(), { declared: 100 })).toEqual({ kind: "broken" });
  expect(await read(broken())).toEqual({ kind: "broken" });
});

test("[I4] [I19] an isolate holds at most 64 MB of bodies, 8 MB of them small ones, and gives back what is done with", async () => {
  const budget = new BodyBudget();
  const holds = Array.from({ length: 56 }, () => budget.hold(1_000_000));
  expect(holds.every((hold) => hold !== null)).toBe(true);
  expect(await read(bytes(16_385), { declared: 16_385, budget })).toEqual({ kind: "busy" });
  expect(await read(chunked([bytes(16_385)]), { budget })).toEqual({ kind: "busy" });
  // 8,000,000 bytes are left: 488 small bodies of the largest size, and a bit.
  const small = await Promise.all(Array.from({ length: 489 }, () => read(bytes(16_384), { declared: 16_384, budget })));
  expect(small.map(({ kind }) => kind)).toEqual([...new Array<string>(488).fill("body"), "busy"]);
  expect(await read(chunked([bytes(16_384)]), { budget })).toEqual({ kind: "busy" });
  holds[0]?.release();
  holds[0]?.release();
  expect(budget.heldBytes).toBe(55_000_000 + 488 * 16_384);
  const result = await read(chunked([bytes(1_000)]), { budget });
  if (result.kind !== "body") throw new Error(result.kind);
  for (const body of [...small, result]) if (body.kind === "body") body.hold.release();
  expect(budget.heldBytes).toBe(55_000_000);
});

test("[I4] what is refused while reading holds nothing afterwards", async () => {
  const budget = new BodyBudget();
  await read(chunked(Array.from({ length: 50 }, () => bytes(1_000))), { max: 10_000, budget });
  await read(chunked([bytes(10)], true), { limitMs: 20, budget });
  expect(budget.heldBytes).toBe(0);
});

test("[I4] at most two bodies over 1,500,000 bytes at a time, known beforehand or found out", () => {
  const budget = new BodyBudget();
  const first = budget.hold(1_500_001);
  const growing = budget.hold(0);
  expect(growing?.growTo(1_500_001)).toBe(true);
  expect(budget.hold(1_500_001)).toBeNull();
  expect(budget.hold(1_500_000)?.growTo(1_500_001)).toBe(false);
  first?.release();
  expect(budget.hold(1_500_001)).not.toBeNull();
});

test("[I4] only digits are a length", () => {
  const lengthOf = (text: string) => declaredLength(new Headers({ "content-length": text }));
  expect([lengthOf("0"), lengthOf("1048576")]).toEqual([0, 1_048_576]);
  expect([lengthOf("-1"), lengthOf("1e3"), lengthOf("0x10"), lengthOf("1,1"), lengthOf("9".repeat(16))]).toEqual([
    null,
    null,
    null,
    null,
    null,
  ]);
  expect(declaredLength(new Headers())).toBeNull();
});
