import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { configured, families, signerOf } from "../providers/differential/families.ts";
import * as independent from "../providers/differential/independent.ts";
import { mutate, randomOf } from "../providers/differential/mutate.ts";
import { SAMPLE_BODY } from "../providers/signers/signer.ts";
import { ask, http, Tenant } from "./tenant.ts";

/** A sample of what the verifier is tried with by the ten thousand, here through the whole Worker. */
const COUNT = 120;
const URL_TEXT = "https://hooks.example.com/in/tok";

/** Bodies that would hurt whoever parses them without bounds. */
const ODD_BODIES: readonly Uint8Array[] = [
  "[".repeat(500_000),
  '{"a":'.repeat(150_000),
  `{"id":"${"x".repeat(900_000)}"}`,
  `[${"{},".repeat(300_000)}{}]`,
  `{"n":${"9".repeat(900_000)}}`,
  "&".repeat(900_000),
].map((text) => Buffer.from(text));

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: independent.NOW * 1000 });
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

describe.each(families)("%s", (name, check) => {
  test(`[I8] [I13] ${COUNT} mutated requests: taken in or 401 as an independent verifier says, and never a 5xx`, async () => {
    const signer = signerOf(name);
    const secret = configured(signer);
    const isGenuine = check(secret);
    const tenant = await Tenant.create({
      sources: {
        src: { provider: name, secrets: [secret], publicUrl: URL_TEXT, params: signer.params ?? {} },
      },
      destinations: { origin: http("origin.test", { filter: { types: ["nothing.of.that.name"] } }) },
    });
    const random = randomOf(name.length * 104_729 + COUNT);
    const body = Buffer.from(signer.body ?? SAMPLE_BODY);
    const signed = signer.sign(signer.secret, { body, url: URL_TEXT, seconds: independent.NOW });
    const original: independent.Raw = { headers: signed.headers, body: signed.body ?? body, url: URL_TEXT };

    for (let i = 0; i < COUNT; i++) {
      const odd = ODD_BODIES[i];
      const raw = odd === undefined ? { ...mutate(original, random), url: URL_TEXT } : { ...original, body: odd };
      const response = await ask(`/webhook/${tenant.name}/src`, {
        method: "POST",
        headers: new Headers(raw.headers),
        body: new Uint8Array(raw.body),
      });
      await response.arrayBuffer();
      const expected = isGenuine(raw) ? "taken in" : "401";
      const actual = response.ok ? "taken in" : String(response.status);
      expect({ i, headers: raw.headers, actual }).toEqual({ i, headers: raw.headers, actual: expected });
    }
  });
});
