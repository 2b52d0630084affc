import { createHash, createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { answerHandshake, handshakeMethods } from "../../src/providers/handshake.ts";
import { identify } from "../../src/providers/identify.ts";
import { checkSecret } from "../../src/providers/secret.ts";
import { verify } from "../../src/providers/verify.ts";
import { arrival, fromHex, row, source, T } from "./sources.ts";

/** The reported cases that verification, identity and handshakes decide; each stands for its whole kind. */

const GITHUB = source(["gh-secret-01"]);
const STRIPE = source(["whsec_stripe_local_01"]);
const STANDARD = source(["whsec_YnVmZmVyLXRlc3Qta2V5LTI0LWJ5dGVz"]);
const GENERIC = source(["generic-secret-01"]);
const PING = '{"zen":"ping"}';
const PING_SIGNATURE = "048ebdaf9a981d59a2d66d24b6363f846f2a40c74af5bf52e65be18354a7c185";

async function github(
  signature: string,
  body: string | Uint8Array,
  headers: Record<string, string> = {},
  from = GITHUB,
) {
  const verdict = await verify(row("github"), from, arrival({ "x-hub-signature-256": signature, ...headers }, body));
  return verdict.kind === "rejected" ? verdict.reason : verdict.kind;
}

async function stripe(header: string, body = '{"id":"evt_ts","object":"event"}') {
  const verdict = await verify(row("stripe"), STRIPE, arrival({ "stripe-signature": header }, body));
  return verdict.kind === "rejected" ? verdict.reason : verdict.kind;
}

describe("raw bytes", () => {
  const rocket = fromHex(
    "7b22616374696f6e223a2263726561746564222c22636f6d6d656e74223a7b22626f6479223a227368697020697420f09f9a8020e2809320e282b9227d7d",
  );

  test("[FR 1] [FR 4] multi-byte characters are signed as bytes", async () => {
    expect(rocket.length).toBe(62);
    expect(await github("sha256=ab507a78d68ce88e32a2687d00d18113ce218a409cc42289436dab4d9b528542", rocket)).toBe(
      "genuine",
    );
  });

  test("[FR 2] escapes and a final newline are signed as they stand", async () => {
    const body = fromHex(
      "7b2261223a225c75303031425b33346d5c7532363635222c2275223a2268747470733a5c2f5c2f785c2f3f613d315c7530303236623d32227d0a",
    );
    expect(await github("sha256=43b213f2df1978991b2b446ce5025cbb9dbff2bf18ce306a431fc6d7bc67c1d8", body)).toBe(
      "genuine",
    );
  });

  test.each([
    ["7b226e616d65223a2248eb6c6c6f227d", "654ccc70cc2cad5856ae356e68a52a76f1a02a0756995580afbafd55aa44fd33"],
    ["7b002200610022003a002200e90022007d00", "e75ecac826069f8f6fb02a66aea331e2c6afd2040a3c324a7333b0fc6f240cc8"],
  ])("[FR 3] bytes that are not UTF-8 are genuine, and named by header or digest", async (hex, signature) => {
    const body = fromHex(hex);
    expect(await github(`sha256=${signature}`, body)).toBe("genuine");
    const named = await identify(row("github"), GITHUB, arrival({ "x-github-delivery": "d-0003" }, body), "00");
    expect(named).toEqual({ eventId: "src:d-0003", trust: "unsigned", type: null });
    expect(await identify(row("stripe"), STRIPE, arrival({}, body), "00")).toMatchObject({ eventId: "src:sha256-00" });
  });

  test("[FR 5] a trailing CR LF is part of the body", async () => {
    const body = fromHex("5b7b2273675f6576656e745f6964223a226531227d5d0d0a");
    const headers = { "x-signature": "ffa067dd9d8cba5420c51c5db9f62c05b73fc320733fa3c5fcbfefde3f8b9fc6" };
    expect((await verify(row("generic"), GENERIC, arrival(headers, body))).kind).toBe("genuine");
    expect((await verify(row("generic"), GENERIC, arrival(headers, body.slice(0, -2)))).kind).toBe("rejected");
  });

  test("[FR 6] a form is signed in its encoded form", async () => {
    const body = "payload=%7B%22zen%22%3A%22a+b%22%7D";
    expect(await github("sha256=e758ded0f7f7f927e6d71ff38fec2a8e0d0a9a082b7aca4865770d605152e06a", body)).toBe(
      "genuine",
    );
    const headers = {
      "x-slack-request-timestamp": String(T),
      "x-slack-signature": "v0=27cf93cb185db3b4c285f4d1cea86db8478da919b069e75fbe1db425a75ffdee",
    };
    const slack = arrival(headers, "payload=%7B%22t%22%3A%22*a*~%20b%22%7D");
    expect((await verify(row("slack"), source(["slack-secret-01"]), slack)).kind).toBe("genuine");
  });

  const gzipped = fromHex(
    "1f8b08000000000002ffab562aa92c4855b252ca4d2d2e4e4c4fd5cb4b2d57d251ca53b232ac0500fb2003341c000000",
  );
  const overWire = "f28be26b61296264d60333ce123b144c18d67fa215d3ed398366253157725142";
  const overText = "9fa72ded5df5b18333869f0ba44cab717c8076b147857707f415b5515d820de9";

  test("[FR 7] a compressed body is signed as it came, unless the row says otherwise", async () => {
    const at = (signature: string) => arrival({ "x-signature": signature, "content-encoding": "gzip" }, gzipped);
    expect((await verify(row("generic"), GENERIC, at(overWire))).kind).toBe("genuine");
    expect((await verify(row("generic"), GENERIC, at(overText))).kind).toBe("rejected");
    expect((await verify(row("getstream"), GENERIC, at(overText))).kind).toBe("genuine");
    expect((await verify(row("getstream"), GENERIC, at(overWire))).kind).toBe("rejected");
    expect((await identify(row("getstream"), GENERIC, at(overText), "00")).type).toBe("message.new");
  });

  test("[FR 7] a small body that grows beyond the bound, or is damaged, is refused without an exception", async () => {
    const bomb = new Uint8Array(
      await new Response(
        new Blob([new Uint8Array(5_000_000)]).stream().pipeThrough(new CompressionStream("gzip")),
      ).arrayBuffer(),
    );
    for (const body of [bomb, gzipped.slice(0, 20), new Uint8Array([1, 2, 3])]) {
      const headers = { "x-signature": overText, "content-encoding": "gzip" };
      const verdict = await verify(row("getstream"), GENERIC, arrival(headers, body));
      expect(verdict).toMatchObject({ kind: "rejected", reason: "malformed-body" });
    }
  });

  test("[FR 8] an empty body with a valid signature is genuine, without one it is not", async () => {
    const headers = { "webhook-id": "msg_empty", "webhook-timestamp": String(T) };
    const signed = { ...headers, "webhook-signature": "v1,+B/WGOPF2yA/CeBlkuOymJ6cWWdL86byAZCAYii0Cng=" };
    expect((await verify(row("standard-webhooks"), STANDARD, arrival(signed, ""))).kind).toBe("genuine");
    expect((await verify(row("standard-webhooks"), STANDARD, arrival(headers, ""))).kind).toBe("rejected");
  });

  test.each([
    ["null", "edf92194629a3377bfbf96b43bdfb68c5e35eb575de4e4f2c8be3edb6cc08743"],
    ["[]", "49794f083dbf5cf000922184cc4b46f31326eeb613085aa8d6253a02ce6964c7"],
    ["7", "1556a8d9f761d7570bbe41102168a1623ac84f1b0f8e0e7b0a5c9eb5d7a1e1a1"],
    ['"x"', "9d6e56e0304c31011d6818cc85761ef9241b34b28aa043296d0c81da9c3b4c87"],
  ])("[FR 9] the JSON %s is a body like any other", async (body, signature) => {
    expect(await github(`sha256=${signature}`, body)).toBe("genuine");
    expect(await github(`sha256=${"0".repeat(64)}`, body)).toBe("signature-mismatch");
    for (const name of ["stripe", "slack", "adyen", "hubspot", "telegram", "meta"]) {
      const identity = await identify(row(name), source([]), arrival({}, body), "ab");
      expect(identity).toMatchObject({ eventId: "src:sha256-ab", trust: "content" });
    }
  });

  test("[FR 10] [D8] an id that is a number keeps all its digits", async () => {
    const custom = source([], { eventId: { pointer: "/id" } });
    const id = async (body: string) => (await identify(row("generic"), custom, arrival({}, body), "00")).eventId;
    expect(await id('{"id":8202522731445525542}')).toBe("src:8202522731445525542");
    expect(await id('{"id":8202522731445525543}')).toBe("src:8202522731445525543");
    expect(await id('{ "x" : [1,{"id":2}], "id" : 1.0 }')).toBe("src:1.0");
    expect(await id('{"id":1,"id":-2e3}')).toBe("src:-2e3");
  });

  test.each([undefined, "text/plain", 'application/vnd.github+json; charset="UTF-8"', "Application/JSON"])(
    "[FR 11] the content type %s changes nothing",
    async (contentType) => {
      const headers: Record<string, string> = contentType === undefined ? {} : { "content-type": contentType };
      const signature = "sha256=4510b149acd78914dbbffcb8eb77821971995eb035b3e76554a9324e10b6d72c";
      expect(await github(signature, '{"n":1}', headers)).toBe("genuine");
    },
  );

  test("[FR 12] a body of more than a megabyte is verified whole", async () => {
    const body = `{"p":"${"a".repeat(1_099_992)}"}`;
    expect(await github("sha256=8e1c9e1be19144e49263dc18477bfcbe5574d9324b40bb0cd348413d9d1bc298", body)).toBe(
      "genuine",
    );
    expect(createHash("sha256").update(body).digest("hex")).toBe(
      "faf41505189819c00ba13fb9868530f33e51170c592c4d8fbf7573161de1d942",
    );
  });
});

describe("signature headers and secrets", () => {
  const good = "v1,y4R0fo97eSqxhMmkjYwqUYLlMyx3uP49G5SMYucqW+4=";
  const bad = `v1,${"A".repeat(43)}=`;
  const rotated = '{"id":"msg_rot","type":"a"}';

  test.each([
    [`${bad} ${good}`, "genuine"],
    [`${good} ${bad}`, "genuine"],
    [`v2,abc v1a,zzz ${good}`, "genuine"],
    [`${bad}, ${good}`, "genuine"],
    [bad, "rejected"],
    ["v2,abc", "rejected"],
  ])("[FR 13] [I9] of several signatures in one header any good one is enough: %s", async (header, expected) => {
    for (const [name, prefix] of [
      ["standard-webhooks", "webhook"],
      ["svix", "svix"],
    ] as const) {
      const headers = {
        [`${prefix}-id`]: "msg_rot",
        [`${prefix}-timestamp`]: String(T),
        [`${prefix}-signature`]: header,
      };
      expect((await verify(row(name), STANDARD, arrival(headers, rotated))).kind).toBe(expected);
    }
  });

  test("[I9] at most 16 signatures are tried", async () => {
    const headers = { "webhook-id": "msg_rot", "webhook-timestamp": String(T) };
    const at = (count: number) => ({ ...headers, "webhook-signature": `${`${bad} `.repeat(count)}${good}` });
    expect((await verify(row("standard-webhooks"), STANDARD, arrival(at(15), rotated))).kind).toBe("genuine");
    expect((await verify(row("standard-webhooks"), STANDARD, arrival(at(16), rotated))).kind).toBe("rejected");
  });

  test("[FR 14] all and only the live secrets of the source are tried", async () => {
    const signature = `sha256=${PING_SIGNATURE}`;
    expect(await github(signature, PING, {}, source(["gh-secret-02", "gh-secret-01"]))).toBe("genuine");
    expect(await github(signature, PING, {}, source(["gh-secret-02"]))).toBe("signature-mismatch");
    expect(await github(signature, PING, {}, source(["gh2-secret-01"]))).toBe("signature-mismatch");
  });

  test("[FR 15] a header that is left out or empty is a refusal", async () => {
    const verdicts = await Promise.all(
      [{}, { "x-hub-signature-256": "" }].map((headers) => verify(row("github"), GITHUB, arrival(headers, PING))),
    );
    const id = { "webhook-id": "msg_rot", "webhook-signature": good };
    const slack = { "x-slack-signature": `v0=${"0".repeat(64)}` };
    for (const time of [undefined, ""]) {
      const webhookTime: Record<string, string> = time === undefined ? {} : { "webhook-timestamp": time };
      const slackTime: Record<string, string> = time === undefined ? {} : { "x-slack-request-timestamp": time };
      verdicts.push(await verify(row("standard-webhooks"), STANDARD, arrival({ ...id, ...webhookTime }, rotated)));
      verdicts.push(await verify(row("slack"), source(["slack-secret-01"]), arrival({ ...slack, ...slackTime }, PING)));
    }
    expect(verdicts.map((verdict) => verdict.kind)).toEqual(Array(6).fill("rejected"));
  });

  test("[FR 16] [I7] no secret lets nobody in, not even with the empty key", async () => {
    const emptyKey = createHmac("sha256", "").update(PING).digest("hex");
    for (const secrets of [[], [""]]) {
      expect(await github(`sha256=${emptyKey}`, PING, {}, source(secrets))).toBe("unusable");
    }
    for (const secret of ["", "   "]) expect(checkSecret(row("github"), secret).ok).toBe(false);
  });

  test("[FR 17] a line end that was pasted along is refused by name", () => {
    const checked = checkSecret(row("github"), "gh-secret-01\n");
    expect(checked.ok ? "" : checked.detail).toContain("white space");
    expect(checkSecret(row("wise"), "\n-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n").ok).toBe(false);
  });

  test("[FR 18] how a secret is read belongs to the provider", async () => {
    const headers = {
      "webhook-id": "msg_pad",
      "webhook-timestamp": String(T),
      "webhook-signature": "v1,yD00cGBo7aM9W/n6DywMibPhakayToG1R+EHh2NuzXQ=",
    };
    const digits = "+++++++++++++++++++++++++++++++++w==";
    for (const secret of [`whsec_${digits}`, digits]) {
      const request = arrival(headers, '{"id":"msg_pad","type":"a"}');
      expect((await verify(row("standard-webhooks"), source([secret]), request)).kind).toBe("genuine");
    }
    const urlSafe = checkSecret(row("standard-webhooks"), "whsec_---------------------------------w");
    expect(urlSafe.ok ? "" : urlSafe.detail).toContain("base64");
    expect(await stripe("t=1795910400,v1=15892a6fe6ef872b764c0f819171249e0295b8728d8a476cf87c63632fa09c13")).toBe(
      "genuine",
    );
  });

  test.each([
    "sha256=abc",
    "sha256=",
    "abc",
    `sha256=${"0".repeat(65)}`,
    `sha256=${"z".repeat(64)}`,
    "a".repeat(8_000),
  ])("[FR 19] a signature of the wrong length is a refusal, never an exception", async (signature) => {
    expect(await github(signature, PING)).toBe("malformed-signature");
  });

  test("[FR 20] hex in either case, no other spelling", async () => {
    expect(await github(`sha256=${PING_SIGNATURE}`, PING)).toBe("genuine");
    expect(await github(`sha256=${PING_SIGNATURE.toUpperCase()}`, PING)).toBe("genuine");
    expect(await github(`sha256= ${PING_SIGNATURE}`, PING)).toBe("malformed-signature");
    expect(await github(Buffer.from(PING_SIGNATURE, "hex").toString("base64"), PING)).toBe("malformed-signature");
    const bare = createHmac("sha256", "generic-secret-01").update(PING).digest("hex");
    expect((await verify(row("generic"), GENERIC, arrival({ "X-SIGNATURE": bare }, PING))).kind).toBe("genuine");
  });

  test("[FR 21] the older hash is no way in", async () => {
    const sha1 = { "x-hub-signature": "sha1=eda529603f82077f1a9e521ec1033e2ee9bb5eb2" };
    expect((await verify(row("github"), GITHUB, arrival(sha1, PING))).kind).toBe("rejected");
    expect(await github(`sha256=${"0".repeat(64)}`, PING, sha1)).toBe("signature-mismatch");
  });

  test("[FR 22] [D7] an id that is not signed counts only with the body", async () => {
    const id = (delivery: string) =>
      identify(row("github"), GITHUB, arrival({ "x-github-delivery": delivery }, PING), "00");
    expect(await id("d-0030")).toMatchObject({ eventId: "src:d-0030", trust: "unsigned" });
    expect(await id("d-0031")).toMatchObject({ eventId: "src:d-0031", trust: "unsigned" });
  });
});

describe("time", () => {
  test("[FR 23] [I10] the tolerance holds in both directions, its limit included", async () => {
    expect(await stripe("t=1795910400,v1=15892a6fe6ef872b764c0f819171249e0295b8728d8a476cf87c63632fa09c13")).toBe(
      "genuine",
    );
    expect(await stripe("t=1795910099,v1=1d964f81f582bc538e11e97202a813b8b2181565d3778ad0b717c30923e25772")).toBe(
      "timestamp-too-old",
    );
    expect(await stripe("t=1795910701,v1=29cd77bbaa957ed222b256f2c34539bf9e8329a496123171fabc114bc218fcfb")).toBe(
      "timestamp-in-future",
    );
    for (const seconds of [T - 300, T + 300]) expect(await stripe(signedAt(String(seconds)))).toBe("genuine");
  });

  test("[FR 24] milliseconds are not taken for seconds", async () => {
    expect(await stripe("t=1795910400000,v1=4354ef872348225d75d026ed81925f1308375ed682c6af2e47272dfbeb6aa0f5")).toMatch(
      /timestamp/,
    );
  });

  test.each([
    "abc",
    "1795910400junk",
    "",
    "-1",
    "1795910400.0",
    "1.7959104e9",
    "0x6b0b6b00",
    " 1795910400",
    "١٧٩٥٩١٠٤٠٠",
  ])("[FR 25] the time %j is none, and no way around the check", async (text) => {
    expect(await stripe(Buffer.from(signedAt(text), "utf8").toString("latin1"))).toMatch(
      /^(malformed-timestamp|signature-mismatch)$/,
    );
  });

  test("[FR 25] no time at all is a refusal", async () => {
    expect(await stripe("v1=15892a6fe6ef872b764c0f819171249e0295b8728d8a476cf87c63632fa09c13")).toBe(
      "missing-timestamp",
    );
  });

  test("[I10] a source may set its own tolerance", async () => {
    const header = { "stripe-signature": signedAt(String(T - 4_000)) };
    const wide = source(STRIPE.secrets, { toleranceSeconds: 4_000 });
    const request = arrival(header, '{"id":"evt_ts","object":"event"}');
    expect((await verify(row("stripe"), wide, request)).kind).toBe("genuine");
    expect((await verify(row("stripe"), STRIPE, request)).kind).toBe("rejected");
  });

  function signedAt(time: string): string {
    const text = `${time}.{"id":"evt_ts","object":"event"}`;
    return `t=${time},v1=${createHmac("sha256", "whsec_stripe_local_01").update(text).digest("hex")}`;
  }
});

describe("what the sender needs to hear", () => {
  test("[FR 27] a well and a badly signed request of a review", async () => {
    const shopify = async (signature: string) =>
      (
        await verify(
          row("shopify"),
          source(["shopify-secret-01"]),
          arrival({ "x-shopify-hmac-sha256": signature }, '{"id":1}'),
        )
      ).kind;
    expect(await shopify("LbXjV7dvvgqx52K2XN8VHRn9e/PnGSLswb7Ty0ZWheo=")).toBe("rejected");
    expect(await shopify("zF5tW90c8Fy7zd0FHuwm1Gjk1CBMXF7J2m3z9JOBXOo=")).toBe("genuine");
  });

  test("[FR 28] [P4] Xero hears nothing, Adyen hears [accepted]", async () => {
    const body = '{"events":[],"firstEventSequence":0,"lastEventSequence":0,"entropy":"X"}';
    const xero = async (signature: string) =>
      (await verify(row("xero"), source(["xero-key-01"]), arrival({ "x-xero-signature": signature }, body))).kind;
    expect(await xero("NhNZfENWx52dD9OFEO25nScnPNMu3zkf8YgedWx4Ikg=")).toBe("genuine");
    expect(await xero("AAAA")).toBe("rejected");
    expect(row("xero").answer.success).toEqual({ status: 200, body: "none" });
    expect(row("adyen").answer.success).toMatchObject({ status: 200, body: { text: "[accepted]" } });
  });

  test("[FR 29] [P4] a sender that knows only 200 hears 200", () => {
    for (const name of ["lemonsqueezy", "linear", "mailgun", "xero", "paystack", "plaid", "trello", "monday", "meta"]) {
      expect([name, row(name).answer.success.status]).toEqual([name, 200]);
    }
  });

  test("[FR 34] [P4] Twilio reads the answer as instructions: an empty one", async () => {
    expect(row("twilio").answer.success).toEqual({
      status: 200,
      body: { text: "<Response/>", contentType: "text/xml; charset=utf-8" },
    });
    const body = "Body=hi&From=%2B15550001111&MessageSid=SM0001";
    const request = arrival({ "x-twilio-signature": "6m0oMkfqZYFOHpuDzTXf2PVsd94=" }, body, {
      url: "https://buf.test/webhook/tw",
    });
    expect((await verify(row("twilio"), source(["twilio-token-01"]), request)).kind).toBe("genuine");
    expect((await identify(row("twilio"), source([]), request, "00")).eventId).toBe("src:SM0001");
  });

  test("[FR 36] [D1] Slack's own repeat is the same event", async () => {
    const body = '{"token":"x","type":"event_callback","event_id":"Ev0001","event":{"type":"app_mention"}}';
    const headers = {
      "x-slack-request-timestamp": String(T),
      "x-slack-signature": "v0=b33b7c1b9983ddac4b120f74e9737d814b35cad71b7f314016a39cf2881ac282",
    };
    const again = { ...headers, "x-slack-retry-num": "1", "x-slack-retry-reason": "http_timeout" };
    for (const sent of [headers, again]) {
      const request = arrival(sent, body);
      expect((await verify(row("slack"), source(["slack-secret-01"]), request)).kind).toBe("genuine");
      expect(await identify(row("slack"), source([]), request, "00")).toEqual({
        eventId: "src:Ev0001",
        trust: "signed",
        type: "app_mention",
      });
    }
  });
});

describe("handshakes and probes", () => {
  const zoomBody = '{"event":"endpoint.url_validation","payload":{"plainToken":"pt-0001"},"event_ts":1795910400000}';
  const zoom = (signature: string) =>
    answerHandshake(
      row("zoom"),
      source(["zoom-secret-01"]),
      arrival({ "x-zm-request-timestamp": String(T), "x-zm-signature": signature }, zoomBody),
    );

  test("[FR 30] Zoom's check is answered only when it is signed", async () => {
    const answer = await zoom("v0=6e2c55e55d2639b2d0fe2039bbe4e50fa48b1ecbcc5b8f17a2c4e16edc12dd4a");
    expect(answer).toMatchObject({ status: 200, headers: { "content-type": "application/json" } });
    expect(JSON.parse(answer?.body ?? "")).toEqual({
      plainToken: "pt-0001",
      encryptedToken: "7433d6b37c575fc3f03c9780a75a203f257009b02769e96649e2688402b80432",
    });
    expect(await zoom(`v0=${"0".repeat(64)}`)).toBeNull();
  });

  test("[FR 31] Slack's question is answered only when it is signed", async () => {
    const body = '{"token":"x","challenge":"chal-0001","type":"url_verification"}';
    const headers = {
      "x-slack-request-timestamp": String(T),
      "x-slack-signature": "v0=0824f6617e1f6db2e6bb45c974031cee85957e8fa356f2a53ed7afc5f8f60980",
    };
    const secrets = source(["slack-secret-01"]);
    const answer = await answerHandshake(row("slack"), secrets, arrival(headers, body));
    expect(answer).toMatchObject({ status: 200, body: "chal-0001" });
    expect(answer?.headers["content-type"]).toMatch(/^text\/plain/);
    expect(await answerHandshake(row("slack"), secrets, arrival({}, body))).toBeNull();
  });

  test("[FR 32] Microsoft Graph's token comes back decoded, as plain text, to its own source only", async () => {
    const url = "https://buf.test/webhook/ms?validationToken=Validation%3A+Testing+%3Cb%3E";
    const request = arrival({ "content-type": "text/plain; charset=utf-8" }, "", { url });
    expect(await answerHandshake(row("microsoft-graph"), source(["state"]), request)).toEqual({
      status: 200,
      headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" },
      body: "Validation: Testing <b>",
    });
    expect(await answerHandshake(row("github"), GITHUB, request)).toBeNull();
  });

  test("[FR 33] WooCommerce's first request is exactly one form, and nothing else", async () => {
    const form = { "content-type": "application/x-www-form-urlencoded" };
    const at = (name: string, headers: Record<string, string>, body: string) =>
      answerHandshake(row(name), source(["woo-secret-01"]), arrival(headers, body));
    expect(await at("woocommerce", form, "webhook_id=2")).toEqual({ status: 200, headers: {}, body: null });
    expect(await at("woocommerce", form, "webhook_id=2&x=1")).toBeNull();
    expect(await at("woocommerce", { "content-type": "application/json" }, "webhook_id=2")).toBeNull();
    expect(await at("woocommerce", { ...form, "x-wc-webhook-signature": "AAAA" }, "webhook_id=2")).toBeNull();
    expect(await at("github", form, "webhook_id=2")).toBeNull();
  });

  test("[FR 37] GET and HEAD are for providers that probe", async () => {
    expect(handshakeMethods(row("mailchimp"))).toEqual(["GET", "HEAD"]);
    expect(handshakeMethods(row("trello"))).toEqual(["HEAD"]);
    expect(handshakeMethods(row("github"))).toEqual([]);
    for (const method of ["HEAD", "GET"]) {
      const probe = arrival({}, "", { method });
      expect(await answerHandshake(row("mailchimp"), source(["t"]), probe)).toMatchObject({ status: 200, body: null });
    }
  });

  test("[FR 39] a CloudEvents sender asks for permission", async () => {
    const headers = { "webhook-request-origin": "eventgrid.azure.net", "webhook-request-rate": "120" };
    const request = arrival(headers, "", { method: "OPTIONS" });
    expect(handshakeMethods(row("cloudevents"))).toEqual(["OPTIONS"]);
    expect(await answerHandshake(row("cloudevents"), source(["t"]), request)).toMatchObject({
      status: 200,
      headers: { "webhook-allowed-origin": "eventgrid.azure.net" },
    });
    expect(await answerHandshake(row("github"), GITHUB, request)).toBeNull();
  });
});

describe("addresses and names", () => {
  const body = "Body=hi&From=%2B15550001111&MessageSid=SM0001";
  const signature = { "x-twilio-signature": "HvqV639ZwURLe0ylgh7/liTLDAg=" };
  const registered = source(["twilio-token-01"], { publicUrl: "https://buf.test/webhook/tw" });

  test("[FR 40] an apostrophe counts raw or escaped, and the registered address instead of the one behind a proxy", async () => {
    for (const url of ["https://buf.test/webhook/tw?n=O%27Hara", "http://inner.local:8080/webhook/tw?n=O'Hara"]) {
      expect((await verify(row("twilio"), registered, arrival(signature, body, { url }))).kind).toBe("genuine");
    }
    const other = arrival(signature, body, { url: "https://buf.test/webhook/tw?n=Other" });
    expect((await verify(row("twilio"), registered, other)).kind).toBe("rejected");
  });

  test("[FR 41] names of properties in a body reach no prototype", async () => {
    const polluted = '{"__proto__":{"admin":true},"constructor":{"prototype":{"x":1}}}';
    const request = arrival({}, polluted);
    expect(await github("sha256=69dccc61a3afce6f39fae31ea8ea841df9da8247194c847637352ad4bbfd34e3", polluted)).toBe(
      "genuine",
    );
    const own = source([], { eventId: { pointer: "/toString" } });
    expect((await identify(row("generic"), own, request, "00")).trust).toBe("content");
    expect(({} as Record<string, unknown>).admin).toBeUndefined();
  });

  test("[FR 42] [D2] the source is part of an event's id", async () => {
    const request = arrival({}, '{"id":"evt_dup","object":"event"}');
    const first = await identify(row("stripe"), source([], { id: "st" }), request, "00");
    const second = await identify(row("stripe"), source([], { id: "st2" }), request, "00");
    expect([first.eventId, second.eventId]).toEqual(["st:evt_dup", "st2:evt_dup"]);
  });

  test("[FR 43] [D7] Stripe's repeats may differ in their body", async () => {
    const request = arrival({}, '{"id":"evt_1","pending_webhooks":2}');
    expect((await identify(row("stripe"), source([]), request, "00")).trust).toBe("signed-changing-body");
  });

  test("[FR 44] without an id the body's digest is the key, for a while", async () => {
    const identity = await identify(row("generic"), GENERIC, arrival({}, '{"a":1}'), "cd");
    expect(identity).toMatchObject({ eventId: "src:sha256-cd", trust: "content" });
  });

  test("[FR 45] equal bodies under two delivery ids are two events", async () => {
    const id = async (delivery: string) =>
      (await identify(row("github"), GITHUB, arrival({ "x-github-delivery": delivery }, '{"event":"ping"}'), "00"))
        .eventId;
    expect(await id("d-0073")).not.toBe(await id("d-0074"));
  });
});
