import type { Arrival, VerifySource } from "../../src/providers/arrival.ts";
import { providerRow } from "../../src/providers/catalogue.ts";
import type { ProviderRow } from "../../src/providers/row.ts";

/** 2026-11-29T00:00:00Z, the clock of the field reports. */
export const T = 1_795_910_400;

export function row(name: string): ProviderRow {
  const found = providerRow(name);
  if (found === undefined) throw new Error(`no row ${name}`);
  return found;
}

export function source(secrets: readonly string[], changes: Partial<VerifySource> = {}): VerifySource {
  return {
    id: "src",
    secrets,
    toleranceSeconds: null,
    publicUrl: null,
    params: {},
    verifyToken: null,
    eventId: null,
    ...changes,
  };
}

export function arrival(
  headers: Readonly<Record<string, string>>,
  body: string | Uint8Array,
  changes: Partial<Omit<Arrival, "headers" | "body" | "url">> & { readonly url?: string } = {},
): Arrival {
  return {
    method: changes.method ?? "POST",
    url: new URL(changes.url ?? "https://buf.test/webhook/t"),
    headers: new Headers(headers),
    body: new Uint8Array(typeof body === "string" ? new TextEncoder().encode(body) : body),
    receivedAtMs: changes.receivedAtMs ?? T * 1000,
  };
}

export function fromHex(digits: string): Uint8Array {
  return new Uint8Array(Buffer.from(digits, "hex"));
}
