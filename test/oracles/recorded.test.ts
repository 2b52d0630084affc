import { afterEach, describe, expect, test, vi } from "vitest";
import { arrivalOf, type Vector, vectors } from "../providers/vectors.ts";
import type { Oracle, Received } from "./oracle.ts";
import { oracles } from "./sdks/all.ts";

/** The recorded requests, judged by the providers' own packages. */

afterEach(() => {
  vi.useRealTimers();
});

/** Where a package says the opposite, beside the differences that its adapter names, and why. */
const DIFFERS: Readonly<Record<string, string>> = {
  "adyen-278": "the package is asked about each item, and here is none: it has nothing to refuse",
  "liveblocks-formula-1": "genuine, but the package also wants to know the kind of event",
};

/** What the recorded sources were configured with. */
const RECORDED_PARAMS = {
  publicKey: "integration_public_key",
  audience: "https://hooks.example.com/in/pubsub",
  email: "push@p.iam.gserviceaccount.com",
};

function received(vector: Vector, oracle: Oracle): Received {
  const { method, body, headers } = arrivalOf(vector);
  const bytes = Buffer.from(body);
  return {
    method,
    url: vector.url ?? "https://hooks.example.com/in/tok",
    headers: { ...oracle.headers, ...Object.fromEntries(headers) },
    body: bytes,
    text: bytes.toString("utf8"),
    params: { ...RECORDED_PARAMS, ...vector.params },
  };
}

function expected(vector: Vector, oracle: Oracle): boolean {
  const differs =
    DIFFERS[vector.id] ?? (vector.reason === "future-timestamp" ? oracle.differs?.["from the future"] : undefined);
  return differs === undefined ? vector.valid : !vector.valid;
}

async function accepts(oracle: Oracle, vector: Vector): Promise<boolean> {
  vi.useFakeTimers({ toFake: ["Date"], now: (vector.timestamp ?? 1_795_910_400) * 1000 });
  for (const secret of vector.secrets ?? [vector.secret ?? ""]) {
    try {
      if (await oracle.accepts(received(vector, oracle), secret)) return true;
    } catch {
      // A no, and perhaps another secret fits.
    }
  }
  return false;
}

const judged = vectors.flatMap((vector) => {
  const oracle = oracles.find((one) => one.provider === vector.spec);
  return oracle === undefined || vector.kind !== "event" ? [] : [[vector.id, oracle.package, vector, oracle] as const];
});

describe("recorded requests", () => {
  test.each(judged)("[P5] %s by %s", async (_, _package, vector, oracle) => {
    expect(await accepts(oracle, vector)).toBe(expected(vector, oracle));
  });
});
