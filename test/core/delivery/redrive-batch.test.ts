import { expect, test } from "vitest";
import type { AsideEvent, DeliveryRow, Live, PlanFacts } from "../../../src/core/delivery/machine.ts";
import { begin, createRow, plan, settle, wakeUp } from "../../../src/core/delivery/machine.ts";
import { DELIVERY_DEFAULTS } from "../../../src/core/delivery/settings.ts";

const settings = { ...DELIVERY_DEFAULTS, batch: { ...DELIVERY_DEFAULTS.batch, maxEvents: 8 } };

function redriven(seq: number): AsideEvent {
  return {
    seq,
    lane: "redrive",
    failures: 0,
    charged: 0,
    firstFailureAtMs: 0,
    lastFailureAtMs: 0,
    dueAtMs: 0,
    waitingSinceMs: 0,
    busies: 0,
    reason: "redrive",
  };
}

test("[V44] a redrive batch that failed is halved in size until one event is alone", () => {
  const waiting = Array.from({ length: 8 }, (_, index) => redriven(index + 1));
  let { row, live }: { row: DeliveryRow; live: Live } = wakeUp(createRow(8), { nowMs: 1, random: 0.5, settings });
  const sizes: number[] = [];
  for (let nowMs = 1_000; nowMs < 5_000; nowMs += 1_000) {
    const facts: PlanFacts = { nowMs, settings, fresh: null, asideDue: waiting, otherDestinationsWaiting: false };
    const next = plan(row, live, facts);
    if (next.kind !== "send" || next.request.lane !== "redrive") break;
    const seqs = next.request.seqs;
    sizes.push(seqs.length);
    const events = seqs.map((seq) => ({ seq, eventId: `e${seq}`, receivedAtMs: 0, aside: redriven(seq) }));
    const started = {
      id: nowMs,
      batchId: "",
      lane: "redrive" as const,
      fromSeq: seqs[0] ?? 0,
      toSeq: seqs.at(-1) ?? 0,
      events,
      passedOver: [],
    };
    ({ row, live } = begin(row, live, started, { nowMs, settings }));
    const outcome = { kind: "failed", retryAfterMs: null, status: 500, excerpt: "", durationMs: 1 } as const;
    const facts2 = { nowMs, random: 0.5, settings, freshWaiting: true, asideCount: 0 };
    ({ row, live } = settle(row, live, nowMs, outcome, facts2));
  }
  expect(sizes.slice(0, 4)).toEqual([8, 4, 2, 1]);
});
