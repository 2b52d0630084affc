import { createHmac } from "node:crypto";
import fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { batchId } from "../../src/sinks/batch-id.ts";
import { sendHttp } from "../../src/sinks/http.ts";
import { bytes, delivery, destination, event, NOW_MS, POLICY, SECRET, sent } from "./delivery.ts";

const OTHER_SECRET = "whsec_b3RoZXItc2VjcmV0LW90aGVyLXNlY3JldA==";

describe("[V4] signatures", () => {
  // The stock library compares the timestamp with its own clock.
  beforeEach(() => vi.useFakeTimers({ toFake: ["Date"], now: NOW_MS }));
  afterEach(() => vi.useRealTimers());

  test.each(["batch", "single", "cloudevents"] as const)(
    "[V4] the stock library verifies a %s request",
    async (format) => {
      const body = bytes('{"text":"żółć \u{1f600}"}');
      const request = await sent({ format }, delivery([event({ body })]));
      const verified = new Webhook(SECRET).verify(request.text, Object.fromEntries(request.headers));
      expect(verified).toStrictEqual(JSON.parse(request.text));
    },
  );

  test("[V4] the stock library refuses an altered body and another secret", async () => {
    const request = await sent();
    const headers = Object.fromEntries(request.headers);
    expect(() => new Webhook(SECRET).verify(`${request.text} `, headers)).toThrow("No matching signature");
    expect(() => new Webhook(OTHER_SECRET).verify(request.text, headers)).toThrow("No matching signature");
  });

  test("[V4] each live secret signs, so that secrets can be rotated", async () => {
    const request = await sent({ signingSecrets: [SECRET, OTHER_SECRET] });
    const headers = Object.fromEntries(request.headers);
    expect(headers["webhook-signature"]).toMatch(/^v1,\S+ v1,\S+$/);
    for (const secret of [SECRET, OTHER_SECRET]) {
      expect(() => new Webhook(secret).verify(request.text, headers)).not.toThrow();
    }
  });

  test("[V4] a secret without its prefix, or in the URL alphabet, is the same secret", async () => {
    const tricky = Uint8Array.of(0xfb, 0xff, 0xbf, ...new Uint8Array(29)).toBase64();
    const spellings = [`whsec_${tricky}`, tricky, tricky.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")];
    const signatures = await Promise.all(
      spellings.map(async (secret) => (await sent({ signingSecrets: [secret] })).headers.get("webhook-signature")),
    );
    expect(new Set(signatures).size).toBe(1);
    expect(tricky).toMatch(/[+/]/);
  });

  test("[V4] without a secret id and timestamp are sent, and no signature", async () => {
    const request = await sent({ signingSecrets: [], signature: "timestamped" });
    expect(request.headers.get("webhook-id")).toBe("batch_1");
    expect(request.headers.get("webhook-timestamp")).toBe(String(Math.floor(NOW_MS / 1_000)));
    expect(request.headers.has("webhook-signature")).toBe(false);
    expect(request.headers.has("x-signature")).toBe(false);
  });

  test.each(["whsec_", "whsec_not base64!", "whsec_A"])(
    "[V4] the secret %j sends nothing, and says why",
    async (secret) => {
      const outcome = await sendHttp(destination({ signingSecrets: [secret] }), delivery(), POLICY, async () => {
        throw new Error("nothing may be sent");
      });
      expect(outcome).toMatchObject({ kind: "failed", cause: "signing-secret", status: null });
    },
  );

  test("[V4] [V30] timestamped signs `t.body` with the secret's text as well, once per secret", async () => {
    const request = await sent({ signature: "timestamped", format: "single", signingSecrets: [SECRET, OTHER_SECRET] });
    const timestamp = Math.floor(NOW_MS / 1_000);
    const mac = (secret: string) => createHmac("sha256", secret).update(`${timestamp}.${request.text}`).digest("hex");
    expect(request.headers.get("x-webhook-event-id")).toBe("stripe:evt_1");
    expect(request.headers.get("x-signature")).toBe(`t=${timestamp},v1=${mac(SECRET)},v1=${mac(OTHER_SECRET)}`);
    expect(request.headers.has("webhook-signature")).toBe(true);
  });

  test("[V4] standard sends no other signature", async () => {
    const request = await sent();
    expect(request.headers.has("x-signature")).toBe(false);
    expect(request.headers.has("x-webhook-event-id")).toBe(false);
  });

  test("[V4] the bearer token is sent where there is one", async () => {
    expect((await sent({ bearerToken: "t0ken" })).headers.get("authorization")).toBe("Bearer t0ken");
    expect((await sent()).headers.has("authorization")).toBe(false);
  });

  test("[D8] webhook-id is percent-encoded, never holds a dot, and the signature covers that form", async () => {
    const eventId = 'generic:a.b/c d%"!';
    const request = await sent({ format: "single" }, delivery([event({ eventId })]));
    expect(request.headers.get("webhook-id")).toBe("generic:a%2Eb%2Fc%20d%25%22%21");
    expect(() => new Webhook(SECRET).verify(request.text, Object.fromEntries(request.headers))).not.toThrow();
  });

  test("[D8] the encoded id tells any two ids apart and can be decoded", async () => {
    const ids = fc.string({
      unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
      minLength: 1,
    });
    await fc.assert(
      fc.asyncProperty(ids, async (eventId) => {
        const id = (await sent({ format: "single" }, delivery([event({ eventId })]))).headers.get("webhook-id") ?? "";
        expect(id).toMatch(/^[A-Za-z0-9_:~%-]+$/);
        expect(decodeURIComponent(id)).toBe(eventId);
      }),
    );
  });

  test("[V2] User-Agent names the version of package.json", async () => {
    expect((await sent()).headers.get("user-agent")).toBe(`Spillway/${packageJson.version}`);
  });

  test("[V17] every request says how many Spillways it has passed", async () => {
    expect((await sent({}, delivery([event()], { hops: 0 }))).headers.get("spillway-hops")).toBe("1");
    expect((await sent({}, delivery([event()], { hops: 2 }))).headers.get("spillway-hops")).toBe("3");
  });
});

describe("[V4] batch ids", () => {
  test("[V4] a batch repeated unchanged keeps its id, and nothing else has it", async () => {
    const ids = await Promise.all([
      batchId("acme/origin", ["a", "b"]),
      batchId("acme/other", ["a", "b"]),
      batchId("acme/origin", ["b", "a"]),
      batchId("acme/origin", ["a"]),
      batchId("acme/origin", ["a,b"]),
      batchId("acme/origin", ['a","b']),
      batchId("acme/origin", ["a", "b"], "job_1"),
      batchId("acme/origin", ["a", "b"], "job_2"),
      batchId("acme/origin", [], "a"),
    ]);
    expect(new Set(ids).size).toBe(ids.length);
    expect(await batchId("acme/origin", ["a", "b"])).toBe(ids[0]);
    for (const id of ids) expect(id).toMatch(/^batch_[0-9a-f]{32}$/);
  });

  test("[V4] the id is the same in every release", async () => {
    // printf '["acme/origin",null,["stripe:evt_1"]]' | sha256sum
    expect(await batchId("acme/origin", ["stripe:evt_1"])).toBe("batch_cd9d3a8862c133b3603d09bf2ca3ae84");
  });
});
