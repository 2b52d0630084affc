import type { StoredEvent } from "../core/event.ts";

/** Where an HTTP destination listens and how it wants its requests; the settings in force at the time of sending [V21]. */
export interface HttpDestination {
  readonly url: string;
  /** Sent as `Authorization: Bearer …`. */
  readonly bearerToken: string | null;
  /** Standard Webhooks secrets (`whsec_<base64>`); one signature each, newest first. Empty: unsigned [V4]. */
  readonly signingSecrets: readonly string[];
  /** `timestamped` adds `X-Webhook-Event-Id` and `X-Signature: t=…,v1=…`, keyed by the secret's text. */
  readonly signature: "standard" | "timestamped";
  readonly format: "batch" | "single" | "cloudevents";
  /** Of the whole exchange, the reading of the answer included [V8]. */
  readonly timeoutMs: number;
  readonly retryAfterMaxSeconds: number;
}

/** An event on its way out. */
export interface DeliveredEvent extends StoredEvent {
  /** 1 + the attempts charged to it so far. */
  readonly attempt: number;
  /** Sent again on an operator's wish [X3]. */
  readonly replay: boolean;
}

/** One whose bytes are in memory. */
export interface WholeEvent extends DeliveredEvent {
  readonly body: Uint8Array;
}

/** The content of one request. */
export interface Delivery {
  readonly tenant: string;
  readonly destination: string;
  /** From `batchId`; the same for a batch that is repeated unchanged. */
  readonly batchId: string;
  readonly nowMs: number;
  /** At least one; exactly one where the format sends single events, or where it is a large one [V25]. */
  readonly events: readonly DeliveredEvent[];
  /** The object that holds the events [S1]; absent: the first. */
  readonly shard?: number;
  /** The most Spillways that any of the events had passed before it came here; the request says one more [V17]. */
  readonly hops: number;
}

/** A delivery of events whose bytes are all in memory. */
export interface WholeDelivery extends Delivery {
  readonly events: readonly WholeEvent[];
}

/** What holds for every URL of this deployment [V17]. */
export interface DestinationPolicy {
  /** `ALLOW_INSECURE_DESTINATIONS`: local development. */
  readonly allowInsecure: boolean;
  /** Names under which this Worker itself is reached. */
  readonly ownHosts: readonly string[];
}
