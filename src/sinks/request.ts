/** From a delivery to a request: encoded, signed, with its credentials [V2] [V3] [V4] [V17] [V25]. */
import { invariant } from "../core/assert.ts";
import type { Delivery, HttpDestination, WholeDelivery } from "./delivery.ts";
import { formats, type LargeDelivery } from "./formats/format.ts";
import { webhookId } from "./header-text.ts";
import { type Outgoing, streamedRequest, wholeRequest } from "./outgoing.ts";
import { unhurried } from "./pieces.ts";
import {
  runningStandardSignature,
  runningTimestampedSignature,
  standardSignature,
  timestampedSignature,
} from "./signing.ts";
import { VERSION } from "./version.ts";

/** Throws a `SigningSecretError` for a secret that is none. */
export function prepare(destination: HttpDestination, delivery: Delivery): Promise<Outgoing> {
  return isWhole(delivery) ? prepareWhole(destination, delivery) : prepareLarge(destination, delivery);
}

function isWhole(delivery: Delivery): delivery is WholeDelivery {
  return delivery.events.every((event) => event.body instanceof Uint8Array);
}

async function prepareWhole(destination: HttpDestination, delivery: WholeDelivery): Promise<Outgoing> {
  const payload = formats[destination.format].encode(delivery);
  const headers = headersOf(destination, delivery, payload.headers);
  const signing = new Signing(headers, destination, delivery, payload.messageId);
  const { id, timestamp, secrets } = signing;
  if (signing.isStandard) signing.standard(await standardSignature(secrets, id, timestamp, payload.body));
  if (signing.isTimestamped) signing.timestamped(await timestampedSignature(secrets, timestamp, payload.body));
  return wholeRequest(headers, payload.body);
}

/** A first pass over the body for the signatures and the length; the second one is the sending. */
async function prepareLarge(destination: HttpDestination, delivery: Delivery): Promise<Outgoing> {
  const large = largeOf(delivery);
  const release = large.body.hold();
  try {
    const payload = await formats[destination.format].encodeLarge(large);
    const headers = headersOf(destination, delivery, payload.headers);
    const signing = new Signing(headers, destination, delivery, payload.messageId);
    const { id, timestamp, secrets } = signing;
    const standard = signing.isStandard ? await runningStandardSignature(secrets, id, timestamp) : null;
    const timestamped = signing.isTimestamped ? await runningTimestampedSignature(secrets, timestamp) : null;
    let sizeBytes = 0;
    for await (const piece of unhurried(payload.pieces())) {
      sizeBytes += piece.length;
      await standard?.update(piece);
      await timestamped?.update(piece);
    }
    if (standard !== null) signing.standard(await standard.finish());
    if (timestamped !== null) signing.timestamped(await timestamped.finish());
    return streamedRequest(headers, sizeBytes, payload.pieces, release);
  } catch (error) {
    release();
    throw error;
  }
}

function largeOf(delivery: Delivery): LargeDelivery {
  const { tenant, destination, batchId, events } = delivery;
  const [event] = events;
  invariant(event !== undefined && events.length === 1, "a large event goes alone");
  invariant(!(event.body instanceof Uint8Array), "its body is read piece by piece");
  return { tenant, destination, batchId, event, body: event.body };
}

function headersOf(destination: HttpDestination, delivery: Delivery, own: Readonly<Record<string, string>>): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(own)) setHeader(headers, name, value);
  headers.set("user-agent", `Spillway/${VERSION}`);
  headers.set("spillway-hops", String(delivery.hops + 1));
  if (destination.bearerToken !== null) headers.set("authorization", `Bearer ${destination.bearerToken}`);
  return headers;
}

/** A header of the sender's that no request can carry is left out: one odd header must not keep its event for ever. */
function setHeader(headers: Headers, name: string, value: string): void {
  try {
    headers.set(name, value);
  } catch {
    // Left out, as promised.
  }
}

/** What a request is signed with, and where the signatures go [V4]. */
class Signing {
  readonly id: string;
  readonly timestamp: number;
  readonly secrets: readonly string[];
  readonly isStandard: boolean;
  readonly isTimestamped: boolean;
  readonly #headers: Headers;

  constructor(headers: Headers, destination: HttpDestination, delivery: Delivery, messageId: string) {
    this.#headers = headers;
    this.id = webhookId(messageId);
    this.timestamp = Math.floor(delivery.nowMs / 1_000);
    this.secrets = destination.signingSecrets;
    this.isStandard = this.secrets.length > 0;
    this.isTimestamped = this.isStandard && destination.signature === "timestamped";
    headers.set("webhook-id", this.id);
    headers.set("webhook-timestamp", String(this.timestamp));
    if (destination.signature === "timestamped") headers.set("x-webhook-event-id", messageId);
  }

  standard(signature: string): void {
    this.#headers.set("webhook-signature", signature);
  }

  timestamped(signature: string): void {
    this.#headers.set("x-signature", signature);
  }
}
