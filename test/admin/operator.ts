import { env, exports } from "cloudflare:workers";

export const ADMIN_TOKEN = "test-admin-token";
export const SECRET = "0123456789abcdef0123456789abcdef";
export const SIGNING_SECRET = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";

/** The Worker itself, called from outside. */
export const worker = (exports as unknown as { default: { fetch(url: string, init?: RequestInit): Promise<Response> } })
  .default;

export const kv = (env as unknown as { TENANT_CONFIG: KVNamespace }).TENANT_CONFIG;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: Readonly<Record<string, unknown>>;
}

/** An operator's call of the admin API; an object as body is sent as JSON, text as it is. */
export async function call(
  method: string,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const response = await worker.fetch(`https://hooks.example.com${path}`, {
    method,
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json", ...headers },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: parsed(text) };
}

function parsed(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
}

let count = 0;

/** A tenant of its own for each test: storage is shared within a file. */
export function freshName(): string {
  count += 1;
  return `t${count}-${crypto.randomUUID().slice(0, 8)}`;
}

export const input = (more: Readonly<Record<string, unknown>> = {}) => ({
  sources: { internal: { provider: "generic", secrets: [SECRET] } },
  destinations: {
    origin: { url: "https://origin.test/hooks", signingSecrets: [SIGNING_SECRET], batch: { flushDelayMs: 60_000 } },
  },
  ...more,
});

/** Sends a signed webhook to a tenant. */
export async function post(tenant: string, id: string, body: string, secret = SECRET): Promise<Response> {
  const encoder = new TextEncoder();
  const key = await crypto.subtle.importKey("raw", encoder.encode(secret), { name: "HMAC", hash: "SHA-256" }, false, [
    "sign",
  ]);
  const mac = new Uint8Array(await crypto.subtle.sign("HMAC", key, encoder.encode(body)));
  return worker.fetch(`https://hooks.example.com/webhook/${tenant}`, {
    method: "POST",
    body,
    headers: { "x-signature": mac.toHex(), "x-event-id": id, "content-type": "text/html" },
  });
}
