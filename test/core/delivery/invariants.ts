import { invariant } from "../../../src/core/assert.ts";
import { createLive, type Flight, heldPieces, type Isolation } from "../../../src/core/delivery/live.ts";
import type { DeliveryRow, Live } from "../../../src/core/delivery/machine.ts";
import { createRow } from "../../../src/core/delivery/row.ts";
import type { DeliverySettings } from "../../../src/core/delivery/settings.ts";
import type { Loaded, SimulatedTenant } from "./simulated-tenant.ts";

/** What holds after every step of a destination's life, whatever happens. */
export function checkInvariants(
  row: DeliveryRow,
  live: Live,
  settings: DeliverySettings,
  tenant: SimulatedTenant,
): void {
  invariant(row.settledRanges.length <= settings.maxInFlight + 2, "[V14] at most maxInFlight + 2 ranges");
  invariant(row.results.length <= 20, "[V22] the last 20 results");
  const mainCount = live.flights.filter((flight) => flight.inLog).length;
  invariant(mainCount <= settings.maxInFlight, "[V13] at most maxInFlight requests");
  invariant(live.flights.length - mainCount <= 1, "[V13] one retry at a time");
  const isSearching = live.flights.some((flight) => isOf(live.isolation, flight));
  invariant(!isSearching || live.flights.length === 1, "[V9] one request at a time");
  invariant(settings.ordering === "relaxed" || live.flights.length <= 1, "[V15] one request at a time");
  const sent = row.inFlight.filter((record) => record.state === "sent");
  invariant(sent.length === live.flights.length, "[V26] what is in flight is recorded");
  const seqs = live.flights.flatMap((flight) => flight.events.map((event) => event.seq));
  invariant(new Set(seqs).size === seqs.length, "no two requests hold the same event");
  for (const seq of seqs)
    invariant(!tenant.delivered.has(seq) && !tenant.dead.has(seq), `event ${seq} is settled already`);
  invariant(live.firstFailures.size <= tenant.backlog(), "memory holds no settled event");
  checkLedger(row, tenant);
}

/** Whether a request is part of the search, and not a batch that was Busy and goes again as it was. */
function isOf(isolation: Isolation | null, { lane, fromSeq, toSeq }: Flight): boolean {
  if (isolation === null || lane !== "isolation") return false;
  const pieces = heldPieces({ ...createLive(createRow(0)), isolation });
  return pieces.some((piece) => piece.fromSeq <= fromSeq && toSeq <= piece.toSeq);
}

/** Each number up to the position and in the ranges is settled or set aside, and no other one is [X5]. */
function checkLedger(row: DeliveryRow, tenant: SimulatedTenant): void {
  let covered = row.position;
  for (const [from, to] of row.settledRanges) covered += to - from + 1;
  const asideCount = tenant.aside.count("aside") + tenant.aside.count("redrive");
  const erasedAhead = [...tenant.erased].filter(
    (seq) => seq > row.position && !row.settledRanges.some(([from, to]) => from <= seq && seq <= to),
  ).length;
  const ended = tenant.delivered.size + tenant.dead.size + tenant.filtered.size + tenant.erased.size - erasedAhead;
  invariant(covered === ended + asideCount, `[X5] ${covered} numbers covered, ${ended} ended, ${asideCount} set aside`);
}

/** A request in strict order begins with the first event that is not settled [V15]. */
export function checkOrder(row: DeliveryRow, { events }: Loaded, tenant: SimulatedTenant): void {
  const [first] = events;
  if (first === undefined || first.aside !== null) return;
  for (let seq = row.position + 1; seq < first.seq; seq++) {
    invariant(tenant.erased.has(seq) || !tenant.event(seq).passes, "[V15] nothing passes the head");
  }
}
