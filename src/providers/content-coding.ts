import { joinedBytes } from "../core/joined-bytes.ts";
import type { Arrival } from "./arrival.ts";
import { PARSED_BODY_BYTES_MAX } from "./json-body.ts";

/**
 * The arrival with its body decompressed, for providers that sign the text before they compress it [I3]; the arrival
 * itself where it is not compressed; `null` where the coding is unknown, the bytes are damaged, or the text would be
 * larger than 4 MiB. What is stored and handed on stays the bytes as they came.
 */
export async function uncompressed(arrival: Arrival): Promise<Arrival | null> {
  const coding = (arrival.headers.get("content-encoding") ?? "identity").trim().toLowerCase();
  if (coding === "identity" || coding === "" || arrival.body.length === 0) return arrival;
  if (coding !== "gzip" && coding !== "x-gzip" && coding !== "deflate") return null;
  const body = await inflate(arrival.body, coding === "deflate" ? "deflate" : "gzip");
  return body === null ? null : { ...arrival, url: arrival.url, body };
}

async function inflate(
  bytes: Uint8Array<ArrayBuffer>,
  format: "gzip" | "deflate",
): Promise<Uint8Array<ArrayBuffer> | null> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  try {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream(format));
    for await (const chunk of stream) {
      sizeBytes += chunk.length;
      if (sizeBytes > PARSED_BODY_BYTES_MAX) return null;
      chunks.push(chunk);
    }
  } catch {
    return null;
  }
  return joinedBytes(chunks, sizeBytes);
}
