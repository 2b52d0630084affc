import { createPublicKey } from "node:crypto";
import type { Signer } from "../signers/signer.ts";
import { signers } from "../signers/signers.ts";
import * as independent from "./independent.ts";

export const configured = (signer: Signer): string => (signer.configured ?? String)(signer.secret);

export const signerOf = (name: string): Signer => {
  const signer = signers[name];
  if (signer === undefined) throw new Error(`no signer ${name}`);
  return signer;
};

const pemOf = (jwk: string): string => {
  const key = createPublicKey({ key: JSON.parse(jwk) as Record<string, string>, format: "jwk" });
  return String(key.export({ type: "spki", format: "pem" }));
};

/** A row of each family and the verifier that is held against it, given what the operator configures. */
export const families: readonly (readonly [string, (secret: string) => independent.Check])[] = [
  ["github", independent.github],
  ["shopify", independent.shopify],
  ["stripe", independent.stripe],
  ["standard-webhooks", independent.standard],
  ["hubspot-v1", independent.hubspotV1],
  ["twilio", independent.twilio],
  ["adyen", independent.adyen],
  ["discord", independent.discord],
  ["sendgrid", independent.sendgrid],
  ["wise", independent.wise],
  ["netlify", independent.netlify],
  ["plaid", (jwk) => independent.plaid(pemOf(jwk))],
  ["telegram", (secret) => independent.token("x-telegram-bot-api-secret-token", secret)],
  ["microsoft-graph", independent.graph],
];
