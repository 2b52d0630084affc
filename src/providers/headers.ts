import type { VerifySource } from "./arrival.ts";
import { placeName } from "./families/token.ts";
import { refOf } from "./refs.ts";
import type { ProviderRow } from "./row.ts";

/**
 * Whether a request shows this provider's own signature header, and so may be meant for its source [I1]. Providers
 * that sign inside the body or put a token in the URL have none: they need `:source`.
 */
export function carriesSignature(row: ProviderRow, source: VerifySource, headers: Headers): boolean {
  const { scheme } = row;
  switch (scheme.kind) {
    case "token":
      return scheme.places.some((place) => {
        if (place.in === "header") return headers.has(placeName(place, source));
        if (place.in === "bearer") return /^bearer /i.test(headers.get("authorization") ?? "");
        return place.in === "basic" && /^basic /i.test(headers.get("authorization") ?? "");
      });
    case "token-list":
      return false;
    case "jwt":
      return isHeaderThere(scheme.from, headers);
    case "hmac":
    case "digest":
    case "public-key": {
      const { from } = scheme.signature;
      if (typeof from !== "string") return from.some((ref) => isHeaderThere(ref, headers));
      if (!from.startsWith("headers:")) return isHeaderThere(from, headers);
      const start = from.slice("headers:".length, -1);
      return [...headers.keys()].some((name) => name.startsWith(start));
    }
  }
}

function isHeaderThere(ref: string, headers: Headers): boolean {
  const parsed = refOf(ref);
  return (parsed.kind === "header" || parsed.kind === "header-json") && headers.has(parsed.name);
}

const keptNames = new WeakMap<ProviderRow, readonly string[]>();

/** The headers that go with the event, names in lower case: content, id, type, time, and what the source asks for [I14]. */
export function keptHeaders(
  row: ProviderRow,
  forwardHeaders: readonly string[],
  headers: Headers,
): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of namesOf(row)) take(kept, name, headers);
  for (const name of forwardHeaders) take(kept, name.toLowerCase(), headers);
  return kept;
}

function take(kept: Record<string, string>, name: string, headers: Headers): void {
  const value = headers.get(name);
  // Assigning to this name would set the prototype instead.
  if (value !== null && name !== "__proto__") kept[name] = value;
}

function namesOf(row: ProviderRow): readonly string[] {
  const known = keptNames.get(row);
  if (known !== undefined) return known;
  const { scheme, identity } = row;
  const refs = [
    ...identity.ids.flatMap((choice) => choice.from),
    ...identity.types.flat(),
    ...("time" in scheme && scheme.time !== undefined ? [scheme.time.from] : []),
  ];
  const names = new Set(["content-type", "content-encoding"]);
  for (const ref of refs) {
    const parsed = refOf(ref);
    if (parsed.kind === "header" && parsed.name !== "authorization") names.add(parsed.name);
  }
  for (const name of row.keep ?? []) names.add(name);
  const all = [...names];
  keptNames.set(row, all);
  return all;
}
