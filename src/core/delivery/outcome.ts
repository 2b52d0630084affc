/**
 * What came of one request [V6]. The sink classifies the answer; the machine decides what follows from it.
 *
 * `status` is null when no answer came. `excerpt` is at most 8 KiB of what the destination answered, for people.
 */
export type Outcome = (
  | {
      readonly kind: "accepted" /** Ids of events refused inside a 2xx [V23]; empty: all were accepted. */;
      readonly refusedIds: readonly string[];
      /** Ids named as refused that are not in the batch: without effect, worth a log line [V23]. */
      readonly unknownIds?: readonly string[];
    }
  | { readonly kind: "refused" }
  | {
      readonly kind: "failed" /** As the destination asked, already clamped, on 5xx [V7]. */;
      readonly retryAfterMs: number | null;
    }
  | { readonly kind: "busy"; readonly retryAfterMs: number | null }
  | { readonly kind: "gone" }
) & {
  readonly status: number | null;
  /** `timeout`, `network`, `tls`, `redirect`, …: why there is no good answer. */
  readonly cause?: string;
  readonly excerpt: string;
  readonly durationMs: number;
};
