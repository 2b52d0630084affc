import { invariant } from "../core/assert.ts";

/**
 * Where a value stands in a request. The same small grammar serves ids, types, timestamps, signatures and the parts
 * of what is signed, in the table and in an operator's own row.
 *
 * - `header:x-id` a header, its name in lower case
 * - `header-json:x-signature/kid` a pointer into a header that is base64 of JSON
 * - `json:/data/id` a JSON pointer into the body (RFC 6901)
 * - `form:id` a field of a form body; `form-json:payload/user/id` a pointer into a field that holds JSON
 * - `query:id` a parameter of the URL
 * - `param:id` a value from the source's `params`
 * - `field:t` a part of the signature header (`t=…,v1=…`)
 * - `item:/id` a pointer into the item at hand, for bodies whose items are signed one by one
 */
export type Ref = `${RefKind}:${string}`;
type RefKind = "header" | "header-json" | "json" | "form" | "form-json" | "query" | "param" | "field" | "item";

export interface ParsedRef {
  readonly kind: RefKind;
  readonly name: string;
  /** The tokens of a JSON pointer, unescaped; empty for the other kinds. */
  readonly tokens: readonly string[];
  /** Written with a `?` at the end: it may be missing and then is the empty text. */
  readonly optional: boolean;
}

const REF = /^(header|header-json|json|form|form-json|query|param|field|item):(.+?)(\?)?$/s;

/** Reads a reference, or answers `null` where the text is none. */
export function parseRef(text: string): ParsedRef | null {
  const match = REF.exec(text);
  if (match === null) return null;
  const kind = match[1] as RefKind;
  const rest = match[2] ?? "";
  const optional = match[3] !== undefined;
  if (kind === "json" || kind === "item") {
    const tokens = pointerTokens(rest);
    return tokens === null ? null : { kind, name: rest, tokens, optional };
  }
  if (kind === "form-json" || kind === "header-json") {
    const slash = rest.indexOf("/");
    const tokens = slash > 0 ? pointerTokens(rest.slice(slash)) : null;
    return tokens === null ? null : { kind, name: rest.slice(0, slash), tokens, optional };
  }
  if (kind === "header" && !/^[a-z0-9!#$%&'*+.^_`|~-]+$/.test(rest)) return null;
  return { kind, name: rest, tokens: [], optional };
}

/** The tokens of a JSON pointer (RFC 6901); `null` where the text is none. The empty pointer is the whole document. */
export function pointerTokens(pointer: string): string[] | null {
  if (pointer === "") return [];
  if (!pointer.startsWith("/") || /~(?![01])/.test(pointer)) return null;
  return pointer
    .slice(1)
    .split("/")
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}

const parsed = new Map<string, ParsedRef>();

/** As `parseRef`, for references of checked rows; each is parsed once. */
export function refOf(text: string): ParsedRef {
  const known = parsed.get(text);
  if (known !== undefined) return known;
  const ref = parseRef(text);
  invariant(ref !== null, `not a reference: ${text}`);
  // Rows of tenants come and go; the table's own are a few hundred.
  if (parsed.size >= 5_000) parsed.clear();
  parsed.set(text, ref);
  return ref;
}
