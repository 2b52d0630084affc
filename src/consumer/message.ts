/** Reads a message of the delivery queue [V19]: anything else than what this program writes is null. */
import type { EventMeta, KeptHeaders } from "../core/event.ts";
import type { QueueMessage } from "../sinks/queue.ts";

/** The event of a message; `bytes` null: it is a claim, and they are fetched. */
interface ReceivedEvent {
  readonly event: EventMeta;
  readonly bytes: Uint8Array | null;
  readonly isReplay: boolean;
  /** The object that holds the event [S1]. */
  readonly shard: number;
}

export type ParsedMessage = QueueMessage & ReceivedEvent;

export function parseMessage(message: unknown): ParsedMessage | null {
  if (typeof message !== "object" || message === null) return null;
  const fields = message as Record<string, unknown>;
  const text = (name: string): string | null => {
    const value = fields[name];
    return typeof value === "string" ? value : null;
  };
  const [tenant, destination, id, source, provider] = ["tenant", "destination", "id", "source", "provider"].map(text);
  if (fields.v !== 1 || tenant == null || destination == null || id == null || source == null) return null;
  const receivedAtMs = Date.parse(text("receivedAt") ?? "");
  const bytes = bytesOf(text("body"), text("bodyBase64"));
  const isClaim = typeof fields.claim === "object" && fields.claim !== null;
  if (!Number.isFinite(receivedAtMs) || (bytes === null && !isClaim)) return null;
  return {
    v: 1,
    tenant,
    destination,
    id,
    event: {
      seq: Number(text("seq") ?? 0),
      eventId: id,
      source,
      provider: provider ?? "",
      type: text("type"),
      receivedAtMs,
      contentType: text("contentType"),
      headers: headersOf(fields.headers),
      bodySizeBytes: bytes?.byteLength ?? 0,
      hops: typeof fields.hops === "number" ? fields.hops : 0,
    },
    bytes,
    isReplay: fields.replay === true,
    shard: typeof fields.shard === "number" ? fields.shard : 0,
  };
}

function bytesOf(body: string | null, bodyBase64: string | null): Uint8Array | null {
  if (body !== null) return new TextEncoder().encode(body);
  try {
    return bodyBase64 === null ? null : Uint8Array.fromBase64(bodyBase64);
  } catch {
    return null;
  }
}

function headersOf(value: unknown): KeptHeaders {
  if (typeof value !== "object" || value === null) return {};
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}
