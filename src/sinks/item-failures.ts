import type { AnswerBody } from "./answer.ts";

/** What a 2xx says about the events one by one [V23]. */
type ItemFailures =
  | {
      readonly kind: "named";
      /** Ids of the batch that were refused; none: all were accepted. */
      readonly refusedIds: readonly string[];
      /** Ids that are not in the batch: somebody's mistake, worth a log line, and otherwise without effect. */
      readonly unknownIds: readonly string[];
    }
  /** The destination meant to name failures, but which cannot be told: nothing counts as accepted. */
  | { readonly kind: "unreadable" };

const MEMBER = "batchItemFailures";
const NONE: ItemFailures = { kind: "named", refusedIds: [], unknownIds: [] };
const UNREADABLE: ItemFailures = { kind: "unreadable" };

const decoder = new TextDecoder();

/**
 * Reads `batchItemFailures` (the AWS convention) out of a 2xx answer [V23]. An answer that is not a JSON object, or has
 * no such member, names nobody. Where the answer is cut off, or is a broken object, the member counts as soon as it
 * begins, and must have ended within what was read.
 */
export function readItemFailures(answer: AnswerBody, batchIds: readonly string[]): ItemFailures {
  if (answer.bytes.length === 0) return NONE;
  const text = decoder.decode(answer.bytes);
  const whole = answer.truncated ? undefined : parseJson(text);
  if (whole !== undefined) {
    return isObject(whole) && Object.hasOwn(whole, MEMBER) ? judge(whole[MEMBER], batchIds) : NONE;
  }
  const found = findMember(text);
  if (found === "absent") return NONE;
  return found === "unended" ? UNREADABLE : judge(parseJson(found.value), batchIds);
}

function judge(value: unknown, batchIds: readonly string[]): ItemFailures {
  if (value === null) return NONE;
  if (!Array.isArray(value)) return UNREADABLE;
  const inBatch = new Set(batchIds);
  const refused = new Set<string>();
  const unknown = new Set<string>();
  for (const item of value) {
    const id = isObject(item) && Object.hasOwn(item, "itemIdentifier") ? item.itemIdentifier : undefined;
    if (typeof id !== "string" || id === "") return UNREADABLE;
    (inBatch.has(id) ? refused : unknown).add(id);
  }
  return { kind: "named", refusedIds: [...refused], unknownIds: [...unknown] };
}

/** A JSON string literal, its last quote in the group, or the beginning of one that the end of the text cuts off. */
const STRING = /"[^"\\]*(?:\\[\s\S][^"\\]*)*("|\\?$)/y;

/**
 * The member of a JSON object whose text does not parse as a whole: its value's text, `unended` where it (or what may
 * be its name) begins and does not end, `absent` where the top level of the object does not show it.
 */
function findMember(text: string): "absent" | "unended" | { readonly value: string } {
  let index = skipSpace(text, 0);
  if (text[index] !== "{") return "absent";
  index += 1;
  for (;;) {
    index = skipSpace(text, index);
    if (text[index] === ",") index = skipSpace(text, index + 1);
    const name = stringAt(text, index);
    if (name === null) return beyond(text, index);
    if (name.unended) return isBeginningOfName(name.literal) ? "unended" : "absent";
    index = skipSpace(text, index + name.literal.length);
    const isMember = parseJson(name.literal) === MEMBER;
    if (text[index] !== ":") return isMember ? "unended" : beyond(text, index);
    const start = skipSpace(text, index + 1);
    const end = valueEnd(text, start);
    if (end === null) return isMember ? "unended" : "absent";
    if (isMember) return { value: text.slice(start, end) };
    index = end;
  }
}

/** Past a point where the object is not JSON any more nothing can be told apart: the bare mention of the name counts. */
function beyond(text: string, index: number): "absent" | "unended" {
  return text.indexOf(MEMBER, index) < 0 ? "absent" : "unended";
}

/** Where a value ends: after its closing bracket or quote, or before what follows a number or word. */
function valueEnd(text: string, start: number): number | null {
  let depth = 0;
  let index = start;
  while (index < text.length) {
    const char = text[index];
    if (char === '"') {
      const string = stringAt(text, index);
      if (string === null || string.unended) return null;
      index += string.literal.length;
      if (depth === 0) return index;
      continue;
    }
    if (char === "[" || char === "{") depth += 1;
    if (char === "]" || char === "}") depth -= 1;
    if (depth < 0 || (depth === 0 && char === ",")) return index;
    index += 1;
    if (depth === 0 && (char === "]" || char === "}")) return index;
  }
  return null;
}

function stringAt(text: string, index: number): { readonly literal: string; readonly unended: boolean } | null {
  STRING.lastIndex = index;
  const match = STRING.exec(text);
  return match === null ? null : { literal: match[0], unended: match[1] !== '"' };
}

function isBeginningOfName(literal: string): boolean {
  const begun = literal.slice(1);
  return begun !== "" && MEMBER.startsWith(begun);
}

function skipSpace(text: string, from: number): number {
  let index = from;
  while (index < text.length && " \t\r\n".includes(text.charAt(index))) index += 1;
  return index;
}

/** The value of a JSON text; undefined, which no JSON text means, where it is none. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
