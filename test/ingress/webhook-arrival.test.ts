import { expect, test } from "vitest";
import { WebhookArrival } from "../../src/ingress/webhook-arrival.ts";
import { uncompressed } from "../../src/providers/content-coding.ts";

test("[I3] [P2] what is uncompressed to be read has the address and the headers of what came", async () => {
  const zipped = new Blob(['{"a":1}']).stream().pipeThrough(new CompressionStream("gzip"));
  const body = new Uint8Array(await new Response(zipped).arrayBuffer());
  const url = "https://buf.test/webhook/acme?delivery=d-1";
  const request = new Request(url, { method: "POST", headers: { "content-encoding": "gzip" } });
  const plain = await uncompressed(new WebhookArrival(request, body, 1_000));
  expect(new TextDecoder().decode(plain?.body)).toBe('{"a":1}');
  expect(plain?.url.searchParams.get("delivery")).toBe("d-1");
  expect([plain?.method, plain?.headers.get("content-encoding"), plain?.receivedAtMs]).toEqual(["POST", "gzip", 1_000]);
});
