/** A request as it came: nothing decoded, nothing trimmed [I3]. */
export interface Arrival {
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
  /** The exact bytes of the body; empty where there is none. */
  readonly body: Uint8Array<ArrayBuffer>;
  readonly receivedAtMs: number;
}

/** What a configured source knows that bears on verification. Look `params` up with `Object.hasOwn`. */
export interface VerifySource {
  readonly id: string;
  /** The secrets that are live at the time of the arrival, in the form the provider shows them [I9]. */
  readonly secrets: readonly string[];
  /** `null`: the row's own figure [I10]. */
  readonly toleranceSeconds: number | null;
  /** The address as it was registered with the provider, for schemes that sign it. */
  readonly publicUrl: string | null;
  readonly params: Readonly<Record<string, string>>;
  /** Proves a handshake where the provider has one; never usable as a signing key [P3]. */
  readonly verifyToken: string | null;
  /** The operator's own choice of the event id [D1]. */
  readonly eventId: { readonly header: string } | { readonly pointer: string } | null;
}

/** A value the operator gave in `params`; empty counts as not given. */
export function param(source: VerifySource, name: string): string | null {
  const value = Object.hasOwn(source.params, name) ? source.params[name] : undefined;
  return value === undefined || value === "" ? null : value;
}
