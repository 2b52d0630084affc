/**
 * The consumer of Spillway's own queue [V19]: each message is delivered to its destination's `deliverTo`, acknowledged or
 * retried by itself, so that one bad message holds up no other.
 */
import type { TenantObjects } from "../buffer/contract.ts";
import { retryDelayMs } from "../core/delivery/machine.ts";
import { inTime } from "../core/in-time.ts";
import type { DestinationPolicy } from "../sinks/delivery.ts";
import { sendHttp } from "../sinks/http.ts";
import type { DestinationConfig, TenantConfig } from "../tenants/config.ts";
import { answered, fetchClaim, OBJECT_LIMIT_MS } from "./claim.ts";
import { type ParsedMessage, parseMessage } from "./message.ts";

/** Messages delivered at once: the platform holds more back. */
const AT_ONCE_MAX = 6;
const DELAY_MAX_SECONDS = 43_200;
/** Something of ours is in the way: the message comes again after this. */
const TROUBLE_SECONDS = 30;
/** A message that takes longer than the longest `timeoutMs`, and then some, comes again: the others want their turn. */
const MESSAGE_LIMIT_MS = 90_000;
/** The destination is there, and does not say where its messages go. */
const NOWHERE_SECONDS = 3_600;

/** The part of a queue's message that is used here. */
export interface Message {
  readonly body: unknown;
  /** 1 the first time. */
  readonly attempts: number;
  ack(): void;
  retry(options: { delaySeconds: number }): void;
}

export interface ConsumerParts {
  readonly objects: TenantObjects;
  /** The tenant's configuration as KV has it; null where it has none. Throws where nobody can say. */
  readonly configOf: (tenant: string) => Promise<TenantConfig | null>;
  /** As the tenant's object has it; null where the tenant is deleted. Throws where nobody can say. */
  readonly newestConfigOf: (tenant: string) => Promise<TenantConfig | null>;
  readonly policy: DestinationPolicy;
  readonly now: () => number;
  readonly random: () => number;
  /** A line for the operator. */
  readonly log: (event: string, fields: Readonly<Record<string, string>>) => void;
}

/** Delivers the messages of one batch. Never throws: a message that could not be dealt with is retried. */
export async function consume(parts: ConsumerParts, messages: readonly Message[]): Promise<void> {
  const waiting = [...messages];
  const worker = async (): Promise<void> => {
    for (let message = waiting.shift(); message !== undefined; message = waiting.shift()) {
      const isDone = await inTime(
        one(parts, message).then(() => true),
        MESSAGE_LIMIT_MS,
      );
      // The first word on a message counts: what may still come of it has no effect.
      if (isDone === null) message.retry({ delaySeconds: TROUBLE_SECONDS });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE_MAX }, worker));
}

async function one(parts: ConsumerParts, message: Message): Promise<void> {
  try {
    const parsed = parseMessage(message.body);
    if (parsed === null) {
      parts.log("queue-message-unreadable", {});
      return message.ack();
    }
    const { tenant, destination, id } = parsed;
    const config = await destinationOf(parts, parsed);
    if (config === null) {
      // Nobody is left to deliver to: the ledger of the destination ended when it was removed [X5].
      parts.log("queue-message-dropped", { tenant, destination, id });
      return message.ack();
    }
    const outcome = await deliver(parts, config, parsed, message.attempts);
    switch (outcome.kind) {
      case "delivered":
        message.ack();
        if (parsed.bytes === null) await release(parts, parsed);
        return;
      case "gone":
        parts.log("queue-claim-gone", { tenant, destination, id });
        return message.ack();
      case "later":
        return message.retry({ delaySeconds: outcome.delaySeconds });
    }
  } catch (error) {
    parts.log("queue-message-failed", { reason: error instanceof Error ? error.message : "unknown" });
    message.retry({ delaySeconds: TROUBLE_SECONDS });
  }
}

/** The message's destination, or null where it is removed. KV may be a minute behind: only the object can say that. */
async function destinationOf(parts: ConsumerParts, { tenant, destination }: ParsedMessage) {
  const known = named(await answered(parts.configOf(tenant)), destination);
  return known ?? named(await answered(parts.newestConfigOf(tenant)), destination);
}

function named(config: TenantConfig | null, name: string): DestinationConfig | null {
  return config !== null && Object.hasOwn(config.destinations, name) ? (config.destinations[name] ?? null) : null;
}

type Delivered =
  | { readonly kind: "delivered" }
  /** The event was erased, or is no longer kept: it can never be delivered [X6]. */
  | { readonly kind: "gone" }
  | { readonly kind: "later"; readonly delaySeconds: number };

async function deliver(
  parts: ConsumerParts,
  config: DestinationConfig,
  message: ParsedMessage,
  attempts: number,
): Promise<Delivered> {
  const target = targetOf(config);
  if (target === null) return { kind: "later", delaySeconds: NOWHERE_SECONDS };
  const body = message.bytes ?? (await fetchClaim(parts.objects, message));
  if (body === null) return { kind: "gone" };
  const { event, tenant, destination, isReplay } = message;
  const bodySizeBytes = body instanceof Uint8Array ? body.byteLength : body.sizeBytes;
  const sent = { ...event, body, bodySizeBytes, attempt: attempts, replay: isReplay };
  const delivery = {
    tenant,
    destination,
    batchId: event.eventId,
    nowMs: parts.now(),
    events: [sent],
    hops: event.hops,
  };
  const outcome = await sendHttp(target, delivery, parts.policy);
  if (outcome.kind === "accepted" && outcome.refusedIds.length === 0) return { kind: "delivered" };
  const askedMs = outcome.kind === "busy" || outcome.kind === "failed" ? (outcome.retryAfterMs ?? 0) : 0;
  const delayMs = Math.max(retryDelayMs(config.delivery.retry, Math.max(1, attempts), parts.random()), askedMs);
  return { kind: "later", delaySeconds: Math.min(DELAY_MAX_SECONDS, Math.ceil(delayMs / 1_000)) };
}

/** Messages that are still in the queue when `kind` became `http` go where the destination's events go now. */
function targetOf(config: DestinationConfig) {
  if (config.queue !== null) {
    const { deliverTo } = config.queue;
    return deliverTo === null ? null : { ...deliverTo, format: "single" as const };
  }
  const { url, bearerToken, signingSecrets, signature, delivery } = config;
  const { timeoutMs, retryAfterMaxSeconds } = delivery;
  if (url === null) return null;
  return { url, bearerToken, signingSecrets, signature, format: "single" as const, timeoutMs, retryAfterMaxSeconds };
}

/** The bytes need not wait any more. If nobody hears it, they stay until the claim ends by itself. */
async function release(parts: ConsumerParts, { tenant, shard, id, destination }: ParsedMessage): Promise<void> {
  try {
    await answered(parts.objects.of(tenant, OBJECT_LIMIT_MS, shard).claimTaken({ eventId: id, destination }));
  } catch {
    parts.log("queue-claim-not-released", { tenant, destination, id });
  }
}
