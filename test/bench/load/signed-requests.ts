import { createHmac, randomBytes } from "node:crypto";

/** The secret shared by the load, the floors and the benchmarked tenant's source. */
export const BENCH_SECRET = "bench-secret-0123456789abcdef";

export interface RequestShape {
  readonly count: number;
  /** Requests go to `/webhook/<tenant>` for these in turn. */
  readonly tenants: readonly string[];
  readonly bodySizeBytes: number;
}

/**
 * Complete HTTP/1.1 requests, each with its own random event id and a genuine `generic` signature, made before the
 * clock starts: signing while measuring would take the processor from the server.
 */
export function signedRequests(shape: RequestShape): Buffer[] {
  const requests: Buffer[] = [];
  for (let index = 0; index < shape.count; index += 1) {
    const tenant = shape.tenants[index % shape.tenants.length] ?? "";
    requests.push(signedRequest(tenant, `evt_${randomBytes(12).toString("hex")}`, shape.bodySizeBytes));
  }
  return requests;
}

function signedRequest(tenant: string, id: string, bodySizeBytes: number): Buffer {
  const body = eventBody(id, bodySizeBytes);
  const signature = createHmac("sha256", BENCH_SECRET).update(body).digest("hex");
  return Buffer.from(
    `POST /webhook/${tenant} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n` +
      `X-Event-ID: ${id}\r\nX-Event-Type: invoice.paid\r\nX-Signature: ${signature}\r\n` +
      `Content-Length: ${body.length}\r\n\r\n${body}`,
    "latin1",
  );
}

/** A JSON body of exactly `sizeBytes` (at least 64), the way webhooks look: an id, a type and much that nobody reads. */
export function eventBody(id: string, sizeBytes: number): string {
  const head = `{"id":"${id}","data":"`;
  const tail = `"}`;
  return head + "lorem ipsum ".repeat(sizeBytes / 12 + 1).slice(0, sizeBytes - head.length - tail.length) + tail;
}
