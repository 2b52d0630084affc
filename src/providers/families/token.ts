import { type Arrival, param, type VerifySource } from "../arrival.ts";
import { bytesFromBase64, textFromUtf8, utf8 } from "../bytes.ts";
import { digest, equalDigests } from "../crypto.ts";
import { pointerTokens } from "../refs.ts";
import { RequestParts } from "../request-parts.ts";
import type { TokenListScheme, TokenPlace, TokenScheme } from "../scheme.ts";
import { rejected, type Verdict } from "../verdict.ts";

const GENUINE: Verdict = { kind: "genuine", strength: "token" };
const ITEMS_MAX = 1_000;
const TOKEN_LENGTH_MAX = 4_096;

/** Verifies a secret that the request shows as it is, in the first of the scheme's places that has one. */
export async function verifyTokenScheme(scheme: TokenScheme, source: VerifySource, arrival: Arrival): Promise<Verdict> {
  const parts = new RequestParts(arrival, source);
  const places = placesOf(scheme, source);
  let shown = false;
  for (const place of places) {
    const token = tokenAt(place, parts, source);
    if (token === null || token === "") continue;
    shown = true;
    if (await isSecret(token, source.secrets)) return GENUINE;
  }
  return shown ? rejected("wrong-token") : rejected("missing-token");
}

/** Every item must show the secret; an empty list shows nothing. */
export async function verifyTokenList(
  scheme: TokenListScheme,
  source: VerifySource,
  arrival: Arrival,
): Promise<Verdict> {
  const parts = new RequestParts(arrival, source);
  const listTokens = pointerTokens(scheme.list) ?? [];
  const list = parts.json?.at(listTokens) ?? null;
  if (list === null || list.kind !== "array") return rejected("malformed-body", `no array at ${scheme.list}`);
  if (list.length === 0) return rejected("missing-token", `no items in ${scheme.list}`);
  if (list.length > ITEMS_MAX) return rejected("malformed-body", `more than ${ITEMS_MAX} items`);
  const known = new Set<string>();
  for (let index = 0; index < list.length; index++) {
    const token = parts.text(`json:${scheme.list}/${index}${scheme.token}`);
    if (token === null || token === "") return rejected("missing-token", `item ${index} of ${list.length}`);
    if (known.has(token)) continue;
    if (!(await isSecret(token, source.secrets))) return rejected("wrong-token", `item ${index} of ${list.length}`);
    known.add(token);
  }
  return GENUINE;
}

/** The places a token is looked for; `params.in` narrows them to one kind. */
function placesOf(scheme: TokenScheme, source: VerifySource): readonly TokenPlace[] {
  const only = param(source, "in");
  return only === null ? scheme.places : scheme.places.filter((place) => place.in === only);
}

/** The name of a header or URL parameter, which the operator may have chosen. */
export function placeName(place: Extract<TokenPlace, { in: "header" | "query" }>, source: VerifySource): string {
  const chosen = place.nameParam === undefined ? null : param(source, place.nameParam);
  return chosen ?? place.name;
}

function tokenAt(place: TokenPlace, parts: RequestParts, source: VerifySource): string | null {
  const { headers, url } = parts.arrival;
  switch (place.in) {
    case "header": {
      const value = headers.get(placeName(place, source));
      if (value === null || place.prefix === undefined) return value;
      return value.startsWith(place.prefix) ? value.slice(place.prefix.length) : null;
    }
    case "query":
      return url.searchParams.get(placeName(place, source));
    case "bearer":
      return authorization(headers, /^bearer +(.+)$/i);
    case "basic": {
      const encoded = authorization(headers, /^basic +(.+)$/i);
      const bytes = encoded === null ? null : bytesFromBase64(encoded);
      return bytes === null ? null : textFromUtf8(bytes);
    }
    case "body":
      return parts.text(place.ref);
  }
}

function authorization(headers: Headers, scheme: RegExp): string | null {
  const value = headers.get("authorization");
  return value === null ? null : (scheme.exec(value)?.[1] ?? null);
}

/** Compares digests, which are of equal length whatever the token is [I8]. */
export async function isSecret(token: string, secrets: readonly string[]): Promise<boolean> {
  if (token.length > TOKEN_LENGTH_MAX) return false;
  const shown = await digest("SHA-256", utf8(token));
  let found = false;
  for (const secret of secrets) found = equalDigests(shown, await digest("SHA-256", utf8(secret))) || found;
  return found;
}
