/**
 * A Cloudflare Queue as sink [V19]: one JSON message per event, the limits enforced here, since the local runtime does not
 * and the platform's own errors say little. Accepted means that the queue has the messages.
 */
import type { Outcome } from "../core/delivery/outcome.ts";
import { inTime } from "../core/in-time.ts";
import type { Pieces } from "../core/large-body.ts";
import type { DeliveredEvent, Delivery } from "./delivery.ts";
import { eventElement, eventHead } from "./formats/batch.ts";
import { unhurried } from "./pieces.ts";
import { RunningDigest, sha256HexOfBytes } from "./signing.ts";

/** The part of a queue binding that sending needs. */
export interface QueueBinding {
  sendBatch(messages: readonly { readonly body: unknown; readonly contentType: "json" }[]): Promise<unknown>;
  metrics?(): Promise<{ readonly backlogCount: number }>;
}

/** A message as any consumer sees it. Larger events come as a claim: their bytes are fetched. */
export interface QueueMessage {
  readonly v: 1;
  readonly tenant: string;
  readonly destination: string;
  readonly id: string;
  readonly body?: string;
  readonly bodyBase64?: string;
  readonly claim?: { readonly sizeBytes: number; readonly sha256: string };
}

const CALL_MESSAGES_MAX = 100;
const CALL_BYTES_MAX = 256_000;
/** The platform's 128,000 include its own 100 or so. */
const MESSAGE_BYTES_MAX = 127_000;
const BACKLOG_CHECK_MS = 60_000;

interface QueueSent {
  readonly outcome: Outcome;
  /** Events whose bytes stay here, to be fetched. */
  readonly claimedSeqs: readonly number[];
}

/** What each queue last said of its backlog; asked at most once a minute. */
const backlogs = new WeakMap<QueueBinding, { readonly atMs: number; readonly count: number }>();

/** Hands the events to the queue, within `timeoutMs` [V8]. Never throws. */
export async function sendToQueue(
  queue: QueueBinding,
  delivery: Delivery,
  maxBacklog: number,
  timeoutMs: number,
): Promise<QueueSent> {
  const startedAtMs = performance.now();
  const handing = new Handing();
  const outcome = (await inTime(hand(queue, delivery, maxBacklog, handing), timeoutMs)) ?? handing.giveUp();
  return {
    outcome: { ...outcome, durationMs: performance.now() - startedAtMs },
    claimedSeqs: [...handing.claimedSeqs],
  };
}

/** How far it has come: what is in the queue, or may be, will be fetched, whatever became of the rest. */
class Handing {
  readonly claimedSeqs: number[] = [];
  #underWay: readonly number[] = [];
  isOver = false;

  async call(queue: QueueBinding, messages: readonly SizedMessage[]): Promise<void> {
    this.#underWay = messages.filter(({ isClaim }) => isClaim).map(({ seq }) => seq);
    await queue.sendBatch(messages.map(({ body }) => ({ body, contentType: "json" as const })));
    this.claimedSeqs.push(...this.#underWay);
  }

  giveUp(): OutcomeKind {
    this.isOver = true;
    this.claimedSeqs.push(...this.#underWay);
    return { kind: "failed", retryAfterMs: null, status: null, cause: "timeout", excerpt: "" };
  }
}

async function hand(
  queue: QueueBinding,
  delivery: Delivery,
  maxBacklog: number,
  handing: Handing,
): Promise<OutcomeKind> {
  if ((await backlogOf(queue, delivery.nowMs)) > maxBacklog) {
    const excerpt = `the queue holds more than maxQueueBacklog (${maxBacklog}) messages`;
    return { kind: "busy", retryAfterMs: BACKLOG_CHECK_MS, status: null, excerpt };
  }
  try {
    const messages = await Promise.all(delivery.events.map((event) => messageOf(delivery, event)));
    const refusedIds = messages.filter(({ sizeBytes }) => sizeBytes > MESSAGE_BYTES_MAX).map(({ id }) => id);
    for (const call of callsOf(messages.filter(({ sizeBytes }) => sizeBytes <= MESSAGE_BYTES_MAX))) {
      if (handing.isOver) break;
      await handing.call(queue, call);
    }
    const excerpt = refusedIds.length === 0 ? "" : "the kept headers alone are larger than a message may be";
    if (refusedIds.length === messages.length) return { kind: "refused", status: null, excerpt };
    return { kind: "accepted", refusedIds, status: null, excerpt };
  } catch (error) {
    return failureOf(error);
  }
}

type OutcomeKind = Outcome extends infer O ? (O extends unknown ? Omit<O, "durationMs"> : never) : never;

interface SizedMessage {
  readonly id: string;
  readonly seq: number;
  readonly body: unknown;
  readonly sizeBytes: number;
  readonly isClaim: boolean;
}

async function messageOf(delivery: Delivery, event: DeliveredEvent): Promise<SizedMessage> {
  const { tenant, destination, shard = 0 } = delivery;
  const head = { v: 1, tenant, destination, hops: event.hops, ...(shard === 0 ? {} : { shard }) };
  const { body } = event;
  const named = { id: event.eventId, seq: event.seq };
  if (body instanceof Uint8Array) {
    const whole = { ...eventElement({ ...event, body }), ...head };
    const sizeBytes = jsonBytes(whole);
    if (sizeBytes <= MESSAGE_BYTES_MAX) return { ...named, body: whole, sizeBytes, isClaim: false };
  }
  const sha256 = body instanceof Uint8Array ? await sha256HexOfBytes(body) : await sha256HexOfPieces(body.pieces());
  const claimed = { ...eventHead(event), ...head, claim: { sizeBytes: event.bodySizeBytes, sha256 } };
  return { ...named, body: claimed, sizeBytes: jsonBytes(claimed), isClaim: true };
}

async function sha256HexOfPieces(pieces: Pieces): Promise<string> {
  const digest = new RunningDigest();
  for await (const piece of unhurried(pieces)) await digest.update(piece);
  return (await digest.finish()).toHex();
}

/** Messages in the order of arrival, cut where a call would hold too many or too much. */
function callsOf(messages: readonly SizedMessage[]): SizedMessage[][] {
  const calls: SizedMessage[][] = [];
  let bytes = 0;
  for (const message of messages) {
    const last = calls.at(-1);
    if (last === undefined || last.length >= CALL_MESSAGES_MAX || bytes + message.sizeBytes > CALL_BYTES_MAX) {
      calls.push([message]);
      bytes = message.sizeBytes;
    } else {
      last.push(message);
      bytes += message.sizeBytes;
    }
  }
  return calls;
}

async function backlogOf(queue: QueueBinding, nowMs: number): Promise<number> {
  const known = backlogs.get(queue);
  if (known !== undefined && nowMs - known.atMs < BACKLOG_CHECK_MS) return known.count;
  let count = 0;
  try {
    count = (await queue.metrics?.())?.backlogCount ?? 0;
  } catch {
    // Without the queue's own figures nothing holds: the queue itself says when it is full.
  }
  backlogs.set(queue, { atMs: nowMs, count });
  return count;
}

function failureOf(error: unknown): OutcomeKind {
  const message = error instanceof Error ? error.message : "unknown";
  const isBusy = /too many requests|storage limit exceeded/i.test(message);
  const excerpt = message.slice(0, 2_000);
  if (isBusy) return { kind: "busy", retryAfterMs: null, status: null, excerpt };
  return { kind: "failed", retryAfterMs: null, status: null, cause: "queue", excerpt };
}

function jsonBytes(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value)).byteLength;
}
