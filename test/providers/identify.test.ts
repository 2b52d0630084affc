import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { providerNames } from "../../src/providers/catalogue.ts";
import { identify } from "../../src/providers/identify.ts";
import { arrival, fromHex, row, source } from "./sources.ts";

async function stripeId(id: string): Promise<string> {
  return identify(row("stripe"), source([]), arrival({}, `{"id":${id}}`), "00").eventId;
}

describe("event ids", () => {
  test("[D8] 200 visible ASCII characters are an id, more or others become their digest", async () => {
    const exact = "x".repeat(200);
    expect(await stripeId(JSON.stringify(exact))).toBe(`src:${exact}`);
    for (const id of [`${exact}x`, "with space", "ümlaut", "tab\there", "\u0000", "🚀"]) {
      const digest = createHash("sha256").update(id, "utf8").digest("hex");
      expect(await stripeId(JSON.stringify(id))).toBe(`src:sha256-${digest}`);
    }
  });

  test.each(['""', "null", "true", "[]", "{}", '["evt_1"]'])("[D8] the id %s is none", async (id) => {
    expect(await stripeId(id)).toBe("src:sha256-00");
  });

  test.each(["12345678901234567890", "0", "-0", "1.50", "1e3", "9007199254740993"])(
    "[D8] the number %s is its digits",
    async (id) => expect(await stripeId(id)).toBe(`src:${id}`),
  );

  test("[D8] a body beyond 4 MiB is not parsed: header ids only, else the digest", async () => {
    const body = `{"id":"evt_1","p":"${"a".repeat(4 * 1024 * 1024)}"}`;
    const at = (name: string) =>
      identify(row(name), source([]), arrival({ "x-github-delivery": "d-1", "x-github-event": "push" }, body), "00");
    expect(await at("stripe")).toEqual({ eventId: "src:sha256-00", trust: "content", type: null });
    expect(await at("github")).toEqual({ eventId: "src:d-1", trust: "unsigned", type: "push" });
  });

  test("[D8] a body that is no JSON, or is hidden behind a byte order mark, is no failure", async () => {
    const at = (body: string | Uint8Array) => identify(row("stripe"), source([]), arrival({}, body), "00");
    for (const body of ["{", '{"id":', "\u00ff", "", "id=evt_1", fromHex("fffe7b007d00")]) {
      expect(await at(body)).toMatchObject({ eventId: "src:sha256-00" });
    }
    expect(await at(fromHex("efbbbf7b226964223a226576745f31227d"))).toMatchObject({ eventId: "src:evt_1" });
  });

  test("[D1] deeply nested JSON is no failure", async () => {
    const deep = `${"[".repeat(100_000)}1${"]".repeat(100_000)}`;
    expect(identify(row("adyen"), source([]), arrival({}, deep), "00")).toMatchObject({ trust: "content" });
    const within = source([], { eventId: { pointer: `${"/0".repeat(1_000)}` } });
    expect(identify(row("generic"), within, arrival({}, deep), "00").trust).toBe("content");
  });

  test("[D1] the source's own setting comes first, and falls through where it finds nothing", async () => {
    const body = '{"id":"evt_1","data":{"ref":42}}';
    const at = (eventId: NonNullable<ReturnType<typeof source>["eventId"]>, headers = {}) =>
      identify(row("stripe"), source([], { eventId }), arrival(headers, body), "00");
    expect(await at({ pointer: "/data/ref" })).toMatchObject({ eventId: "src:42", trust: "signed-changing-body" });
    expect(await at({ header: "X-My-Id" }, { "x-my-id": "h-1" })).toMatchObject({
      eventId: "src:h-1",
      trust: "unsigned",
    });
    expect(await at({ header: "X-My-Id" })).toMatchObject({ eventId: "src:evt_1" });
    expect(await at({ pointer: "/missing" })).toMatchObject({ eventId: "src:evt_1" });
  });

  test("[D7] a header that the signature covers is a signed id, one that it does not is not", async () => {
    const own = source([], { eventId: { header: "webhook-id" } });
    const request = arrival({ "webhook-id": "m1", "x-event-id": "e1" }, "{}");
    expect(identify(row("standard-webhooks"), own, request, "00")).toMatchObject({ trust: "signed" });
    const other = source([], { eventId: { header: "x-event-id" } });
    expect(identify(row("standard-webhooks"), other, request, "00")).toMatchObject({ trust: "unsigned" });
  });

  test("[D7] where nothing or only a checksum of the body is signed, no id in it is", async () => {
    const own = source([], { eventId: { pointer: "/id" } });
    for (const name of ["token", "mailgun", "paypal", "monday", "google-pubsub", "adyen", "favro"]) {
      const identity = identify(row(name), own, arrival({}, '{"id":"e1"}'), "00");
      expect([name, identity.trust]).toEqual([name, "unsigned"]);
    }
  });

  test("[D7] requests with several items count as a whole", async () => {
    const cases = [
      ["hubspot", '[{"eventId":1,"subscriptionType":"a"},{"eventId":2}]', "src:1"],
      ["sendgrid", '[{"sg_event_id":"s1","event":"open"},{"sg_event_id":"s2"}]', "src:s1"],
      ["microsoft-graph", '{"value":[{"id":"n1"},{"id":"n2"}]}', "src:n1"],
      ["gocardless", '{"events":[{"id":"EV1"},{"id":"EV2"}]}', "src:EV1"],
    ] as const;
    for (const [name, body, eventId] of cases) {
      expect(identify(row(name), source([]), arrival({}, body), "00")).toMatchObject({
        eventId,
        trust: "unsigned",
      });
    }
    expect(identify(row("meta"), source([]), arrival({}, '{"entry":[]}'), "00")).toMatchObject({
      trust: "content",
    });
  });

  test("[D1] Box's delivery id changes with every try and is never used", async () => {
    const at = (delivery: string) =>
      identify(
        row("box"),
        source([]),
        arrival({ "box-delivery-id": delivery }, '{"id":"b1","trigger":"FILE.UPLOADED"}'),
        "00",
      );
    expect(await at("d-1")).toEqual({ eventId: "src:b1", trust: "signed", type: "FILE.UPLOADED" });
    expect(await at("d-2")).toEqual(await at("d-1"));
  });

  test("[D1] ids are joined where one alone names no event", async () => {
    const docusign =
      '{"event":"envelope-completed","retryCount":RETRY,"generatedDateTime":"t1","data":{"envelopeId":"e1"}}';
    const at = (retry: string) =>
      identify(row("docusign"), source([]), arrival({}, docusign.replace("RETRY", retry)), "00");
    expect(await at("0")).toMatchObject({ eventId: "src:e1:envelope-completed:t1", trust: "signed-changing-body" });
    expect(await at("1")).toEqual(await at("0"));
    const partial = arrival({}, '{"event":"envelope-completed","data":{"envelopeId":"e1"}}');
    expect(identify(row("docusign"), source([]), partial, "00").trust).toBe("content");
  });

  test("[D1] Slack names commands and actions by their trigger", async () => {
    const form = arrival({}, `payload=${encodeURIComponent('{"type":"block_actions","trigger_id":"12.34"}')}`);
    expect(identify(row("slack"), source([]), form, "00")).toEqual({
      eventId: "src:12.34",
      trust: "signed",
      type: "block_actions",
    });
  });

  test("[P1] no row is named by its subscription, or by an id that changes with every try", () => {
    const never = [
      "box-delivery-id",
      "x-slack-retry-num",
      "x-github-hook-id",
      "subscriptionId",
      "attempt",
      "x-hook-uuid",
    ];
    for (const name of providerNames()) {
      const refs = row(name).identity.ids.flatMap((choice) => choice.from);
      for (const ref of refs) expect([name, never.some((word) => ref.includes(word))]).toEqual([name, false]);
    }
  });
});

describe("event types", () => {
  test.each([
    ["stripe", {}, '{"type":"invoice.paid"}', "invoice.paid"],
    ["github", { "x-github-event": "push" }, "{}", "push"],
    ["generic", { "x-event-type": "a.b" }, '{"type":"c.d"}', "a.b"],
    ["generic", {}, '{"type":"c.d"}', "c.d"],
    ["sentry", { "sentry-hook-resource": "issue" }, '{"action":"created"}', "issue.created"],
    ["sentry", { "sentry-hook-resource": "installation" }, "{}", "installation"],
    ["plaid", {}, '{"webhook_type":"ITEM","webhook_code":"ERROR"}', "ITEM.ERROR"],
    ["plaid", {}, '{"webhook_type":"ITEM"}', null],
    ["token", {}, "[]", null],
  ])("[P1] %s %j %s is of the type %s", async (name, headers, body, type) => {
    const identity = identify(row(name), source([]), arrival(headers as Record<string, string>, body), "00");
    expect(identity.type).toBe(type);
  });
});
