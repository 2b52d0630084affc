import { createHash, createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { identify, readable } from "../../src/providers/identify.ts";
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
    const named = identify(row("github"), GITHUB, arrival({ "x-github-delivery": "d-0003" }, body), "00");
    expect(named).toEqual({ eventId: "src:d-0003", trust: "unsigned", type: null });
    expect(identify(row("stripe"), STRIPE, arrival({}, body), "00")).toMatchObject({ eventId: "src:sha256-00" });
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
    expect(identify(row("getstream"), GENERIC, await readable(row("getstream"), at(overText)), "00").type).toBe(
      "message.new",
    );
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
      const identity = identify(row(name), source([]), arrival({}, body), "ab");
      expect(identity).toMatchObject({ eventId: "src:sha256-ab", trust: "content" });
    }
  });

  test("[FR 10] [D8] an id that is a number keeps all its digits", async () => {
    const custom = source([], { eventId: { pointer: "/id" } });
    const id = async (body: string) => identify(row("generic"), custom, arrival({}, body), "00").eventId;
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
