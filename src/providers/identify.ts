import { sha256 } from "@noble/hashes/sha2.js";
import type { Identity, IdTrust } from "../core/event.ts";
import type { Arrival, VerifySource } from "./arrival.ts";
import { hexFromBytes, utf8 } from "./bytes.ts";
import { uncompressed } from "./content-coding.ts";
import { pointerTokens, refOf } from "./refs.ts";
import { RequestParts } from "./request-parts.ts";
import type { IdChoice, ProviderRow } from "./row.ts";
import { signatureCoversBody, signatureCoversHeader } from "./strength.ts";

const ID_LENGTH_MAX = 200;
const TYPE_LENGTH_MAX = 200;

/**
 * Names a verified request [D1]: by the source's own setting, else by the provider's id, else by its bytes. What is
 * missing, empty, neither text nor number, or cannot be read falls through to the next choice; never a guess, never
 * random. `arrival`: as `readable` gives it. `bodySha256Hex` is the digest of the exact bytes, which the caller has
 * computed anyway.
 */
export function identify(row: ProviderRow, source: VerifySource, arrival: Arrival, bodySha256Hex: string): Identity {
  const parts = new RequestParts(arrival, source);
  const named = ownId(row, source, parts) ?? providerId(row, parts);
  const type = eventType(row, parts);
  if (named === null) return { eventId: `${source.id}:sha256-${bodySha256Hex}`, trust: "content", type };
  return { eventId: `${source.id}:${safeId(named.id)}`, trust: named.trust, type };
}

/** The arrival as its id and type are read from it: uncompressed where the provider signs before it compresses [I3]. */
export function readable(row: ProviderRow, arrival: Arrival): Arrival | Promise<Arrival> {
  const { scheme } = row;
  if (!("signsUncompressed" in scheme) || scheme.signsUncompressed !== true) return arrival;
  return uncompressed(arrival).then((plain) => plain ?? arrival);
}

interface Named {
  readonly id: string;
  readonly trust: IdTrust;
}

function ownId(row: ProviderRow, source: VerifySource, parts: RequestParts): Named | null {
  const { eventId } = source;
  if (eventId === null) return null;
  if ("header" in eventId) {
    const name = eventId.header.toLowerCase();
    const id = parts.arrival.headers.get(name);
    return id === null || id === "" ? null : { id, trust: trustOf(row, signatureCoversHeader(row.scheme, name)) };
  }
  const tokens = pointerTokens(eventId.pointer);
  const value = tokens === null ? null : (parts.json?.at(tokens) ?? null);
  if (value === null || (value.kind !== "string" && value.kind !== "number") || value.text === "") return null;
  return { id: value.text, trust: trustOf(row, signatureCoversBody(row.scheme)) };
}

function providerId(row: ProviderRow, parts: RequestParts): Named | null {
  for (const choice of row.identity.ids) {
    const id = chosenId(choice, parts);
    if (id !== null) return { id, trust: trustOf(row, choice.key === "event") };
  }
  return null;
}

function chosenId(choice: IdChoice, parts: RequestParts): string | null {
  const { from } = choice;
  if (typeof from === "string") return idPart(from, parts);
  const values: string[] = [];
  for (const ref of from) {
    const value = idPart(ref, parts);
    if (value !== null) values.push(value);
    else if (!refOf(ref).optional) return null;
  }
  return values.length === 0 ? null : values.join(":");
}

/** A text or a number; truth values are no names, and an empty text is none. */
function idPart(ref: string, parts: RequestParts): string | null {
  const parsed = refOf(ref);
  if (parsed.kind === "json") {
    const value = parts.json?.at(parsed.tokens) ?? null;
    return value !== null && (value.kind === "string" || value.kind === "number") && value.text !== ""
      ? value.text
      : null;
  }
  const text = parts.textOf(parsed);
  return text === "" ? null : text;
}

/** Several items in one request: a request is a duplicate only if all of it was seen [D7]. */
function trustOf(row: ProviderRow, namesOneSignedEvent: boolean): IdTrust {
  if (!namesOneSignedEvent || row.identity.severalItems) return "unsigned";
  return row.identity.retriesChangeBody ? "signed-changing-body" : "signed";
}

/** At most 200 visible ASCII characters; anything else becomes the digest of its UTF-8 bytes [D8]. */
function safeId(id: string): string {
  if (id.length <= ID_LENGTH_MAX && /^[!-~]+$/.test(id)) return id;
  return `sha256-${hexFromBytes(sha256(utf8(id)))}`;
}

function eventType(row: ProviderRow, parts: RequestParts): string | null {
  for (const choice of row.identity.types) {
    const refs = typeof choice === "string" ? [choice] : choice;
    const values = refs.map((ref) => parts.text(ref));
    if (values.some((value, index) => value === null && !refOf(refs[index] ?? "").optional)) continue;
    const type = values.filter((value) => value !== null && value !== "").join(".");
    if (type !== "") return type.slice(0, TYPE_LENGTH_MAX);
  }
  return null;
}
