/**
 * The consumer of Spillway's own queue [V19]: each message is delivered to its destination's `deliverTo`, acknowledged or
 * retried by itself, so that one bad message holds up no other.
 */
import type { BodyAnswer, TenantObjects } from "../buffer/contract.ts";
import { unreachable } from "../core/assert.ts";
import { retryDelayMs } from "../core/delivery/machine.ts";
import { DELIVERY_DEFAULTS } from "../core/delivery/settings.ts";
import type { LargeBody } from "../core/large-body.ts";
import type { DestinationPolicy } from "../sinks/delivery.ts";
import { sendHttp } from "../sinks/http.ts";
import type { QueueMessage } from "../sinks/queue.ts";
import type { DeliverTo, TenantConfig } from "../tenants/config.ts";
import { parseMessage, type ReceivedEvent } from "./message.ts";

/** Messages delivered at once: the platform holds more back. */
const AT_ONCE_MAX = 6;
const DELAY_MAX_SECONDS = 43_200;
const OBJECT_LIMIT_MS = 10_000;

/** The part of a queue's message that is used here. */
export interface Message {
  readonly body: unknown;
  readonly attempts: number;
  ack(): void;
  retry(options: { delaySeconds: number }): void;
}

export interface ConsumerParts {
  readonly objects: TenantObjects;
  /** The tenant's configuration; null where it is deleted or was never there. Throws where nobody can say. */
  readonly configOf: (tenant: string) => Promise<TenantConfig | null>;
  readonly policy: DestinationPolicy;
  readonly now: () => number;
  readonly random: () => number;
}

/** Delivers the messages of one batch. Never throws: a message that could not be dealt with is retried. */
export async function consume(parts: ConsumerParts, messages: readonly Message[]): Promise<void> {
  const waiting = [...messages];
  const worker = async (): Promise<void> => {
    for (let message = waiting.shift(); message !== undefined; message = waiting.shift()) await one(parts, message);
  };
  await Promise.all(Array.from({ length: AT_ONCE_MAX }, worker));
}

/** Takes what the queue gave up on: each message becomes a dead letter of its tenant, reason `queue-exhausted`. */
export async function bury(parts: ConsumerParts, messages: readonly Message[]): Promise<void> {
  for (const message of messages) {
    const parsed = parseMessage(message.body);
    if (parsed === null) {
      message.ack();
      continue;
    }
    try {
      const object = parts.objects.of(parsed.tenant, OBJECT_LIMIT_MS, parsed.shard);
      await object.queueExhausted({ destination: parsed.destination, eventId: parsed.id });
      message.ack();
    } catch {
      message.retry({ delaySeconds: 60 });
    }
  }
}

async function one(parts: ConsumerParts, message: Message): Promise<void> {
  try {
    const parsed = parseMessage(message.body);
    // A message that this program did not write can never be delivered.
    if (parsed === null) return message.ack();
    const config = await parts.configOf(parsed.tenant);
    // The tenant was deleted: its events are erased wherever they are [X6].
    if (config === null) return message.ack();
    const retryAfterMs = await deliver(parts, config, parsed, message.attempts);
    if (retryAfterMs === null) return message.ack();
    message.retry({ delaySeconds: delaySeconds(config, parsed, message.attempts, retryAfterMs, parts.random()) });
  } catch {
    message.retry({ delaySeconds: 30 });
  }
}

/** null: delivered; else the least time to wait, 0 where the destination named none. */
async function deliver(
  parts: ConsumerParts,
  config: TenantConfig,
  message: QueueMessage & ReceivedEvent,
  attempts: number,
): Promise<number | null> {
  const destination = Object.hasOwn(config.destinations, message.destination)
    ? config.destinations[message.destination]
    : undefined;
  const deliverTo = destination?.queue?.deliverTo ?? null;
  if (deliverTo === null) return 3_600_000;
  const body = message.bytes ?? (await claimed(parts, message));
  if (body === null) return 60_000;
  const nowMs = parts.now();
  const bodySizeBytes = body instanceof Uint8Array ? body.byteLength : body.sizeBytes;
  const event = { ...message.event, body, bodySizeBytes, attempt: attempts, replay: message.isReplay };
  const outcome = await sendHttp(
    httpOf(deliverTo),
    {
      tenant: message.tenant,
      destination: message.destination,
      batchId: event.eventId,
      nowMs,
      events: [event],
      hops: event.hops,
    },
    parts.policy,
  );
  if (outcome.kind === "accepted" && outcome.refusedIds.length === 0) return null;
  return outcome.kind === "busy" || outcome.kind === "failed" ? (outcome.retryAfterMs ?? 0) : 0;
}

async function claimed(
  parts: ConsumerParts,
  message: QueueMessage & ReceivedEvent,
): Promise<Uint8Array | LargeBody | null> {
  const ask = () => parts.objects.of(message.tenant, OBJECT_LIMIT_MS, message.shard).body(message.id);
  const answer = await ask();
  switch (answer.kind) {
    case "body":
      return answer.body;
    case "stream":
      // Sending reads it twice: each time it is asked for anew.
      void answer.stream.cancel();
      return { sizeBytes: answer.sizeBytes, isText: false, pieces: () => fetched(ask), hold: () => () => {} };
    case "not-found":
    case "expired":
      return null;
    default:
      return unreachable(answer);
  }
}

async function* fetched(ask: () => Promise<BodyAnswer>): AsyncGenerator<Uint8Array> {
  const answer = await ask();
  if (answer.kind !== "stream") throw new Error("a claimed body is gone");
  yield* answer.stream;
}

function httpOf(deliverTo: DeliverTo) {
  return { ...deliverTo, format: "single" as const };
}

function delaySeconds(
  config: TenantConfig,
  message: QueueMessage,
  attempts: number,
  leastMs: number,
  random: number,
): number {
  const retry = config.destinations[message.destination]?.delivery.retry ?? DELIVERY_DEFAULTS.retry;
  const delayMs = Math.max(retryDelayMs(retry, Math.max(1, attempts), random), leastMs);
  return Math.min(DELAY_MAX_SECONDS, Math.ceil(delayMs / 1_000));
}
