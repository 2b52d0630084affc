import { describe, expect, test } from "vitest";
import type { Arrival, VerifySource } from "../../src/providers/arrival.ts";
import { providerRow } from "../../src/providers/catalogue.ts";
import { answerHandshake } from "../../src/providers/handshake.ts";
import { NOW_SECONDS, sdk } from "./oracle.ts";
import { Subject } from "./subject.ts";

/** Answers to questions that need the secret, as the providers' own packages work them out. */

function sourceOf(secret: string, params: Record<string, string> = {}): VerifySource {
  return {
    id: "src",
    secrets: [secret],
    toleranceSeconds: null,
    publicUrl: null,
    params,
    verifyToken: null,
    eventId: null,
  };
}

async function answerOf(
  provider: string,
  source: VerifySource,
  arrival: Partial<Arrival>,
): Promise<string | undefined> {
  const row = providerRow(provider);
  if (row === undefined) throw new Error(provider);
  const whole: Arrival = {
    method: "GET",
    url: new URL("https://hooks.example.com/in/tok"),
    headers: new Headers(),
    body: new Uint8Array(),
    receivedAtMs: NOW_SECONDS * 1000,
    ...arrival,
  };
  return (await answerHandshake(row, source, whole))?.body ?? undefined;
}

describe("answers that are an HMAC", () => {
  test("[P3] braintree: the answer to bt_challenge is the package's", async () => {
    const { BraintreeGateway, Environment } = sdk<{
      BraintreeGateway: new (options: object) => { webhookNotification: { verify(challenge: string): string } };
      Environment: { Sandbox: unknown };
    }>("braintree");
    const privateKey = "integration_private_key";
    const publicKey = "integration_public_key";
    const gateway = new BraintreeGateway({ environment: Environment.Sandbox, merchantId: "m", publicKey, privateKey });
    const challenge = "20f9f8ed05f77439fe955c977e4c8a53";
    const url = new URL(`https://hooks.example.com/in/tok?bt_challenge=${challenge}`);
    expect(await answerOf("braintree", sourceOf(privateKey, { publicKey }), { url })).toBe(
      gateway.webhookNotification.verify(challenge),
    );
    expect(() => gateway.webhookNotification.verify("not hex at all, as it is")).toThrow();
    const oracle = new URL("https://hooks.example.com/in/tok?bt_challenge=not%20hex%20at%20all,%20as%20it%20is");
    expect(await answerOf("braintree", sourceOf(privateKey, { publicKey }), { url: oracle })).toBeUndefined();
  });

  test("[P3] smartcar: the answer to a challenge is the package's", async () => {
    const { hashChallenge } = sdk<{ hashChallenge(token: string, challenge: string): string }>("smartcar");
    const subject = new Subject({ provider: "smartcar", package: "smartcar", accepts: () => true });
    const challenge = "5ee26feb-5a12-4fd4-9c1a-7a4c3d1f2b6e";
    const sent = subject.sign({
      body: Buffer.from(JSON.stringify({ eventType: "VERIFY", eventId: "e1", data: { challenge } })),
    });
    const { secret } = subject.signer;
    const body = await answerOf("smartcar", sourceOf(secret), {
      method: "POST",
      headers: new Headers(sent.headers),
      body: new Uint8Array(sent.body),
    });
    expect(JSON.parse(body ?? "{}")).toEqual({ challenge: hashChallenge(secret, challenge) });
  });
});
