import type { TenantObjects } from "../buffer/contract.ts";
import type { ConfigRecord } from "../tenants/config.ts";
import type { BodyBudget } from "./body-budget.ts";

/** What came of trying a request against one version of the configuration. */
export type Step =
  | { readonly kind: "answer"; readonly response: Response; readonly note?: Note; readonly decided?: Decided }
  /** Turned away, for now by this version; a newer one may see it otherwise [O4]. */
  | { readonly kind: "refused"; readonly response: Response; readonly version: number; readonly note?: Note }
  | { readonly kind: "stale"; readonly record: ConfigRecord };

/** Why a sender did not hear yes: for the operator's log only [I6]. */
export interface Note {
  readonly event: "webhook-rejected" | "webhook-refused" | "webhook-not-stored";
  readonly code: string;
  /** The source, where it is known. */
  readonly source?: string;
  readonly detail?: string;
  /** null: the body was not read. */
  readonly bodySizeBytes?: number | null;
  /** Finds out what the operator can do about it [O7]; costs as much as a dozen verifications. */
  readonly explain?: () => Promise<string>;
}

/** What the tenant's object made of a webhook. */
export interface Decided {
  readonly source: string;
  readonly outcome: "buffered" | "deduplicated" | "reopened" | "rate-limited";
}

/** What the steps of a webhook's way share. */
export interface StepParts {
  readonly objects: TenantObjects;
  readonly budget: BodyBudget;
  /** The time signatures are judged by, where it is fixed for conformance runs. */
  readonly fixedClockMs: number | null;
  /** Enters an object in the registry that says that it had been idle [V20](f). */
  readonly register: (object: string) => Promise<void>;
  /** Remembers a configuration that an object named. */
  readonly keep: (tenant: string, record: ConfigRecord, nowMs: number) => Promise<unknown>;
}
