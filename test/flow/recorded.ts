/// <reference types="vite/client" />
/** The recorded requests of providers, to be sent to the running Worker. */
import type { Vector } from "../providers/vectors.ts";
import { admin, ask, http } from "./tenant.ts";

const files = import.meta.glob<string>("../providers/vectors/*.jsonl", {
  query: "?raw",
  import: "default",
  eager: true,
});

export const recorded: readonly Vector[] = Object.keys(files)
  .sort()
  .flatMap((name) => (files[name] ?? "").split("\n"))
  .filter((line) => line !== "")
  .map((line) => {
    const vector = JSON.parse(line) as Vector & { provider: string };
    return { ...vector, spec: vector.spec ?? vector.provider };
  });

/** The clock of a vector whose scheme has no time: any will do. */
const ANY_INSTANT_SECONDS = 1_795_910_400;

export function clockMs(vector: Vector): number {
  return (vector.timestamp ?? ANY_INSTANT_SECONDS) * 1000;
}

/** Configures a new tenant with the one source that a vector is for; answers what the admin API said. */
export async function configure(tenant: string, vector: Vector): Promise<Response> {
  const secrets = vector.secrets ?? [vector.secret ?? UNKNOWN_SECRET].filter((secret) => secret !== "");
  const source = {
    provider: vector.spec,
    secrets,
    ...(vector.url === undefined ? { publicUrl: "https://hooks.example.com/in/tok" } : { publicUrl: vector.url }),
    ...(vector.verifyToken === undefined ? {} : { verifyToken: vector.verifyToken }),
    ...paramsOf(vector),
  };
  // Delivery is not what these vectors show: nothing passes the filter.
  const destinations = { origin: http("origin.test", { filter: { types: ["nothing.of.that.name"] } }) };
  return admin("PUT", `/tenants/${tenant}`, { sources: { src: source }, destinations });
}

/** The recording leaves it out, and the source must have one. */
const UNKNOWN_SECRET = "8f742231b10e8888abcd99yyyzzz85a5";

/** What the recording leaves out of the source, though its provider needs it. */
const PARAMS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  braintree: { publicKey: "integration_public_key" },
};

function paramsOf(vector: Vector): { readonly params?: Readonly<Record<string, string>> } {
  const params = vector.params ?? PARAMS[vector.spec];
  return params === undefined ? {} : { params };
}

/** Sends a vector as it was recorded, to the source's own address. */
export function send(tenant: string, vector: Vector): Promise<Response> {
  const query = vector.url === undefined ? "" : new URL(vector.url).search;
  const body =
    vector.bodyBase64 === undefined
      ? new TextEncoder().encode(vector.body ?? "")
      : Uint8Array.fromBase64(vector.bodyBase64);
  const hasBody = vector.method !== "GET" && vector.method !== "HEAD" && vector.method !== "OPTIONS";
  return ask(`/webhook/${tenant}/src${query}`, {
    method: vector.method,
    headers: headersOf(vector),
    ...(hasBody ? { body } : {}),
  });
}

/** Values as a server hands them over: one character for each byte of their UTF-8. */
function headersOf(vector: Vector): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(vector.headers)) {
    headers.set(name, String.fromCharCode(...new TextEncoder().encode(value)));
  }
  return headers;
}

/** A question of Slack's or Zoom's with the signature that it always carries and the recording leaves out [FR 31]. */
export async function signedLikeAnEvent(vector: Vector): Promise<Vector> {
  const prefix = vector.spec === "slack" ? "X-Slack" : "x-zm";
  const secret = vector.secret ?? UNKNOWN_SECRET;
  const seconds = String(clockMs(vector) / 1000);
  const text = new TextEncoder();
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", text.encode(secret), algorithm, false, ["sign"]);
  const mac = await crypto.subtle.sign("HMAC", key, text.encode(`v0:${seconds}:${vector.body}`));
  const headers = {
    ...vector.headers,
    [`${prefix}-Signature`]: `v0=${new Uint8Array(mac).toHex()}`,
    [`${prefix}-Request-Timestamp`]: seconds,
  };
  return { ...vector, secret, headers };
}
