import { generateKeyPairSync, sign } from "node:crypto";
import { afterEach, describe, expect, test, vi } from "vitest";
import { verify } from "../../src/providers/verify.ts";
import { arrival, row, source, T } from "./sources.ts";

const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const ec = generateKeyPairSync("ec", { namedCurve: "P-256" });

function stub(answer: (url: string, init: RequestInit) => Response | Promise<Response>) {
  const fetched = vi.fn(async (url: string, init: RequestInit) => answer(url, init));
  vi.stubGlobal("fetch", fetched);
  return fetched;
}

afterEach(() => {
  vi.unstubAllGlobals();
});

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

function googleToken(kid: string, claims: object): string {
  const text = `${encode({ alg: "RS256", kid })}.${encode(claims)}`;
  return `Bearer ${text}.${sign("sha256", Buffer.from(text), privateKey).toString("base64url")}`;
}

const claims = {
  iss: "https://accounts.google.com",
  aud: "a",
  email: "push@p",
  email_verified: true,
  iat: T,
  exp: T + 3_600,
};
const jwks = (kid: string) =>
  JSON.stringify({ keys: [{ ...publicKey.export({ format: "jwk" }), kid, use: "sig", alg: "RS256" }] });
const pubsub = source([], { params: { email: "push@p", audience: "a" } });

/** The memory of fetched keys lasts for the isolate: each test has an hour of its own. */
let hour = 0;
function at(headers: Record<string, string>, body = "{}", laterMs = 0) {
  return arrival(headers, body, { receivedAtMs: T * 1000 + hour * 4_000_000 + laterMs });
}
const timeless = { ...claims, exp: T + 1_000_000_000 };

describe("keys that a provider publishes", () => {
  test("[P2] [P6] Google's keys come from one address, once, and the account must be the named one", async () => {
    hour++;
    const fetched = stub(() => new Response(jwks("k1")));
    const check = async (from: typeof pubsub, token: string) => {
      const verdict = await verify(row("google-pubsub"), from, at({ authorization: token }));
      return verdict.kind === "rejected" ? verdict.reason : verdict.kind;
    };
    expect(await check(pubsub, googleToken("k1", timeless))).toBe("genuine");
    expect(await check(pubsub, googleToken("k1", { ...timeless, email: "other@p" }))).toBe("wrong-claim");
    expect(await check(pubsub, googleToken("k1", { ...timeless, aud: "b" }))).toBe("wrong-claim");
    expect(await check(pubsub, googleToken("k1", { ...timeless, iss: "https://evil.example" }))).toBe("wrong-claim");
    expect(await check(pubsub, googleToken("k1", { ...timeless, exp: T - 1 }))).toBe("timestamp-too-old");
    expect(fetched.mock.calls.map(([url, init]) => [url, init.redirect])).toEqual([
      ["https://www.googleapis.com/oauth2/v3/certs", "manual"],
    ]);
  });

  test("[P2] an unknown key id is looked up again once a minute at most, however many are made up", async () => {
    hour++;
    const fetched = stub(() => new Response(jwks("k1")));
    for (let i = 0; i < 20; i++) {
      const verdict = await verify(
        row("google-pubsub"),
        pubsub,
        at({ authorization: googleToken(`made-up-${i}`, timeless) }),
      );
      expect(verdict).toMatchObject({ kind: "rejected", reason: "unknown-key" });
    }
    expect(fetched).toHaveBeenCalledTimes(1);
    stub(() => new Response(jwks("k2")));
    const rotated = at({ authorization: googleToken("k2", timeless) }, "{}", 61_000);
    expect((await verify(row("google-pubsub"), pubsub, rotated)).kind).toBe("genuine");
  });

  test.each([
    ["no answer", () => Promise.reject(new Error("no network"))],
    ["an error", () => new Response("", { status: 500 })],
    ["a redirect", () => new Response(null, { status: 302, headers: { location: "https://evil.example/" } })],
    ["an endless answer", () => new Response("x".repeat(100_000))],
  ])("[I7] %s is our fault, not the sender's", async (_, answer) => {
    hour++;
    stub(answer);
    const verdict = await verify(row("google-pubsub"), pubsub, at({ authorization: googleToken("k1", timeless) }));
    expect(verdict.kind).toBe("unusable");
  });

  test("[P2] PayPal's certificate is fetched from its own host only", async () => {
    hour++;
    const pem = String(publicKey.export({ type: "spki", format: "pem" }));
    const fetched = stub(() => new Response(pem));
    const body = "{}";
    const text = `t-1|2026-01-01T00:00:00Z|WH-1|${2_745_614_147}`;
    const paypal = (url: string) => ({
      "paypal-transmission-id": "t-1",
      "paypal-transmission-time": "2026-01-01T00:00:00Z",
      "paypal-cert-url": url,
      "paypal-transmission-sig": sign("sha256", Buffer.from(text), privateKey).toString("base64"),
    });
    const from = source([], { params: { webhookId: "WH-1" } });
    const check = async (url: string) => (await verify(row("paypal"), from, at(paypal(url), body))).kind;
    expect(await check("https://api.paypal.com/v1/notifications/certs/CERT-360caa42-fca2a594-ab66f33d")).toBe(
      "genuine",
    );
    for (const url of [
      "http://api.paypal.com/v1/notifications/certs/CERT-1",
      "https://api.paypal.com.evil.example/v1/notifications/certs/CERT-1",
      "https://api.paypal.com@evil.example/v1/notifications/certs/CERT-1",
      "https://api.paypal.com/v1/notifications/certs/../../../x",
      "https://evil.example/?https://api.paypal.com/v1/notifications/certs/CERT-1",
    ]) {
      expect([url, await check(url)]).toEqual([url, "rejected"]);
    }
    expect(fetched).toHaveBeenCalledTimes(1);
  });

  test("[P2] a flood of certificate addresses is not a flood of requests", async () => {
    hour++;
    const fetched = stub(() => new Response("", { status: 404 }));
    const from = source([], { params: { webhookId: "WH-1" } });
    for (let i = 0; i < 100; i++) {
      const headers = {
        "paypal-transmission-id": "t-1",
        "paypal-transmission-time": "2026-01-01T00:00:00Z",
        "paypal-cert-url": `https://api.paypal.com/v1/notifications/certs/CERT-${i}`,
        "paypal-transmission-sig": "AAAA",
      };
      expect((await verify(row("paypal"), from, at(headers))).kind).toBe("unusable");
    }
    expect(fetched.mock.calls.length).toBeLessThanOrEqual(20);
  });

  describe("what one sender makes up takes nothing from the others", () => {
    const body = "{}";
    const text = `t-1|2026-01-01T00:00:00Z|WH-1|${2_745_614_147}`;
    const signature = sign("sha256", Buffer.from(text), privateKey).toString("base64");
    const from = source([], { params: { webhookId: "WH-1" } });
    const genuine = "https://api.paypal.com/v1/notifications/certs/CERT-360caa42";
    const paypal = async (url: string, laterMs: number) => {
      const headers = {
        "paypal-transmission-id": "t-1",
        "paypal-transmission-time": "2026-01-01T00:00:00Z",
        "paypal-cert-url": url,
        "paypal-transmission-sig": signature,
      };
      return (await verify(row("paypal"), from, at(headers, body, laterMs))).kind;
    };
    const certificate = (url: string) =>
      url === genuine
        ? new Response(String(publicKey.export({ type: "spki", format: "pem" })))
        : new Response("", { status: 404 });

    test("[P11] [S3] a flood of made-up addresses puts out no key that was had, and keeps none from being fetched that no sender names", async () => {
      hour += 10;
      stub((url) => (url.includes("googleapis") ? new Response(jwks("k1")) : certificate(url)));
      expect(await paypal(genuine, 0)).toBe("genuine");
      for (let minute = 1; minute <= 90; minute++) {
        for (let i = 0; i < 21; i++) await paypal(`${genuine}${minute}-${i}`, minute * 60_000);
        expect([minute, await paypal(genuine, minute * 60_000)]).toEqual([minute, "genuine"]);
      }
      const token = at({ authorization: googleToken("k1", timeless) }, "{}", 90 * 60_000);
      expect((await verify(row("google-pubsub"), pubsub, token)).kind).toBe("genuine");
      hour += 2;
    });

    test("[P11] a key that cannot be had anew counts for six hours, and one that it lacks is our fault", async () => {
      hour += 10;
      stub(() => new Response(jwks("k1")));
      const check = async (kid: string, laterMs: number) =>
        (await verify(row("google-pubsub"), pubsub, at({ authorization: googleToken(kid, timeless) }, "{}", laterMs)))
          .kind;
      expect(await check("k1", 0)).toBe("genuine");
      const fetched = stub(() => new Response("", { status: 503 }));
      expect(await check("k2", 120_000)).toBe("unusable");
      expect(await check("k2", 120_000)).toBe("unusable");
      expect(await check("k1", 120_000)).toBe("genuine");
      expect(fetched).toHaveBeenCalledTimes(1);
      expect(await check("k1", 6 * 3_600_000 - 1)).toBe("genuine");
      expect(await check("k1", 6 * 3_600_000 + 60_000)).toBe("unusable");
      hour += 10;
    });

    test("[P11] a fetch that ended with the request that began it holds nobody up for longer than 4 s", async () => {
      hour += 10;
      vi.useFakeTimers();
      try {
        stub(() => new Promise<Response>(() => {}));
        const first = paypal(genuine, 0);
        const second = paypal(genuine, 1_000);
        await vi.advanceTimersByTimeAsync(4_000);
        expect(await first).toBe("unusable");
        expect(await second).toBe("unusable");
        stub(certificate);
        expect(await paypal(genuine, 5_000)).toBe("genuine");
      } finally {
        vi.useRealTimers();
      }
    });
  });

  test("[P2] Plaid's key is asked for with the customer's own credentials", async () => {
    hour++;
    const jwk = ec.publicKey.export({ format: "jwk" });
    const fetched = stub(
      () => new Response(JSON.stringify({ key: { ...jwk, kid: "p1", alg: "ES256", use: "sig", created_at: 1 } })),
    );
    const body = '{"webhook_type":"ITEM"}';
    const { createHash } = await import("node:crypto");
    const iat = T + hour * 4_000;
    const text = `${encode({ alg: "ES256", kid: "p1" })}.${encode({ iat, request_body_sha256: createHash("sha256").update(body).digest("hex") })}`;
    const signature = sign("sha256", Buffer.from(text), { key: ec.privateKey, dsaEncoding: "ieee-p1363" });
    const token = { "plaid-verification": `${text}.${signature.toString("base64url")}` };
    const from = source([], { params: { clientId: "c1", secret: "s1", environment: "sandbox" } });
    expect((await verify(row("plaid"), from, at(token, body))).kind).toBe("genuine");
    expect(await verify(row("plaid"), from, at(token, '{"webhook_type":"AUTH"}'))).toMatchObject({
      reason: "body-hash-mismatch",
    });
    expect(fetched.mock.calls.map(([url, init]) => [url, init.method, JSON.parse(String(init.body))])).toEqual([
      [
        "https://sandbox.plaid.com/webhook_verification_key/get",
        "POST",
        { client_id: "c1", secret: "s1", key_id: "p1" },
      ],
    ]);
    expect((await verify(row("plaid"), source([]), at(token, body))).kind).toBe("unusable");
  });
});
