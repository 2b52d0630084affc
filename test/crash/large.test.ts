import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { WorkerDescription } from "../../scripts/workerd/config.ts";
import { buildSpillway } from "../../scripts/workerd/spillway.ts";
import { LargeOrigin } from "./large-origin.ts";
import { LargeSender } from "./large-sender.ts";
import { peakResidentBytes, residentBytes } from "./resident-memory.ts";
import { SOURCE_SECRET } from "./sender.ts";
import { Site } from "./site.ts";

const TEST_TIMEOUT_MS = 180_000;
const BODY_BYTES_MAX = 26_214_400;
const SIGNING_SECRET = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
/** As many small events as compile what all events go through, so that the level before is that of a runtime at work. */
const WARM_UP_EVENTS = 300;
/** However large what lies before it, a small event comes soon. */
const BEHIND_LARGE_MS = 5_000;

const buildDir = mkdtempSync(join(tmpdir(), "spillway-large-build-"));
let worker: WorkerDescription;
let site: Site;
let origin: LargeOrigin;
let provider: LargeSender;

beforeAll(async () => {
  worker = await buildSpillway(buildDir);
}, TEST_TIMEOUT_MS);

afterEach(async () => {
  await site.close();
  origin.close();
});

afterAll(() => rmSync(buildDir, { recursive: true, force: true }));

async function open(format: string, announces = true): Promise<void> {
  origin = await LargeOrigin.start();
  site = new Site(worker);
  provider = new LargeSender(site, announces);
  await site.start();
  await site.admin("acme").configure({
    maxBodyBytes: BODY_BYTES_MAX,
    sources: { shop: { provider: "generic", secrets: [SOURCE_SECRET] } },
    rateLimit: { events: 100_000, windowSeconds: 1 },
    destinations: { origin: { kind: "http", url: origin.url, format, signingSecrets: [SIGNING_SECRET] } },
  });
  for (let count = 0; count < WARM_UP_EVENTS; count += 1) await provider.post(small(count));
  await allArrived();
  await sleep(500);
}

async function allArrived(): Promise<void> {
  await site.admin("acme").untilStats((stats) => stats.destinations.origin?.backlog === 0, 60_000);
}

/** Whatever arrived, arrived once and byte for byte, and nothing is missing; answers when each event did. */
function expectExact(): ReadonlyMap<string, number> {
  const arrivals = [...origin.arrivals()];
  const digests = new Map(arrivals.map(([id, times]) => [id, times.map((time) => time.sha256).join(" ")]));
  expect(digests).toEqual(provider.accepted);
  return new Map(arrivals.map(([id, times]) => [id, Math.max(...times.map((time) => time.atMs))]));
}

/** By how much the runtime was ever larger than that, in MB. */
const riseMb = (beforeBytes: number): number => (peakResidentBytes(site.pid) - beforeBytes) / 1e6;

const small = (index: number): Buffer => Buffer.from(JSON.stringify({ type: "order.paid", index }));

/** Bytes that are no text, and text of several bytes a character with signs that JSON escapes, by turns. */
function large(sizeBytes: number, index: number): Buffer {
  if (index % 2 === 1) return randomBytes(sizeBytes);
  const unit = Buffer.from(`{"n":${index},"text":"żółć \u{1f600} \\"quoted\\"\\n"},\r\n`);
  const body = Buffer.alloc(sizeBytes, " ");
  for (let from = 0; from + unit.length <= sizeBytes; from += unit.length) unit.copy(body, from);
  return body;
}

test.each(["batch", "single"])(
  "[V25] [I3] [I4] 30 bodies of 2.2 MB and one of 25 MiB come out as they went in, small ones behind them in 5 s, in 64 MB: %s",
  { timeout: TEST_TIMEOUT_MS },
  async (format) => {
    await open(format);
    const sizes = Array.from({ length: 31 }, (_, index) => (index === 15 ? BODY_BYTES_MAX : 2_200_000));
    const bodies = sizes.map(large);
    const before = residentBytes(site.pid);
    // Two at a time, which is what an isolate reads [I4].
    const send = async (): Promise<void> => {
      for (let body = bodies.shift(); body !== undefined; body = bodies.shift()) await provider.post(body);
    };
    await Promise.all([send(), send()]);
    const behind = await Promise.all(Array.from({ length: 100 }, (_, index) => provider.post(small(index))));
    const acceptedMs = performance.now();
    await allArrived();
    const arrivedAtMs = expectExact();
    const lastMs = Math.max(...behind.map((id) => arrivedAtMs.get(id) ?? Number.POSITIVE_INFINITY));
    expect(lastMs - acceptedMs).toBeLessThan(BEHIND_LARGE_MS);
    expect(riseMb(before)).toBeLessThan(64);
  },
);

test.each([
  ["batch", "of announced length", true],
  ["single", "of unannounced length", false],
] as const)(
  "[V25] [I4] ten posts of 25 MiB one after another raise the runtime's memory by at most 96 MB: %s, %s",
  { timeout: TEST_TIMEOUT_MS },
  async (format, _length, announces) => {
    await open(format, announces);
    const before = residentBytes(site.pid);
    for (let index = 0; index < 10; index += 1) await provider.post(large(BODY_BYTES_MAX, index));
    await allArrived();
    expectExact();
    expect(riseMb(before)).toBeLessThanOrEqual(96);
  },
);
