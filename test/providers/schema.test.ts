import { describe, expect, test } from "vitest";
import { providerNames, providerRow } from "../../src/providers/catalogue.ts";
import { parseCustomRow, tableRow } from "../../src/providers/schema/row.ts";

const FACTS = ["handshakes", "answer", "timeLimitMs", "timeLimitIs", "retry", "identity", "scheme", "page"] as const;

describe("the schema of the table", () => {
  test.each(providerNames())("[P1] the row %s says everything", (name) => {
    const row = providerRow(name);
    const parsed = tableRow.safeParse(row);
    expect(parsed.error?.issues ?? []).toEqual([]);
    expect(parsed.data).toEqual(row);
  });

  test("[P1] there are at least 100 rows, each under its own name", () => {
    const names = providerNames();
    expect(names.length).toBeGreaterThanOrEqual(100);
    expect(new Set(names).size).toBe(names.length);
  });

  test.each(FACTS)("[P1] a row without %s is refused", (fact) => {
    const row: Record<string, unknown> = { ...providerRow("stripe") };
    delete row[fact];
    const parsed = tableRow.safeParse(row);
    expect(parsed.success).toBe(false);
    expect(parsed.error?.issues.some((issue) => issue.path[0] === fact)).toBe(true);
  });

  test("[P1] names that every object has are no providers", () => {
    for (const name of ["__proto__", "constructor", "toString", "hasOwnProperty", ""]) {
      expect(providerRow(name)).toBeUndefined();
    }
  });
});

const custom = {
  scheme: {
    kind: "hmac",
    hash: "SHA-256",
    key: "utf8",
    signature: { from: "header:x-acme-signature", encoding: "hex", prefix: "sha256=" },
    time: { from: "header:x-acme-time", unit: "seconds", toleranceSeconds: 60 },
    signed: "{time}.{body}",
  },
  identity: {
    ids: [{ from: "json:/id", key: "event" }],
    types: ["json:/type"],
    severalItems: false,
    retriesChangeBody: false,
  },
  handshakes: [],
  answer: { success: { status: 200, body: "none" }, overLimitStatus: 429 },
  timeLimitMs: 5000,
  timeLimitIs: "assumed",
  retry: { forSeconds: 3600, tries: 3, afterOverLimit: true, disables: null, overLimitDisables: false, is: "assumed" },
};

function problems(change: (row: typeof custom & Record<string, unknown>) => void): string[] {
  const row = structuredClone(custom) as typeof custom & Record<string, unknown>;
  change(row);
  const parsed = parseCustomRow(row);
  return parsed.ok ? [] : parsed.problems.map((problem) => problem.path);
}

describe("a row of one's own", () => {
  test("[P2] is taken as it stands", () => {
    const parsed = parseCustomRow(custom);
    expect(parsed.ok && parsed.row).toMatchObject({ name: "custom", scheme: custom.scheme, retry: custom.retry });
  });

  test("[P2] a wrong one is refused with the path of each problem", () => {
    expect(
      problems((row) => {
        row.scheme.signature.encoding = "octal";
        row.scheme.signed = "{tine}.{body}";
        row.identity.ids = [{ from: "json:id", key: "event" }];
        row.timeLimitMs = 5;
        row.surprise = true;
        Reflect.deleteProperty(row, "retry");
      }),
    ).toEqual(
      expect.arrayContaining([
        "scheme.signature.encoding",
        "scheme.signed",
        "identity.ids.0.from",
        "timeLimitMs",
        "surprise",
        "retry",
      ]),
    );
  });

  test("[P2] a time that nothing signs, and a signed time that is nowhere, are refused", () => {
    expect(problems((row) => (row.scheme.signed = "{body}"))).toEqual(["scheme.signed"]);
    expect(problems((row) => Reflect.deleteProperty(row.scheme, "time"))).toEqual(["scheme.time"]);
  });

  test("[P2] [P7] never makes this program call out", () => {
    const jwt = {
      kind: "jwt",
      from: "header:authorization",
      algorithm: "RS256",
      keysFrom: { kind: "jwks", url: "https://internal.example/keys" },
    };
    expect(problems((row) => Object.assign(row, { scheme: jwt }))).toEqual(["scheme.keysFrom"]);
    const confirm = {
      kind: "confirm-subscription",
      when: { ref: "json:/Type", is: "x" },
      url: "json:/url",
      allowed: ".*",
    };
    expect(problems((row) => Object.assign(row, { handshakes: [confirm] }))).toEqual(["handshakes.0.kind"]);
  });

  test("[P3] a challenge alphabet that could hold an event is refused", () => {
    const oracle = {
      kind: "hmac-query",
      param: "q",
      alphabet: 'a-z{}":',
      lengthMin: 1,
      lengthMax: 64,
      hash: "SHA-256",
      key: "utf8",
      encoding: "hex",
      answer: { json: "token", prefix: "" },
    };
    expect(problems((row) => Object.assign(row, { handshakes: [oracle] }))).toEqual(["handshakes.0.alphabet"]);
  });

  test.each([null, 1, "row", [], [custom]])("[P2] %j is refused without an exception", (value) => {
    expect(parseCustomRow(value).ok).toBe(false);
  });
});
