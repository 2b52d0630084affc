/** Large bodies, and handing one over in steps, as a slow Worker would [V25]. */
import type { IngestAnswer, LargeIngestCall } from "../../src/buffer/contract.ts";
import { isUtf8 } from "../../src/core/utf8.ts";
import type { Tenant } from "../flow/tenant.ts";
import { type Arrival, callFor } from "./arrivals.ts";

/** A tenant that takes bodies up to the greatest there are. */
export const LARGE = { maxBodyBytes: 26_214_400 };

/** Bytes that are the same nowhere, so that a piece in the wrong place shows. */
export function noise(sizeBytes: number, seed = 1): Uint8Array<ArrayBuffer> {
  const words = new Uint32Array(Math.ceil(sizeBytes / 4));
  let state = seed * 2_654_435_761;
  for (let i = 0; i < words.length; i++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    words[i] = state ^ (state >>> 15);
  }
  return new Uint8Array(words.buffer).slice(0, sizeBytes);
}

/** JSON text of exactly this size, with characters of several bytes and some to be escaped. */
export function jsonOf(sizeBytes: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(sizeBytes).fill(0x20);
  const unit = new TextEncoder().encode('"ä€\u{1f600}\\"\\n\\\\ text",');
  const count = Math.floor((sizeBytes - 10) / unit.length);
  bytes[0] = 0x5b;
  for (let i = 0; i < count; i++) bytes.set(unit, 1 + i * unit.length);
  bytes[1 + count * unit.length] = 0x31;
  bytes[sizeBytes - 1] = 0x5d;
  return bytes;
}

/** One body on its way into the object. */
export interface Handing {
  readonly answer: Promise<IngestAnswer>;
  /** Hands over the next bytes; resolves when the object has taken them. */
  send(bytes: Uint8Array): Promise<void>;
  /** That was all. */
  end(): Promise<void>;
  /** The Worker is gone. */
  breakOff(): Promise<void>;
}

export async function handOver(
  tenant: Tenant,
  arrival: Arrival & { readonly body: Uint8Array<ArrayBuffer> },
  sizeBytes = arrival.body.length,
): Promise<Handing> {
  const { body, ...call } = await callFor(tenant, arrival);
  const large: LargeIngestCall = { ...call, body: new Uint8Array(0), bodySizeBytes: sizeBytes, isText: isUtf8(body) };
  const { readable, writable } = new IdentityTransformStream();
  const writer = writable.getWriter();
  return {
    answer: (async () => tenant.calls.ingestLarge(large, readable))(),
    send: (bytes) => writer.write(bytes),
    end: () => writer.close(),
    breakOff: () => writer.abort(new Error("gone")).catch(() => {}),
  };
}

/** How many chunk rows and uploads the object holds, wherever they are. */
export async function staged(tenant: Tenant): Promise<{ chunks: number; kept: number; uploads: number }> {
  const tables = await tenant.sql<{ name: string }>(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'chunk_[0-9]*'",
  );
  const count = async (table: string) =>
    (await tenant.sql<{ count: number }>(`SELECT count(*) AS count FROM ${table}`))[0]?.count ?? 0;
  let chunks = 0;
  for (const { name } of tables) chunks += await count(name);
  return { chunks, kept: await count("kept_chunk"), uploads: await count("upload") };
}
