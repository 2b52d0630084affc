/** The must-show of queues: everything through the local queue, to an origin that fails a third of the requests. */
import { createHash, createHmac, randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { ADMIN_TOKEN, type LocalSite, startWithQueue, withQueue } from "./local-queue.ts";

const EVENTS = 5_000;
const SMALLEST_BYTES = 1_000;
const LARGEST_BYTES = 300_000;
/** One in 27 fails each of the three times it is tried. */
const RETRIES = 2;
const SOURCE_SECRET = "queue-secret-0123456789abcdef";
const TIMEOUT_MS = 600_000;

let site: LocalSite | null = null;
let server: Server | null = null;

afterEach(async () => {
  await site?.close();
  server?.closeAllConnections();
  server?.close();
});

interface Ledger {
  readonly offered: number;
  readonly delivered: number;
  readonly backlog: number;
  readonly dead: number;
}

function admin(method: string, path: string, body?: unknown): Promise<Response> {
  return fetch(`${site?.origin}/admin/tenants/acme${path}`, {
    method,
    headers: { Authorization: `Bearer ${ADMIN_TOKEN}`, "Content-Type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

async function ledger(): Promise<Ledger> {
  const stats = (await (await admin("GET", "/stats")).json()) as { destinations: { q: Ledger } };
  return stats.destinations.q;
}

/** Polls until `isReached`; gives up when nothing moves for two minutes. */
async function until(isReached: () => Promise<boolean> | boolean, progress: () => unknown): Promise<void> {
  let before = "";
  for (let quietMs = 0; quietMs < 120_000; quietMs += 500) {
    if (await isReached()) return;
    const now = JSON.stringify(progress());
    if (now !== before) quietMs = 0;
    before = now;
    await sleep(500);
  }
  throw new Error(`nothing moves any more: ${before}`);
}

/** An origin that answers every third request with 500 while it is ill, and notes the digest of what it accepted. */
class Origin {
  readonly accepted = new Map<string, string>();
  readonly #counts = new Map<string, number>();
  isIll = true;
  requestCount = 0;

  async start(): Promise<string> {
    server = createServer(async (request, response) => {
      const hash = createHash("sha256");
      for await (const chunk of request) hash.update(chunk as Buffer);
      this.requestCount += 1;
      if (this.isIll && this.requestCount % 3 === 0) {
        response.writeHead(500).end();
        return;
      }
      const id = String(request.headers["spillway-event-id"]);
      this.#counts.set(id, (this.#counts.get(id) ?? 0) + 1);
      this.accepted.set(id, hash.digest("hex"));
      response.writeHead(204).end();
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("the origin has no port");
    return `http://127.0.0.1:${address.port}/in`;
  }
}

/** Sizes spread evenly over their logarithm: as many of 1 to 17 KB as of 17 to 300 KB. */
function sizeOf(index: number): number {
  const share = (index * 0.618034) % 1;
  return Math.round(SMALLEST_BYTES * (LARGEST_BYTES / SMALLEST_BYTES) ** share);
}

/** Half of them text, half bytes that are no UTF-8. */
function bodyOf(index: number): Buffer {
  const bytes = randomBytes(sizeOf(index));
  return index % 2 === 0 ? bytes : Buffer.from(bytes.toString("base64").slice(0, bytes.length));
}

async function post(index: number, body: Buffer): Promise<void> {
  const headers = {
    "X-Event-ID": `e-${index}`,
    "X-Signature": createHmac("sha256", SOURCE_SECRET).update(body).digest("hex"),
  };
  for (;;) {
    const response = await fetch(`${site?.origin}/webhook/acme`, { method: "POST", headers, body });
    await response.arrayBuffer();
    if (response.status === 202 || response.status === 200) return;
    if (response.status !== 503) throw new Error(`e-${index} was answered ${response.status}`);
    await sleep(500);
  }
}

test("[V19] 5,000 events of 1 KB to 300 KB through the local queue: each arrives byte for byte, or the dead letters show it", {
  timeout: TIMEOUT_MS,
}, async () => {
  const origin = new Origin();
  const url = await origin.start();
  site = await startWithQueue((toml) => toml.replaceAll(/max_retries = \d+/g, `max_retries = ${RETRIES}`));
  const put = await admin("PUT", "", {
    sources: { in: { provider: "generic", secrets: [SOURCE_SECRET] } },
    rateLimit: { events: 100_000, windowSeconds: 1 },
    destinations: {
      q: {
        kind: "queue",
        queue: "DELIVERY_QUEUE",
        batch: { maxEvents: 100, flushDelayMs: 200 },
        retry: { scheduleSeconds: [1] },
        deliverTo: { url, timeoutMs: 10_000 },
      },
    },
  });
  expect([put.status, put.ok ? "" : await put.text()]).toEqual([200, ""]);

  const digests = new Map<string, string>();
  let next = 0;
  const sender = async (): Promise<void> => {
    while (next < EVENTS) {
      const index = next++;
      const body = bodyOf(index);
      digests.set(`in:e-${index}`, createHash("sha256").update(body).digest("hex"));
      await post(index, body);
    }
  };
  await Promise.all(Array.from({ length: 12 }, sender));

  let now = await ledger();
  const settled = async (): Promise<boolean> => {
    now = await ledger();
    return now.backlog === 0 && origin.accepted.size + now.dead >= EVENTS;
  };
  await until(settled, () => [now, origin.requestCount]);
  // What gave up is what did not arrive, and a share near to what chance says.
  expect(now).toMatchObject({ offered: EVENTS, backlog: 0, delivered: EVENTS - now.dead });
  expect(origin.accepted.size).toBe(EVENTS - now.dead);
  expect(now.dead).toBeGreaterThan(EVENTS / 100);
  const letters = (await (await admin("GET", "/dead-letters?destination=q&limit=100")).json()) as {
    items: { id: string; reason: string }[];
  };
  expect(new Set(letters.items.map(({ reason }) => reason))).toEqual(new Set(["queue-exhausted"]));
  expect(letters.items.filter(({ id }) => origin.accepted.has(id))).toEqual([]);

  origin.isIll = false;
  const redrive = await admin("POST", "/dead-letters/redrive", { destination: "q", all: true });
  expect(((await redrive.json()) as { count: number }).count).toBe(now.dead);
  await until(
    () => origin.accepted.size === EVENTS,
    () => origin.accepted.size,
  );
  expect([...origin.accepted].filter(([id, digest]) => digests.get(id) !== digest)).toEqual([]);
  now = await ledger();
  expect(now).toMatchObject({ offered: EVENTS, delivered: EVENTS, backlog: 0, dead: 0 });
});

test("[V19] the queue is one step more: wrangler.toml holds it ready with a hundred retries and a dead-letter queue", () => {
  const toml = readFileSync(resolve(import.meta.dirname, "../../wrangler.toml"), "utf8");
  expect(toml.replaceAll(/^#.*$/gm, "")).not.toMatch(/queue/i);
  const whole = withQueue(toml);
  expect(whole).toMatch(/^binding = "DELIVERY_QUEUE"$/m);
  expect(whole).toMatch(/^max_retries = 100$/m);
  expect(whole).toMatch(/^dead_letter_queue = "spillway-delivery-dlq"$/m);
});
