import type { DeliverySettings } from "../core/delivery/settings.ts";
import type { Place } from "../core/place.ts";
import type { Layout } from "../core/shard.ts";

/**
 * The configuration of a tenant as it is stored (sealed as a whole [O3]) and read on the ingress path: validated,
 * every default filled in, so that nothing has to be parsed again. `schema.ts` makes it from an operator's input.
 */
export interface TenantConfig {
  readonly active: boolean;
  readonly maxBodyBytes: number;
  readonly shards: number;
  /** Where its objects live [O13]; absent: anywhere. */
  readonly place?: Place;
  /** In the order of the operator's input [I1]. Look ids up with `Object.hasOwn`. */
  readonly sources: Readonly<Record<string, SourceConfig>>;
  readonly rateLimit: {
    readonly events: number;
    readonly windowSeconds: number;
    readonly action: "reject" | "absorb" | "auto";
  };
  readonly dedupeWindowSeconds: number;
  readonly contentDedupeSeconds: number;
  readonly retainSeconds: number;
  readonly retainBytes: number;
  readonly deadLetterTtlSeconds: number;
  readonly maxBacklogEvents: number;
  readonly maxBacklogBytes: number;
  readonly destinations: Readonly<Record<string, DestinationConfig>>;
  readonly alerts: AlertConfig | null;
  /** The operator's input this was made from, secrets included: what `PATCH` changes, so that defaults stay defaults. */
  readonly input?: unknown;
}

/** Where alerts go, and which optional ones there are [O9]. */
export interface AlertConfig {
  readonly webhookUrl: string | null;
  readonly format: "webhook" | "slack";
  /** Standard Webhooks secrets; with none the webhook is unsigned. */
  readonly signingSecrets: readonly string[];
  readonly email: { readonly from: string; readonly to: string } | null;
  /** null: nobody wants to know of silent sources. */
  readonly silentSourceSeconds: number | null;
  /** A host this Worker was known by when the configuration was written, for links; null: none. */
  readonly linkHost: string | null;
}

/** A secret in the form its provider shows it; `retiresAtMs` null: until it is removed [I9]. */
export interface LiveSecret {
  readonly value: string;
  readonly retiresAtMs: number | null;
}

export interface SourceConfig {
  readonly provider: string;
  readonly secrets: readonly LiveSecret[];
  readonly toleranceSeconds: number | null;
  readonly forwardHeaders: readonly string[];
  readonly eventId: { readonly header: string } | { readonly pointer: string } | null;
  readonly publicUrl: string | null;
  readonly verifyToken: string | null;
  readonly params: Readonly<Record<string, string>>;
  /** Until when the provider may hand over its secret [I7]; absent: nobody expects one. */
  readonly handshakeUntilMs?: number;
  /** Only for `provider: "custom"`: the row, already checked by the table's own schema. */
  readonly custom: unknown;
}

export interface DestinationConfig {
  readonly kind: "http" | "queue";
  /** http: where to POST. `null`: the default origin, read from the settings at the time of sending [V5]. */
  readonly url: string | null;
  readonly bearerToken: string | null;
  readonly signingSecrets: readonly string[];
  readonly signature: "standard" | "timestamped";
  readonly format: "batch" | "single" | "cloudevents";
  readonly filter: { readonly sources: readonly string[] | null; readonly types: readonly string[] | null } | null;
  readonly from: "now" | "oldest";
  /** Only for `kind: "queue"` [V19]. */
  readonly queue: QueueConfig | null;
  readonly delivery: DeliverySettings;
}

/** A Cloudflare Queue as destination, and where its own consumer delivers to. */
export interface QueueConfig {
  /** The name of the producer's binding. */
  readonly binding: string;
  /** Above this many messages in the queue sending holds. */
  readonly maxBacklog: number;
  /** null: somebody else consumes the queue. */
  readonly deliverTo: DeliverTo | null;
}

export interface DeliverTo {
  readonly url: string;
  readonly bearerToken: string | null;
  readonly signingSecrets: readonly string[];
  readonly signature: "standard" | "timestamped";
  readonly timeoutMs: number;
  readonly retryAfterMaxSeconds: number;
}

/** The sealed configuration as KV and the tenant's object keep it. */
export interface ConfigRecord {
  readonly v: 1;
  readonly version: number;
  readonly state: "live" | "deleted";
  /** Which CONFIG_KEY sealed it. */
  readonly keyId: string;
  /** Objects the tenant is spread over [S1]; absent: 1. */
  readonly shards?: number;
  /** Where its objects live [O13]; absent: anywhere. */
  readonly place?: Place;
  /** Earlier spreads whose objects are asked before an event is stored [S2]. */
  readonly layouts?: readonly Layout[];
  /** Objects that may hold something of the tenant: the most shards it ever had. */
  readonly objectCount?: number;
  /** base64 of iv ‖ AES-256-GCM(JSON of TenantConfig), the tenant id bound in as additional data. */
  readonly sealed: string;
}
