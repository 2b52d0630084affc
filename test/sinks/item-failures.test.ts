import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { answered } from "./delivery.ts";

const ids = ["a", "b", "c"];
const outcomeOf = (body: string | Uint8Array, status = 200) => answered(new Response(body, { status }), ids);

/** Longer than what is read of an answer. */
const FILLER = "x".repeat(300_000);

const ACCEPTED = { kind: "accepted", refusedIds: [], unknownIds: [] };
const FAILED = { kind: "failed", cause: "item-failures", retryAfterMs: null, status: 200 };

describe("[V23] batchItemFailures", () => {
  test.each([
    "",
    "OK",
    "<html>batchItemFailures</html>",
    "{}",
    "[]",
    "null",
    '"batchItemFailures"',
    '["batchItemFailures"]',
    '[{"batchItemFailures":[{"itemIdentifier":"a"}]}]',
    '{"nested":{"batchItemFailures":[{"itemIdentifier":"a"}]}}',
    '{"note":"\\"batchItemFailures\\":[{\\"itemIdentifier\\":\\"a\\"}]"}',
    '{"BatchItemFailures":[{"itemIdentifier":"a"}]}',
    '{"batchItemFailures":null}',
    '{"batchItemFailures":[]}',
    ' \r\n{"ok":true,"batchItemFailures":[]}\n',
    '{"ok":tru',
    "{oops}",
  ])("[V23] %j names nobody: all accepted", async (body) => {
    expect(await outcomeOf(body)).toMatchObject(ACCEPTED);
  });

  test.each([
    ['{"batchItemFailures":[{"itemIdentifier":"b"}]}', ["b"], []],
    ['{"batchItemFailures":[{"itemIdentifier":"c"},{"itemIdentifier":"a"}]}', ["c", "a"], []],
    ['{"batchItemFailures":[{"itemIdentifier":"b"},{"itemIdentifier":"b"}]}', ["b"], []],
    ['{"batchItemFailures":[{"itemIdentifier":"b","reason":"why"}],"x":1}', ["b"], []],
    ['{"batchItemFailures":[{"itemIdentifier":"z"}]}', [], ["z"]],
    ['{"batchItemFailures":[{"itemIdentifier":"z"},{"itemIdentifier":"a"}]}', ["a"], ["z"]],
    ['{"batchItem\\u0046ailures":[{"itemIdentifier":"\\u0061"}]}', ["a"], []],
    ['\ufeff{"batchItemFailures":[{"itemIdentifier":"a"}]}', ["a"], []],
  ])("[V23] %j names those it names", async (body, refusedIds, unknownIds) => {
    expect(await outcomeOf(body)).toMatchObject({ kind: "accepted", refusedIds, unknownIds });
    expect(await outcomeOf(body, 207)).toMatchObject({ kind: "accepted", refusedIds });
  });

  test.each([
    '{"batchItemFailures":"a"}',
    '{"batchItemFailures":{}}',
    '{"batchItemFailures":{"itemIdentifier":"a"}}',
    '{"batchItemFailures":true}',
    '{"batchItemFailures":0}',
    '{"batchItemFailures":["a"]}',
    '{"batchItemFailures":[null]}',
    '{"batchItemFailures":[[]]}',
    '{"batchItemFailures":[{}]}',
    '{"batchItemFailures":[{"itemIdentifier":""}]}',
    '{"batchItemFailures":[{"itemIdentifier":null}]}',
    '{"batchItemFailures":[{"itemIdentifier":1}]}',
    '{"batchItemFailures":[{"id":"a"}]}',
    '{"batchItemFailures":[{"itemIdentifier":"a"},{"itemIdentifier":""}]}',
  ])("[V23] %j cannot be told: the batch failed", async (body) => {
    expect(await outcomeOf(body)).toMatchObject(FAILED);
  });

  test.each([
    '{"batchItemFailures"',
    '{"batchItemFailures":',
    '{"batchItemFailures":[',
    '{"batchItemFailures":[{"itemIdentifier":"a"}',
    '{"batchItemFailures":[{"itemIdentifier":"a]}',
    '{"batchItemFailures":nul',
    '{"ok":1,"batchItemFail',
    '{"ok":"a\\"b","batchItemFailures":[',
    '{"ok":[1,{"x":"]}"}],"batchItemFailures":[{"itemIdentifier":"a"},',
    '{"batchItemFailures":[{"itemIdentifier":"a"},]}',
    "{'batchItemFailures':[{'itemIdentifier':'a'}]}",
    '{ok:true,"batchItemFailures":[{"itemIdentifier":"a"}]}',
  ])("[V23] %j begins the member and does not end it: the batch failed", async (body) => {
    expect(await outcomeOf(body)).toMatchObject(FAILED);
  });

  test.each([
    [`{"x":"${FILLER}","batchItemFailures":[{"itemIdentifier":"a"}]}`, ACCEPTED],
    [`{"x":{"batchItemFailures":[],"y":"${FILLER}"}}`, ACCEPTED],
    [`${FILLER}"batchItemFailures":[]`, ACCEPTED],
    [`{"batchItemFailures":[],"x":"${FILLER}"}`, ACCEPTED],
    [`{"batchItemFailures":null,"x":"${FILLER}"}`, ACCEPTED],
    [`{"batchItemFailures":[{"itemIdentifier":"b"}],"x":"${FILLER}"}`, { kind: "accepted", refusedIds: ["b"] }],
    [
      `{"a":[1,"]"],"b":-1.5e3,"batchItemFailures" : [{"itemIdentifier":"b"}] ,"x":"${FILLER}"}`,
      { kind: "accepted", refusedIds: ["b"] },
    ],
    [`{"batchItemFailures":[{"itemIdentifier":"a","why":"${FILLER}"}]}`, FAILED],
    [`{"batchItemFailures":"x","x":"${FILLER}"}`, FAILED],
    [`{"x":"${"x".repeat(256 * 1024 - 20)}","batchItemFailures":[{"itemIdentifier":"a"}]}`, FAILED],
  ])("[V23] of an answer longer than what is read only that part counts (%#)", async (body, outcome) => {
    expect(await outcomeOf(body)).toMatchObject(outcome);
  });

  test("[V23] cut anywhere, an answer that names an event never counts it as accepted once the member has begun", async () => {
    const members = fc.array(fc.tuple(fc.stringMatching(/^[a-zA-Z]{1,6}$/), fc.json()), { maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(members, fc.double({ min: 0, max: 1, noNaN: true }), async (others, share) => {
        const before = others.map(([name, value]) => `${JSON.stringify(name)}:${value},`).join("");
        const head = `{${before}"batchItemFailures"`;
        const whole = `${head}:[{"itemIdentifier":"b"}]}`;
        const cut = head.length + Math.floor(share * (whole.length - head.length));
        const outcome = await outcomeOf(whole.slice(0, cut));
        if (outcome.kind === "accepted") expect(outcome.refusedIds).toStrictEqual(["b"]);
        else expect(outcome.kind).toBe("failed");
      }),
    );
  });
});
