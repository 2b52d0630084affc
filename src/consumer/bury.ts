/** The consumer of the dead-letter queue [V19]: each message becomes a dead letter of its tenant, reason `queue-exhausted`. */
import { answered, OBJECT_LIMIT_MS } from "./claim.ts";
import type { ConsumerParts, Message } from "./consume.ts";
import { type ParsedMessage, parseMessage } from "./message.ts";

const AGAIN_SECONDS = 60;

export async function bury(parts: Pick<ConsumerParts, "objects" | "log">, messages: readonly Message[]): Promise<void> {
  for (const message of messages) {
    const parsed = parseMessage(message.body);
    if (parsed === null) {
      parts.log("queue-message-unreadable", {});
      message.ack();
      continue;
    }
    const { tenant, destination, id } = parsed;
    try {
      const isBuried = await buryOne(parts, parsed);
      if (isBuried === null) message.retry({ delaySeconds: AGAIN_SECONDS });
      else {
        // Not there any more, or not delivered by this message alone: the ledger has it elsewhere.
        if (!isBuried) parts.log("queue-message-dropped", { tenant, destination, id });
        message.ack();
      }
    } catch {
      message.retry({ delaySeconds: AGAIN_SECONDS });
    }
  }
}

function buryOne(parts: Pick<ConsumerParts, "objects">, message: ParsedMessage): Promise<boolean | null> {
  const { tenant, destination, id, shard, event, bytes } = message;
  const call = { destination, eventId: id, ...(bytes === null ? {} : { event: { ...event, body: bytes } }) };
  return answered(parts.objects.of(tenant, OBJECT_LIMIT_MS, shard).queueExhausted(call));
}
