import { createHash, createHmac, generateKeyPairSync, sign } from "node:crypto";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { VerifySource } from "../../src/providers/arrival.ts";
import { providerNames } from "../../src/providers/catalogue.ts";
import { answerHandshake, handshakeMethods } from "../../src/providers/handshake.ts";
import { verify } from "../../src/providers/verify.ts";
import { arrival, row, source, T } from "./sources.ts";

function get(name: string, query: string, from: VerifySource, headers: Record<string, string> = {}) {
  return answerHandshake(
    row(name),
    from,
    arrival(headers, "", { method: "GET", url: `https://buf.test/webhook/t${query}` }),
  );
}

describe("handshakes by GET", () => {
  const meta = source(["app-secret"], { verifyToken: "meatyhamhock" });

  test("[P3] Meta's challenge comes back only with the verify token", async () => {
    const query = (token: string, challenge = "1158201444", mode = "subscribe") =>
      `?hub.mode=${mode}&hub.challenge=${challenge}&hub.verify_token=${token}`;
    expect(await get("meta", query("meatyhamhock"), meta)).toMatchObject({ status: 200, body: "1158201444" });
    expect(await get("meta", query("wrong"), meta)).toBeNull();
    expect(await get("meta", query("meatyhamhock", "1158201444", "unsubscribe"), meta)).toBeNull();
    expect(await get("meta", query("meatyhamhock", encodeURIComponent("<script>")), meta)).toBeNull();
    expect(await get("meta", query("meatyhamhock", "a".repeat(1_025)), meta)).toBeNull();
    expect(await get("meta", query("app-secret"), meta)).toBeNull();
    expect(await get("meta", query(""), source(["app-secret"]))).toBeNull();
  });

  test("[P3] a verify token is no signing key", async () => {
    const body = '{"object":"page"}';
    const signature = `sha256=${createHmac("sha256", "meatyhamhock").update(body).digest("hex")}`;
    const verdict = await verify(row("meta"), meta, arrival({ "x-hub-signature-256": signature }, body));
    expect(verdict).toMatchObject({ kind: "rejected", reason: "signature-mismatch" });
  });

  test("[P3] X's check signs nothing that could be an event", async () => {
    const consumer = source(["consumer-secret"]);
    const expected = createHmac("sha256", "consumer-secret").update("crc-1._~+/=").digest("base64");
    const answer = await get("x", `?crc_token=${encodeURIComponent("crc-1._~+/=")}`, consumer);
    expect(JSON.parse(answer?.body ?? "")).toEqual({ response_token: `sha256=${expected}` });
    for (const token of ['{"tweet_create_events":[]}', "a b", "", "a".repeat(129), '"', "ü"]) {
      expect(await get("x", `?crc_token=${encodeURIComponent(token)}`, consumer)).toBeNull();
    }
  });

  test("[P3] Braintree's challenge is 20 to 32 hex digits, answered under the public key", async () => {
    const braintree = source(["integration_private_key"], { params: { publicKey: "integration_public_key" } });
    const answer = await get("braintree", "?bt_challenge=20f9f8ed05f77439fe955c977e4c8a53", braintree);
    expect(answer?.body).toBe("integration_public_key|d9b899556c966b3f06945ec21311865d35df3ce4");
    for (const challenge of ["20f9", "20F9F8ED05F77439FE955C977E4C8A53", "g".repeat(20), "a".repeat(33), "PG5vdGlm"]) {
      expect(await get("braintree", `?bt_challenge=${challenge}`, braintree)).toBeNull();
    }
    const nameless = source(["integration_private_key"]);
    expect(await get("braintree", "?bt_challenge=20f9f8ed05f77439fe955c977e4c8a53", nameless)).toBeNull();
  });

  test("[P3] eBay's challenge is hashed with the verify token and the registered address", async () => {
    const ebay = source([], {
      verifyToken: "token-of-32-characters-or-more-00",
      publicUrl: "https://hooks.example.com/e",
    });
    const hash = createHash("sha256")
      .update("c-1token-of-32-characters-or-more-00https://hooks.example.com/e")
      .digest("hex");
    const answer = await get("ebay", "?challenge_code=c-1", ebay);
    expect(JSON.parse(answer?.body ?? "")).toEqual({ challengeResponse: hash });
    expect(await get("ebay", "?challenge_code=c-1", source([]))).toBeNull();
  });

  test("[P3] LinkedIn's challenge is answered with its HMAC", async () => {
    const code = "890e4665-4dfe-4ab1-b689-ed553bceeed0";
    const expected = createHmac("sha256", "client-secret").update(code).digest("hex");
    const answer = await get("linkedin", `?challengeCode=${code}`, source(["client-secret"]));
    expect(JSON.parse(answer?.body ?? "")).toEqual({ challengeCode: code, challengeResponse: expected });
    // What is signed of an event begins with hmacsha256=, which no challenge can hold.
    expect(await get("linkedin", "?challengeCode=hmacsha256%3D%7B%7D", source(["client-secret"]))).toBeNull();
  });

  test("[P3] Dropbox, Nylas, Okta, Strava and Oura", async () => {
    for (const name of ["dropbox", "nylas"]) {
      const answer = await get(name, "?challenge=chal-1", source(["s"]));
      expect(answer).toMatchObject({ body: "chal-1", headers: { "x-content-type-options": "nosniff" } });
      expect(answer?.headers["content-type"]).toMatch(/^text\/plain/);
      expect(await get(name, "?challenge=%3Cb%3E", source(["s"]))).toBeNull();
    }
    const okta = await get("okta", "", source(["s"]), { "x-okta-verification-challenge": "my_challenge_value" });
    expect(JSON.parse(okta?.body ?? "")).toEqual({ verification: "my_challenge_value" });
    const strava = source(["s"], { verifyToken: "vt" });
    const answer = await get(
      "strava",
      "?hub.mode=subscribe&hub.verify_token=vt&hub.challenge=15f7d1a91c1f40f8a748fd134752feb3",
      strava,
    );
    expect(JSON.parse(answer?.body ?? "")).toEqual({ "hub.challenge": "15f7d1a91c1f40f8a748fd134752feb3" });
    const oura = await get("oura", "?verification_token=vt&challenge=c1", strava);
    expect(JSON.parse(oura?.body ?? "")).toEqual({ challenge: "c1" });
  });

  test("[I1] Allow names the methods that a provider's handshakes use", () => {
    expect(handshakeMethods(row("meta"))).toEqual(["GET"]);
    expect(handshakeMethods(row("slack"))).toEqual([]);
    expect(handshakeMethods(row("front"))).toEqual([]);
    expect(handshakeMethods(row("microsoft-graph"))).toEqual([]);
    expect(handshakeMethods(row("okta"))).toEqual(["GET"]);
  });
});

describe("handshakes by POST", () => {
  test("[P3] monday's unsigned question may hold nothing but the challenge", async () => {
    const at = (body: string) => answerHandshake(row("monday"), source(["s"]), arrival({}, body));
    expect(JSON.parse((await at('{"challenge":"c-1"}'))?.body ?? "")).toEqual({ challenge: "c-1" });
    expect(await at('{"challenge":"c-1","event":{}}')).toBeNull();
    expect(await at('{"challenge":"<b>"}')).toBeNull();
    expect(await at('{"challenge":{"a":1}}')).toBeNull();
  });

  test("[P3] Twitch's challenge comes back raw, and only when it is signed", async () => {
    const body = '{"challenge":"pogchamp-kappa-360noscope-vohiyo","subscription":{"id":"s1"}}';
    const time = new Date(T * 1000).toISOString();
    const signature = createHmac("sha256", "twitch-secret").update(`m1${time}${body}`).digest("hex");
    const headers = {
      "twitch-eventsub-message-id": "m1",
      "twitch-eventsub-message-timestamp": time,
      "twitch-eventsub-message-type": "webhook_callback_verification",
      "twitch-eventsub-message-signature": `sha256=${signature}`,
    };
    const at = (sent: Record<string, string>) =>
      answerHandshake(row("twitch"), source(["twitch-secret"]), arrival(sent, body));
    expect(await at(headers)).toMatchObject({ body: "pogchamp-kappa-360noscope-vohiyo" });
    expect(await at({ ...headers, "twitch-eventsub-message-type": "notification" })).toBeNull();
    expect(await at({ ...headers, "twitch-eventsub-message-signature": "sha256=00" })).toBeNull();
  });

  test("[P3] Discord's pings are answered when they are signed, its badly signed ones are not", async () => {
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    const key = publicKey.export({ type: "spki", format: "der" }).subarray(-32).toString("hex");
    const at = (body: string, signed = body) =>
      answerHandshake(
        row("discord"),
        source([key]),
        arrival(
          {
            "x-signature-timestamp": String(T),
            "x-signature-ed25519": sign(null, Buffer.from(`${T}${signed}`), privateKey).toString("hex"),
          },
          body,
        ),
      );
    expect(await at('{"version":1,"type":0}')).toEqual({ status: 204, headers: {}, body: null });
    expect(JSON.parse((await at('{"type":1}'))?.body ?? "")).toEqual({ type: 1 });
    expect(await at('{"type":1,"event":{"type":"APPLICATION_AUTHORIZED"}}')).toBeNull();
    expect(await at('{"type":1}', '{"type":2}')).toBeNull();
  });

  test("[P3] Smartcar's question is answered with the HMAC of its challenge", async () => {
    const body = '{"eventType":"VERIFY","data":{"challenge":"c0ffee"}}';
    const headers = { "sc-signature": createHmac("sha256", "amt").update(body).digest("hex") };
    const answer = await answerHandshake(row("smartcar"), source(["amt"]), arrival(headers, body));
    expect(JSON.parse(answer?.body ?? "")).toEqual({
      challenge: createHmac("sha256", "amt").update("c0ffee").digest("hex"),
    });
    expect(await answerHandshake(row("smartcar"), source(["amt"]), arrival({}, body))).toBeNull();
  });

  test("[P3] a header that is asked back comes back in the form its provider reads", async () => {
    const front = await answerHandshake(row("front"), source(["s"]), arrival({ "x-front-challenge": "c-1" }, "{}"));
    expect(JSON.parse(front?.body ?? "")).toEqual({ challenge: "c-1" });
    const ring = await answerHandshake(row("ringcentral"), source(["s"]), arrival({ "validation-token": "v-1" }, ""));
    expect(ring).toEqual({ status: 200, headers: { "validation-token": "v-1" }, body: null });
  });

  test("[I7] [P3] a secret that is handed over is taken only by a source that has none", async () => {
    const asana = (from: VerifySource, secret = "b537207f20cbfa02357cf448134da559e8bd39d61597dcd5631b8012eae53e81") =>
      answerHandshake(row("asana"), from, arrival({ "x-hook-secret": secret }, "{}"));
    const secret = "b537207f20cbfa02357cf448134da559e8bd39d61597dcd5631b8012eae53e81";
    expect(await asana(source([]))).toEqual({
      status: 200,
      headers: { "x-hook-secret": secret },
      body: null,
      storeSecret: secret,
    });
    expect(await asana(source([secret]))).toEqual({ status: 200, headers: { "x-hook-secret": secret }, body: null });
    expect(await asana(source(["another"]))).toBeNull();
    expect(await asana(source([]), "a b\tc")).toBeNull();
    const notion = arrival({}, '{"verification_token":"secret_tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce98V0pYn7yBl"}');
    expect(await answerHandshake(row("notion"), source([]), notion)).toMatchObject({
      status: 200,
      storeSecret: "secret_tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce98V0pYn7yBl",
    });
    expect(await answerHandshake(row("notion"), source(["other"]), notion)).toBeNull();
  });

  test("[I7] until it has its secret such a source accepts nothing, and the fault is not ours", async () => {
    const verdict = await verify(row("asana"), source([]), arrival({ "x-hook-signature": "00" }, "{}"));
    expect(verdict).toEqual({ kind: "rejected", reason: "awaiting-secret" });
  });
});

describe("Amazon SNS", () => {
  const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const key = String(publicKey.export({ type: "spki", format: "pem" }));
  const subscribeUrl =
    "https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=arn:aws:sns:eu-west-1:1:t&Token=abc";

  function confirmation(url: string, topic = "arn:aws:sns:eu-west-1:1:t"): string {
    const fields: Record<string, string> = {
      Message: "You have chosen to subscribe",
      MessageId: "m1",
      SubscribeURL: url,
      Timestamp: "2026-01-01T00:00:00.000Z",
      Token: "abc",
      TopicArn: topic,
      Type: "SubscriptionConfirmation",
    };
    const text = Object.entries(fields)
      .map(([name, value]) => `${name}\n${value}\n`)
      .join("");
    const Signature = sign("sha256", Buffer.from(text), privateKey).toString("base64");
    const SigningCertURL = "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-00.pem";
    return JSON.stringify({ ...fields, SignatureVersion: "2", SigningCertURL, Signature });
  }

  afterEach(() => {
    vi.unstubAllGlobals();
  });

  test("[P3] a signed confirmation is fetched, from amazonaws.com only and without following anything", async () => {
    const fetched = vi.fn(async (_url: string, _init: RequestInit) => new Response("<ok/>"));
    vi.stubGlobal("fetch", fetched);
    const at = (body: string, params = {}) =>
      answerHandshake(row("aws-sns"), source([key], { params }), arrival({}, body));
    expect(await at(confirmation(subscribeUrl))).toMatchObject({ status: 200 });
    expect(fetched.mock.calls.map(([url, init]) => [url, init.redirect])).toEqual([[subscribeUrl, "manual"]]);
    for (const url of [
      "https://evil.example/?Action=ConfirmSubscription&x=1",
      "https://sns.eu-west-1.amazonaws.com.evil.example/?Action=ConfirmSubscription&x=1",
      "http://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&x=1",
      "https://sns.eu-west-1.amazonaws.com@evil.example/?Action=ConfirmSubscription&x=1",
    ]) {
      expect(await at(confirmation(url))).toBeNull();
    }
    expect(await at(confirmation(subscribeUrl).replace("m1", "m2"))).toBeNull();
    expect(await at(confirmation(subscribeUrl), { topicArn: "arn:aws:sns:eu-west-1:2:other" })).toBeNull();
    expect(fetched).toHaveBeenCalledTimes(1);
  });

  test("[P3] a confirmation that cannot be fetched is asked for again", async () => {
    vi.stubGlobal("fetch", async () => new Response("", { status: 500 }));
    const answer = await answerHandshake(row("aws-sns"), source([key]), arrival({}, confirmation(subscribeUrl)));
    expect(answer).toMatchObject({ status: 503, headers: { "retry-after": "30" } });
  });
});

test("[P3] no handshake of any row answers an ordinary event, or text that could be markup", async () => {
  const markup = encodeURIComponent("<script>alert(1)</script>");
  const query = ["challenge", "crc_token", "bt_challenge", "challenge_code", "challengeCode", "hub.challenge"]
    .map((name) => `${name}=${markup}`)
    .join("&");
  const url = `https://buf.test/webhook/t?${query}`;
  for (const name of providerNames()) {
    const from = source(["a secret of sixteen bytes"], { verifyToken: "vt" });
    const event = arrival({}, '{"id":"evt_1","type":"a.b","challenge":"<b>","data":{}}');
    expect([name, await answerHandshake(row(name), from, event)]).toEqual([name, null]);
    const answer = await answerHandshake(row(name), from, arrival({}, "", { method: "GET", url }));
    expect([name, answer?.body ?? null]).toEqual([name, null]);
  }
});
