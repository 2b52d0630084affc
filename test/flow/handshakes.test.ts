/** How providers make sure of an address, through the running Worker, while the origin is down. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { startClock, stopClock } from "./clock.ts";
import { drop, Origin } from "./origin.ts";
import { ask, bindings, http, SECRET, Tenant } from "./tenant.ts";

let origin: Origin;

beforeEach(() => {
  startClock();
  origin = new Origin();
  origin.answer = drop;
});

afterEach(() => {
  vi.restoreAllMocks();
  stopClock();
});

const VERIFY_TOKEN = "the-verify-token-of-acme";
const utf8 = new TextEncoder();

/** A tenant whose origin is down and whose breaker is open, with one source of `provider` beside the generic one. */
async function tenantOf(provider: string, changes: Record<string, unknown> = {}): Promise<Tenant> {
  const tenant = await Tenant.create({
    sources: {
      in: { provider: "generic", secrets: [SECRET] },
      src: { provider, secrets: [SECRET], ...changes },
    },
    destinations: { origin: http() },
  });
  const path = `/webhook/${tenant.name}/in`;
  for (let index = 0; index < 12; index += 1) await tenant.post(`e-${index}`, "{}", {}, path);
  await tenant.settle();
  expect((await tenant.ledger()).state).toBe("open");
  return tenant;
}

function at(tenant: Tenant, query: string, init: RequestInit = {}): Promise<Response> {
  return ask(`/webhook/${tenant.name}/src${query}`, init);
}

async function mac(text: string, secret = SECRET): Promise<Uint8Array> {
  const hmac = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", utf8.encode(secret), hmac, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, utf8.encode(text)));
}

/** Nothing of it reached the object, and nothing was stored. */
async function isUntouched(tenant: Tenant): Promise<void> {
  expect((await tenant.stats()).accepted).toBe(12);
}

describe("[P3] while the origin is down", () => {
  test("[P3] [I1] questions by GET are answered as plain text, and only those of the source's own provider", async () => {
    const meta = await tenantOf("meta", { verifyToken: VERIFY_TOKEN });
    const query = `?hub.mode=subscribe&hub.verify_token=${VERIFY_TOKEN}&hub.challenge=1158201444`;
    const calls = vi.spyOn(bindings.TENANT_BUFFER, "getByName");
    const answer = await at(meta, query);
    expect([answer.status, await answer.text()]).toEqual([200, "1158201444"]);
    expect(answer.headers.get("content-type")).toMatch(/^text\/plain/);
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
    expect(calls).not.toHaveBeenCalled();
    expect((await at(meta, query.replace(VERIFY_TOKEN, "a-guess"))).status).toBe(401);
    expect((await at(meta, query.replace("1158201444", "%3Cb%3E"))).status).toBe(401);
    expect((await at(meta, "?challenge=echo-me")).status).toBe(401);
    expect((await ask(`/webhook/${meta.name}/in${query}`)).status).toBe(405);
    await isUntouched(meta);
  });

  test("[P3] challenges are answered with an HMAC, never of what an event could be", async () => {
    const x = await tenantOf("x");
    const answer = await at(x, "?crc_token=challenge_string");
    expect(await answer.json()).toEqual({ response_token: `sha256=${(await mac("challenge_string")).toBase64()}` });
    const event = encodeURIComponent('{"id":"evt_1"}');
    expect((await at(x, `?crc_token=${event}`)).status).toBe(401);
    expect((await at(x, `?crc_token=${"a".repeat(129)}`)).status).toBe(401);
  });

  test("[P3] a header that is asked back comes back, and a signed question is answered only if its signature is right", async () => {
    const okta = await tenantOf("okta");
    const asked = await at(okta, "", { headers: { "x-okta-verification-challenge": "abc-123_DEF" } });
    expect(await asked.json()).toEqual({ verification: "abc-123_DEF" });
    const slack = await tenantOf("slack");
    const body = '{"type":"url_verification","challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P"}';
    const time = String(Math.floor(Date.now() / 1_000));
    const signature = `v0=${(await mac(`v0:${time}:${body}`)).toHex()}`;
    const headers = { "x-slack-request-timestamp": time, "x-slack-signature": signature };
    const answer = await at(slack, "", { method: "POST", headers, body });
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining("3eZbrw1aBm2rZgRN")]);
    const forged = { ...headers, "x-slack-signature": `v0=${"0".repeat(64)}` };
    expect((await at(slack, "", { method: "POST", headers: forged, body })).status).toBe(401);
    await isUntouched(slack);
  });

  test("[P3] [I1] [I5] HEAD and OPTIONS are answered where a provider asks so; Allow says which methods there are", async () => {
    const trello = await tenantOf("trello", { publicUrl: "https://hooks.example.com/trello" });
    const head = await at(trello, "", { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
    const get = await at(trello, "");
    expect([get.status, get.headers.get("allow")]).toEqual([405, "POST, HEAD"]);
    const events = await tenantOf("cloudevents");
    const options = await at(events, "", {
      method: "OPTIONS",
      headers: { "webhook-request-origin": "eventemitter.example.com" },
    });
    expect(options.status).toBe(200);
    expect(options.headers.get("webhook-allowed-origin")).toBe("eventemitter.example.com");
    const other = await at(events, "", { method: "PUT", body: "{}" });
    expect([other.status, other.headers.get("allow")]).toEqual([405, "POST, OPTIONS"]);
    const generic = await ask(`/webhook/${events.name}/in`, { method: "DELETE" });
    expect([generic.status, generic.headers.get("allow")]).toEqual([405, "POST"]);
    const unknown = await ask(`/webhook/${crypto.randomUUID()}`, { method: "OPTIONS" });
    expect([unknown.status, unknown.headers.get("allow")]).toEqual([405, "POST"]);
  });

  test("[P3] WooCommerce's unsigned first ping is answered and stored nowhere; anything else must prove itself", async () => {
    const woo = await tenantOf("woocommerce");
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    expect((await at(woo, "", { method: "POST", headers, body: "webhook_id=42" })).status).toBe(200);
    expect((await at(woo, "", { method: "POST", headers, body: "webhook_id=42&order=1" })).status).toBe(401);
    const json = { "content-type": "application/json" };
    expect((await at(woo, "", { method: "POST", headers: json, body: '{"id":1}' })).status).toBe(401);
    await isUntouched(woo);
  });

  test("[P3] deliberately wrong signatures hear 401, right ones are stored (Xero)", async () => {
    const xero = await tenantOf("xero");
    const body = '{"events":[],"firstEventSequence":0,"lastEventSequence":0,"entropy":"S0m3r4Nd0mt3xt"}';
    const post = (signature: string) =>
      at(xero, "", { method: "POST", headers: { "x-xero-signature": signature }, body });
    expect((await post((await mac(body)).toBase64())).status).toBe(200);
    const wrong = await post((await mac(body, "another secret of theirs")).toBase64());
    expect(wrong.status).toBe(401);
    expect(wrong.headers.get("set-cookie")).toBeNull();
  });
});

describe("[P3] Amazon SNS", () => {
  const TOPIC = "arn:aws:sns:eu-west-1:123456789012:hooks";
  const SUBSCRIBE = `https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=${TOPIC}&Token=2336412f37`;

  /** A source that knows the key, and what signs as SNS does. */
  async function topic(): Promise<{ tenant: Tenant; confirm(url: string): Promise<Response> }> {
    const rsa = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
    const parameters = { ...rsa, modulusLength: 2_048, publicExponent: new Uint8Array([1, 0, 1]) };
    const keys = (await crypto.subtle.generateKey(parameters, true, ["sign", "verify"])) as CryptoKeyPair;
    const spki = new Uint8Array((await crypto.subtle.exportKey("spki", keys.publicKey)) as ArrayBuffer);
    const pem = `-----BEGIN PUBLIC KEY-----\n${spki.toBase64().replaceAll(/(.{64})/g, "$1\n")}\n-----END PUBLIC KEY-----\n`;
    const tenant = await tenantOf("aws-sns", { secrets: [pem], params: { topicArn: TOPIC } });
    const confirm = async (SubscribeURL: string): Promise<Response> => {
      const fields = {
        Message: "You have chosen to subscribe to the topic.",
        MessageId: "165545c9-2a5c-472c-8df2-7ff2be2b3b1b",
        SubscribeURL,
        Timestamp: new Date().toISOString(),
        Token: "2336412f37",
        TopicArn: TOPIC,
        Type: "SubscriptionConfirmation",
      };
      const signed = Object.entries(fields).map(([name, value]) => `${name}\n${value}\n`);
      const signature = await crypto.subtle.sign(rsa.name, keys.privateKey, utf8.encode(signed.join("")));
      const Signature = new Uint8Array(signature).toBase64();
      const SigningCertURL = "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0123.pem";
      const body = JSON.stringify({ ...fields, SignatureVersion: "2", SigningCertURL, Signature });
      const headers = { "x-amz-sns-message-type": fields.Type, "content-type": "text/plain" };
      return at(tenant, "", { method: "POST", headers, body });
    };
    return { tenant, confirm };
  }

  test("[P3] a signed confirmation is fetched from amazonaws.com alone, and nothing is stored", async () => {
    const { tenant, confirm } = await topic();
    const fetched = (): string[] => origin.requests.map(({ url }) => url).filter((url) => !url.includes("origin.test"));
    origin.answer = ({ url }) => (url.startsWith("https://sns.") ? new Response("<ok/>") : drop());
    expect((await confirm(SUBSCRIBE)).status).toBe(200);
    expect(fetched()).toEqual([SUBSCRIBE]);
    for (const url of [
      "https://sns.eu-west-1.amazonaws.com.evil.example/?Action=ConfirmSubscription&Token=1",
      "http://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&Token=1",
      "https://169.254.169.254/?Action=ConfirmSubscription&Token=1",
    ]) {
      await confirm(url);
    }
    expect(fetched()).toEqual([SUBSCRIBE]);
    origin.answer = ({ url }) => (url.startsWith("https://sns.") ? new Response("", { status: 500 }) : drop());
    const failed = await confirm(SUBSCRIBE);
    expect([failed.status, failed.headers.get("retry-after")]).toEqual([503, "30"]);
    expect((await tenant.stats()).accepted - 12).toBeLessThanOrEqual(3);
  });
});
