/** A failure of the input or of the world, as a value: `reason` is stable, `detail` is the evidence for a person. */
interface Failure<R extends string> {
  readonly ok: false;
  readonly reason: R;
  readonly detail?: string;
}

/** What a function answers that can fail for reasons outside this program. Our own bugs throw through `invariant`. */
export type Result<T, R extends string> = { readonly ok: true; readonly value: T } | Failure<R>;

export function ok<T>(value: T): { readonly ok: true; readonly value: T } {
  return { ok: true, value };
}

export function fail<R extends string>(reason: R, detail?: string): Failure<R> {
  return detail === undefined ? { ok: false, reason } : { ok: false, reason, detail };
}
