import { describe, expect, test } from "vitest";
import { identify } from "../../../src/providers/identify.ts";
import { verify } from "../../../src/providers/verify.ts";
import { SAMPLE_BODY } from "../signers/signer.ts";
import { arrival, row, source } from "../sources.ts";
import { configured, families, signerOf } from "./families.ts";
import * as independent from "./independent.ts";
import { mutate, randomOf } from "./mutate.ts";

/** How many mutated requests each family gets. */
const COUNT = Number(process.env.MUTATED_REQUESTS ?? 10_000);
const URL_TEXT = "https://hooks.example.com/in/tok";
const NOW_MS = independent.NOW * 1000;

describe.each(families)("%s", (name, check) => {
  test(`[I8] ${COUNT} mutated requests: the same verdict as an independent verifier, and never an exception`, async () => {
    const signer = signerOf(name);
    const isGenuine = check(configured(signer));
    const from = source([configured(signer)], { params: signer.params ?? {} });
    const random = randomOf(name.length * 7_919 + COUNT);
    const body = Buffer.from(signer.body ?? SAMPLE_BODY);
    const signed = signer.sign(signer.secret, { body, url: URL_TEXT, seconds: independent.NOW });
    const original: independent.Raw = {
      headers: signed.headers,
      body: signed.body ?? body,
      url: signed.url ?? URL_TEXT,
    };
    let genuineCount = 0;
    for (let i = 0; i < COUNT; i++) {
      const raw = mutate(original, random);
      const request = arrival(raw.headers, raw.body, { url: raw.url, receivedAtMs: NOW_MS });
      const verdict = await verify(row(name), from, request);
      const expected = isGenuine(raw);
      if ((verdict.kind === "genuine") !== expected) {
        expect({ i, raw: { ...raw, body: Buffer.from(raw.body).toString("base64") }, verdict, expected }).toBeNull();
      }
      if (verdict.kind === "genuine") {
        genuineCount++;
        // Two live secrets take the general way: it must say the same.
        const again = await verify(row(name), { ...from, secrets: [...from.secrets, ...from.secrets] }, request);
        expect(again.kind).toBe("genuine");
        expect(identify(row(name), from, request, "00").eventId).toMatch(/^src:[!-~]{1,207}$/);
      } else expect(verdict.kind).toBe("rejected");
    }
    // The mix must hold both, or nothing was compared.
    expect(genuineCount).toBeGreaterThan(COUNT / 20);
    expect(genuineCount).toBeLessThan(COUNT * 0.9);
  }, 120_000);
});
