import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { checkSecret } from "../../src/providers/secret.ts";
import { type CaseName, NOW_SECONDS } from "./oracle.ts";
import { oracles } from "./sdks/all.ts";
import { type Sent, Subject } from "./subject.ts";

/**
 * The providers' own packages, asked about the same requests as this product. Where the two do not agree the oracle
 * says why, and the test holds both to it.
 */

beforeAll(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: NOW_SECONDS * 1000 });
});

afterAll(() => {
  vi.useRealTimers();
});

describe.each(oracles.map((oracle) => [oracle.provider, oracle.package, oracle] as const))(
  "%s by %s",
  (provider, _, oracle) => {
    const subject = new Subject(oracle);
    const { signer, row } = subject;
    const { secret, otherSecret, header } = signer;
    const limit = subject.toleranceSeconds;

    async function expectSame(name: CaseName, sent: Sent, expected: boolean): Promise<void> {
      const ours = await subject.ours(sent, [secret]);
      const theirs = await subject.theirs(sent, secret);
      const differs = oracle.differs?.[name] !== undefined;
      expect({ ours, theirs }).toEqual({ ours: expected, theirs: differs ? !expected : expected });
    }

    test("[P5] genuine: as it was sent", async () => {
      expect(checkSecret(row, subject.configured(secret)).ok).toBe(true);
      await expectSame("as it was sent", subject.sign(), true);
    });

    test("[P5] [FR 5] altered: a byte of the body changed", async () => {
      const sent = subject.sign();
      const body = Buffer.from(sent.body);
      const at = changeable(sent.body);
      body[at] = (body[at] ?? 0) ^ 1;
      await expectSame("a byte of the body changed", { ...sent, body }, bodyIsFree(provider));
    });

    test("[P5] altered: signed with another secret", async () => {
      await expectSame("signed with another secret", subject.sign({ secret: otherSecret }), false);
    });

    test("[I9] rotated: either of two live secrets", async () => {
      for (const signing of [secret, otherSecret]) {
        const sent = subject.sign({ secret: signing });
        expect(await subject.ours(sent, [otherSecret, secret])).toBe(true);
        expect(await subject.theirs(sent, signing)).toBe(true);
      }
    });

    if (header !== null)
      test("[I8] altered: the signature cut short", async () => {
        const sent = subject.sign();
        const value = sent.headers[header ?? ""] ?? "";
        const headers = { ...sent.headers, [header ?? ""]: value.slice(0, -6) };
        await expectSame("the signature cut short", { ...sent, headers }, false);
      });

    if (header !== null)
      test("[I6] altered: the signature header removed", async () => {
        const sent = subject.sign();
        const { [header ?? ""]: removed, ...headers } = sent.headers;
        expect(removed).toBeDefined();
        await expectSame("the signature header removed", { ...sent, headers }, false);
      });

    if (limit !== null)
      test("[I10] too old", async () => {
        await expectSame("too old", subject.sign({ seconds: NOW_SECONDS - (limit ?? 0) - 60 }), false);
      });

    if (limit !== null)
      test("[I10] from the future", async () => {
        await expectSame("from the future", subject.sign({ seconds: NOW_SECONDS + (limit ?? 0) + 60 }), false);
      });

    const anyBytes = signer.bodies === "any";

    if (anyBytes)
      test("[FR 8] an empty body", async () => {
        await expectSame("an empty body", subject.sign({ body: new Uint8Array() }), true);
      });

    if (anyBytes && oracle.sign === undefined)
      test("[FR 3] bytes that are not UTF-8", async () => {
        const body = Buffer.from("7b226e616d65223a2248eb6c6c6f227d", "hex");
        await expectSame("bytes that are not UTF-8", subject.sign({ body }), true);
      });

    if (anyBytes)
      test("[I3] a line end after the body", async () => {
        const sent = subject.sign();
        const body = Buffer.concat([sent.body, Buffer.from("\n")]);
        await expectSame("a line end after the body", { ...sent, body }, bodyIsFree(provider));
      });
  },
);

/** Tokens that prove where a request comes from, and say nothing of its body. */
function bodyIsFree(provider: string): boolean {
  return provider === "google-pubsub" || provider === "monday";
}

/** Where a byte can change and leave JSON, form and base64 what they are: the last letter of the body. */
function changeable(body: Buffer): number {
  for (let at = body.length - 1; at > 0; at--) {
    const byte = body[at] ?? 0;
    if (byte >= 0x61 && byte <= 0x7a) return at;
  }
  return 0;
}
