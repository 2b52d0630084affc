/**
 * Retention under load. `VITE_RETENTION_EVENTS=50000 npx vitest run --project workers test/buffer/retention-size` plays it
 * at full size, and then also measures what a drop does to the intake, in three rounds.
 */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { IngestCall } from "../../src/buffer/contract.ts";
import { RetentionTurns } from "../../src/buffer/retention.ts";
import { bodySegmentBytesMax, COPY_BYTES_MAX } from "../../src/core/segments.ts";
import { startClock, stopClock } from "../flow/clock.ts";
import { Origin } from "../flow/origin.ts";
import { Tenant } from "../flow/tenant.ts";
import { manyCalls } from "./arrivals.ts";

const FULL = 50_000;
const { VITE_RETENTION_EVENTS: events = "4000" } = import.meta.env as Record<string, string>;
const EVENTS = Number(events);
const BODY_BYTES = 4_096;
/** 20 MB of 200 MB at full size. */
const RETAIN_BYTES = EVENTS * 400;
const ROUNDS = 3;

beforeEach(() => startClock());

afterEach(() => {
  vi.restoreAllMocks();
  stopClock();
});

/** Hands events over, 50 at a time, while the alarm runs whenever it is set; answers the slowest hand-over in ms. */
async function slowestOf(tenant: Tenant, calls: readonly IngestCall[]): Promise<number> {
  let isOver = false;
  const drained = (async () => {
    while (!isOver) if (!(await tenant.runAlarm())) await scheduler.wait(1);
  })();
  let slowestMs = 0;
  for (let first = 0; first < calls.length; first += 50) {
    const group = calls.slice(first, first + 50).map(async (call) => {
      const beganMs = performance.now();
      const answer = await tenant.ingest(call);
      slowestMs = Math.max(slowestMs, performance.now() - beganMs);
      return answer.kind;
    });
    expect(new Set(await Promise.all(group))).toEqual(new Set(["buffered"]));
  }
  isOver = true;
  await drained;
  return slowestMs;
}

async function drain(tenant: Tenant): Promise<void> {
  while ((await tenant.ledger()).backlog > 0) await tenant.runAlarm();
  for (let run = 0; run < 50; run += 1) await tenant.runAlarm();
}

test(`[L1] [L2] [D3] ${EVENTS} events of 4 KB, retainBytes ${RETAIN_BYTES}: what is stored stays small, old ids stay known, each turn within its bounds`, {
  timeout: 1_800_000,
}, async () => {
  const origin = new Origin();
  const spy = vi.spyOn(RetentionTurns.prototype, "turn");
  const tenant = await Tenant.create({ retainBytes: RETAIN_BYTES, maxBacklogBytes: 6_000_000_000 });
  const other = EVENTS >= FULL ? await Tenant.create({ maxBacklogBytes: 6_000_000_000 }) : null;
  const ratios: number[] = [];
  const all: IngestCall[] = [];
  const perRound = Math.ceil(EVENTS / ROUNDS);
  for (let round = 0; round < ROUNDS; round += 1) {
    const calls = await manyCalls(tenant, `r${round}_`, Math.min(perRound, EVENTS - all.length), BODY_BYTES);
    all.push(...calls);
    const withoutMs = other === null ? 0 : await slowestOf(other, calls);
    const withMs = await slowestOf(tenant, calls);
    if (other !== null)
      console.info(`slowest hand-over, round ${round + 1}: ${withMs} ms with drops, ${withoutMs} ms without`);
    ratios.push(withMs / Math.max(1, withoutMs));
    origin.requests.length = 0;
    origin.accepted.length = 0;
  }
  await drain(tenant);
  expect(await tenant.ledger()).toMatchObject({ offered: EVENTS, delivered: EVENTS, backlog: 0, dead: 0 });
  const { storage } = await tenant.stats();
  const own = spy.mock.contexts[0] as RetentionTurns;
  const turns = [...new Set(spy.mock.contexts)].flatMap((each) => (each as RetentionTurns).turns);
  const dropped = turns.filter((turn) => turn.droppedBytes > 0);
  console.info(
    `stored at the end: ${storage.bytes} bytes; ${dropped.length} drops of at most ${Math.max(...dropped.map((turn) => turn.droppedBytes))} bytes`,
  );
  expect(own.turns.length).toBeGreaterThan(0);
  expect(storage.bytes).toBeLessThanOrEqual(3 * RETAIN_BYTES);
  expect(dropped.length).toBeGreaterThan(5);
  for (const turn of turns) {
    expect(turn.droppedBytes).toBeLessThanOrEqual(bodySegmentBytesMax(RETAIN_BYTES) + BODY_BYTES);
    expect(turn.copiedBytes).toBeLessThanOrEqual(COPY_BYTES_MAX);
  }
  const sampled = all.filter((_, index) => index % Math.ceil(all.length / 1_000) === 0);
  const answers = await Promise.all(sampled.map(async (call) => (await tenant.ingest(call)).kind));
  expect(sampled.length).toBeGreaterThanOrEqual(Math.min(1_000, EVENTS) * 0.9);
  expect(new Set(answers)).toEqual(new Set(["deduplicated"]));
  if (other !== null) {
    const median = [...ratios].sort((a, b) => a - b)[1] ?? 0;
    console.info(
      `slowest hand-over during drops ÷ without, by round: ${ratios.map((ratio) => ratio.toFixed(2)).join(" ")}`,
    );
    expect(median).toBeLessThanOrEqual(1.5);
  }
});
