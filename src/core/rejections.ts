/** Requests that were turned away, by kind: from which source and why [O7]. Counts are approximate [X9]. */
export interface Rejection {
  /** null: no source was found for them. */
  readonly source: string | null;
  readonly reason: string;
  readonly count: number;
  readonly firstAtMs: number;
  readonly lastAtMs: number;
  /** A sentence that the operator can act on; it holds no secret and nothing of a query or body [I15]. */
  readonly explanation: string;
  readonly example: RejectionExample;
}

/** One of the requests, as far as it may be shown. */
export interface RejectionExample {
  readonly atMs: number;
  readonly method: string;
  readonly contentType: string | null;
  readonly userAgent: string | null;
  /** null: the body was not read. */
  readonly bodySizeBytes: number | null;
  readonly headerNames: readonly string[];
}

/** More kinds than this are not told apart: the oldest give way. */
export const REJECTION_KINDS_MAX = 20;

/** The known kinds with the reported ones counted in: the newest first, at most 20. A kind shows its newest example. */
export function withRejections(known: readonly Rejection[], reported: readonly Rejection[]): readonly Rejection[] {
  const kinds = new Map(known.map((each) => [kindOf(each), each]));
  for (const each of reported) {
    const before = kinds.get(kindOf(each));
    kinds.set(kindOf(each), before === undefined ? each : together(before, each));
  }
  return [...kinds.values()].sort((a, b) => b.lastAtMs - a.lastAtMs).slice(0, REJECTION_KINDS_MAX);
}

function together(before: Rejection, each: Rejection): Rejection {
  const newest = each.lastAtMs >= before.lastAtMs ? each : before;
  return {
    ...newest,
    count: before.count + each.count,
    firstAtMs: Math.min(before.firstAtMs, each.firstAtMs),
    lastAtMs: newest.lastAtMs,
  };
}

export function kindOf({ source, reason }: Pick<Rejection, "source" | "reason">): string {
  return JSON.stringify([source, reason]);
}

/** As operators are shown it. */
export interface RejectionView {
  readonly source: string | null;
  readonly reason: string;
  readonly explanation: string;
  readonly count: number;
  readonly firstAt: string;
  readonly lastAt: string;
  readonly example: Omit<RejectionExample, "atMs"> & { readonly at: string };
}

export function rejectionView(rejection: Rejection): RejectionView {
  const { source, reason, explanation, count, firstAtMs, lastAtMs, example } = rejection;
  const { atMs, ...request } = example;
  return {
    source,
    reason,
    explanation,
    count,
    firstAt: new Date(firstAtMs).toISOString(),
    lastAt: new Date(lastAtMs).toISOString(),
    example: { at: new Date(atMs).toISOString(), ...request },
  };
}
