import { describe, expect, test } from "vitest";
import type { Arrival, VerifySource } from "../../src/providers/arrival.ts";
import { providerNames, providerRow } from "../../src/providers/catalogue.ts";
import { carriesSignature } from "../../src/providers/headers.ts";
import type { ProviderRow } from "../../src/providers/row.ts";
import { checkSecret } from "../../src/providers/secret.ts";
import { strengthOf } from "../../src/providers/strength.ts";
import { type Verdict, verify } from "../../src/providers/verify.ts";
import { SAMPLE_BODY, type Signer } from "./signers/signer.ts";
import { signers } from "./signers/signers.ts";

/**
 * One suite for every row [P5]: what a provider signs by its documentation is genuine, and nothing else is. The
 * signers are written apart from the table, with `node:crypto` only.
 */
const NOW_SECONDS = 1_795_910_400;
const URL_TEXT = "https://hooks.example.com/in/tok";

interface Case {
  readonly row: ProviderRow;
  readonly signer: Signer;
  readonly source: VerifySource;
}

function caseOf(name: string): Case {
  const row = providerRow(name);
  const signer = signers[name];
  if (row === undefined || signer === undefined) throw new Error(`no row or signer ${name}`);
  const source: VerifySource = {
    id: "src",
    secrets: [(signer.configured ?? String)(signer.secret)],
    toleranceSeconds: null,
    publicUrl: null,
    params: signer.params ?? {},
    verifyToken: null,
    eventId: null,
  };
  return { row, signer, source };
}

function signed(signer: Signer, other: { secret?: string; body?: Uint8Array; seconds?: number } = {}): Arrival {
  const body = other.body ?? Buffer.from(signer.body ?? SAMPLE_BODY);
  const request = signer.sign(other.secret ?? signer.secret, {
    body,
    url: URL_TEXT,
    seconds: other.seconds ?? NOW_SECONDS,
  });
  return {
    method: "POST",
    url: new URL(request.url ?? URL_TEXT),
    headers: new Headers({ "content-type": "application/json", ...request.headers }),
    body: new Uint8Array(request.body ?? body),
    receivedAtMs: NOW_SECONDS * 1000,
  };
}

function kindOf(verdict: Verdict): string {
  return verdict.kind === "rejected" ? `rejected: ${verdict.reason}` : verdict.kind;
}

function coversBody(row: ProviderRow): boolean {
  return ["body", "body-and-time"].includes(strengthOf(row.scheme));
}

/** How far the time that is signed may be from now; null: none is signed. */
function toleranceOf({ scheme }: ProviderRow): number | null {
  return "time" in scheme ? (scheme.time?.toleranceSeconds ?? null) : null;
}

const names = providerNames();
const withHeader = names.filter((name) => caseOf(name).signer.header !== null);
const timed = names.filter((name) => toleranceOf(caseOf(name).row) !== null);
const free = names.filter((name) => caseOf(name).signer.bodies === "any");

test("[P5] every row has a signer that was written apart from it, and no signer is without a row", () => {
  expect(Object.keys(signers).sort()).toEqual([...names].sort());
});

describe.each(names)("%s", (name) => {
  const { row, signer, source } = caseOf(name);

  test("[P5] accepts what the provider signs", async () => {
    expect(source.secrets.map((secret) => checkSecret(row, secret).ok)).toEqual([true]);
    expect(kindOf(await verify(row, source, signed(signer)))).toBe("genuine");
  });

  test("[P5] refuses what another secret signed", async () => {
    const verdict = await verify(row, source, signed(signer, { secret: signer.otherSecret }));
    expect(kindOf(verdict)).toMatch(/^rejected: (signature-mismatch|wrong-token)$/);
  });

  test("[I9] accepts either of two live secrets", async () => {
    const configured = signer.configured ?? String;
    const both = { ...source, secrets: [configured(signer.otherSecret), configured(signer.secret)] };
    expect(kindOf(await verify(row, both, signed(signer)))).toBe("genuine");
    expect(kindOf(await verify(row, both, signed(signer, { secret: signer.otherSecret })))).toBe("genuine");
  });

  test("[I7] without a secret nothing is genuine, and nothing is thrown", async () => {
    const bare = { ...source, secrets: [] };
    // A row that would fetch its keys is not asked to, here: its request carries an address that is not allowed.
    const arrival = signed(signer);
    arrival.headers.delete("paypal-cert-url");
    if (name === "aws-sns" || name === "google-pubsub" || name === "plaid") return;
    expect((await verify(row, bare, arrival)).kind).not.toBe("genuine");
  });

  test("[I8] turns away anything in place of the signature, without an exception", async () => {
    const { header } = signer;
    const garbage = [
      "",
      " ",
      "x",
      "=",
      "sha256=",
      "v1=",
      "t=,v1=",
      "v1,",
      "🙈".normalize(),
      "a".repeat(8_192),
      "é".repeat(64),
    ];
    garbage.push(
      "0".repeat(64),
      "zz".repeat(32),
      "A".repeat(43),
      `${"A".repeat(43)}=`,
      ",,,,",
      "a.b.c",
      "Bearer ",
      "Basic ",
    );
    for (const text of garbage) {
      const arrival = signed(signer);
      const value = Buffer.from(text, "utf8").toString("latin1");
      if (header === null) {
        const broken = { ...arrival, url: new URL(URL_TEXT), body: new Uint8Array(Buffer.from(text)) };
        expect((await verify(row, source, broken)).kind).toBe("rejected");
        continue;
      }
      arrival.headers.set(header, value);
      expect([text, (await verify(row, source, arrival)).kind]).toEqual([text, "rejected"]);
    }
  });
});

describe.each(withHeader)("%s, signed in a header", (name) => {
  const { row, signer, source } = caseOf(name);

  test("[FR 15] refuses a request whose signature header is left out", async () => {
    const arrival = signed(signer);
    expect(carriesSignature(row, source, arrival.headers)).toBe(true);
    arrival.headers.delete(signer.header ?? "");
    expect(kindOf(await verify(row, source, arrival))).toMatch(/^rejected: missing-(signature|token)$/);
    expect(carriesSignature(row, source, arrival.headers)).toBe(false);
  });
});

describe.each(timed)("%s, signed with the time", (name) => {
  const { row, signer, source } = caseOf(name);

  test("[I10] refuses what is too old or too new, and takes the limit itself", async () => {
    const limit = toleranceOf(row) ?? 0;
    const at = async (seconds: number) => kindOf(await verify(row, source, signed(signer, { seconds })));
    expect(await at(NOW_SECONDS - limit)).toBe("genuine");
    expect(await at(NOW_SECONDS + limit)).toBe("genuine");
    expect(await at(NOW_SECONDS - limit - 1)).toBe("rejected: timestamp-too-old");
    expect(await at(NOW_SECONDS + limit + 1)).toBe("rejected: timestamp-in-future");
  });
});

describe.each(free)("%s, any bytes", (name) => {
  const { row, signer, source } = caseOf(name);

  test("[FR 8] an empty body is a body", async () => {
    expect(kindOf(await verify(row, source, signed(signer, { body: new Uint8Array() })))).toBe("genuine");
  });

  test("[FR 3] bytes that are not UTF-8 are a body", async () => {
    const body = Buffer.from("7b226e616d65223a2248eb6c6c6f22007dff0d0a", "hex");
    expect(kindOf(await verify(row, source, signed(signer, { body })))).toBe("genuine");
  });
});

describe.each(free.filter((name) => coversBody(caseOf(name).row)))("%s, over the body", (name) => {
  const { row, signer, source } = caseOf(name);

  test("[P5] [FR 5] one changed, missing or further byte is refused", async () => {
    const arrival = signed(signer, { body: Buffer.from('[{"sg_event_id":"e1"}]\r\n') });
    const { body } = arrival;
    const flipped = new Uint8Array(body);
    flipped[9] = (flipped[9] ?? 0) ^ 1;
    for (const changed of [flipped, body.slice(0, -2), new Uint8Array([...body, 10]), new Uint8Array()]) {
      const verdict = await verify(row, source, { ...arrival, body: changed });
      expect(kindOf(verdict)).toMatch(/^rejected: (signature-mismatch|body-hash-mismatch)$/);
    }
  });
});
