import type { ProviderRow } from "../../src/providers/row.ts";
import type { Scheme } from "../../src/providers/scheme.ts";
import { signatureCoversBody, strengthOf } from "../../src/providers/strength.ts";
import { code, duration, place } from "./words.ts";

/** How a provider's requests are proven, and what an origin can still prove later. */

export function proofWords(row: ProviderRow): string {
  const { scheme } = row;
  switch (scheme.kind) {
    case "hmac":
      return `HMAC-${scheme.hash} (${scheme.signature.encoding}), ${signaturePlace(scheme)}${timeWords(scheme)}`;
    case "digest":
      return `plain ${scheme.hash} over a text with the secret, ${signaturePlace(scheme)}${timeWords(scheme)}`;
    case "public-key": {
      const { algorithm } = scheme;
      const name = typeof algorithm === "string" ? algorithm : Object.values(algorithm.is).join(" or ");
      return `${name}, ${signaturePlace(scheme)}${timeWords(scheme)}`;
    }
    case "jwt":
      return `JWT (${scheme.algorithm}), ${place(scheme.from)}${scheme.bodyHash === undefined ? "" : ", which holds a hash of the body"}`;
    case "token": {
      const places = scheme.places.map((one) => {
        if (one.in === "header") return `header ${code(one.name)}`;
        if (one.in === "query") return `URL parameter ${code(one.name)}`;
        return one.in === "body" ? place(one.ref) : `${one.in} authorization`;
      });
      return `the secret itself, ${places.join(" or ")}`;
    }
    case "token-list":
      return `the secret itself in every item (${code(scheme.token)})`;
  }
}

type Templated = Extract<Scheme, { readonly signed: string }>;

function signaturePlace({ signature }: Templated): string {
  const { from } = signature;
  return typeof from === "string" ? place(from) : from.map(place).join(" and ");
}

function timeWords({ time }: Templated): string {
  if (time === undefined) return "";
  const limit = time.toleranceSeconds === null ? "no limit of age" : `at most ${duration(time.toleranceSeconds)} off`;
  return `; signed with its time (${limit})`;
}

/** How an origin makes sure, after any wait, that an event is genuine. */
export function laterWords(row: ProviderRow): string {
  const { scheme } = row;
  if (scheme.kind === "token" || scheme.kind === "token-list") {
    return "nothing in the request proves it: rely on Spillway's own signature of the batch";
  }
  if (scheme.kind === "jwt") {
    const binds =
      scheme.bodyHash === undefined ? " (it says nothing of the body)" : " and compare its hash of the body";
    return `${forward([scheme.from])}, check the JWT${binds}, its times against \`receivedAt\``;
  }
  const refs = headerRefs(scheme);
  const parts: string[] = [];
  if (refs.length > 0) parts.push(forward(refs));
  else parts.push("the signature is in the body");
  parts.push(keyWords(row));
  if (/\{(?:url|url-decoded|path)\}/.test(scheme.signed)) parts.push("use the URL as it is registered");
  if (scheme.time !== undefined && scheme.time.toleranceSeconds !== null) {
    parts.push("compare the time with `receivedAt`, not with the clock");
  }
  if (!signatureCoversBody(scheme)) parts.push("the signature does not bind the whole body");
  return parts.join("; ");
}

function keyWords({ scheme }: ProviderRow): string {
  const isUncompressed = "signsUncompressed" in scheme && scheme.signsUncompressed === true;
  const bytes = isUncompressed ? "the bytes, decompressed," : "the exact bytes";
  return scheme.kind === "public-key"
    ? `verify ${bytes} with the provider's public key`
    : `verify ${bytes} with the same secret`;
}

const forward = (refs: readonly string[]): string => {
  const names = refs.map((ref) => code(ref.slice(ref.indexOf(":") + 1)));
  return `put ${names.join(", ")} into \`forwardHeaders\``;
};

/** The headers that a verifier needs: those of the signature, its time, and what else is signed. */
function headerRefs(scheme: Templated): string[] {
  const { signature, time, requires = [], signed } = scheme;
  const from = typeof signature.from === "string" ? [signature.from] : signature.from;
  const inTemplate = [...signed.matchAll(/\{(header:[^}?]+)\??\}/g)].map((match) => match[1] ?? "");
  const listed = [...signed.matchAll(/\{signed-headers:([^}]+)\}/g)].flatMap((match) =>
    (match[1] ?? "").split("+").map((name) => `header:${name}`),
  );
  const all = [...from, ...(time === undefined ? [] : [time.from]), ...requires, ...inTemplate, ...listed];
  const headers = all.map((ref) => ref.replace(/^header-json:([^/]+).*/, "header:$1"));
  return [...new Set(headers.filter((ref) => ref.startsWith("header:") || ref.startsWith("headers:")))];
}

/** What names an event, whether that is signed, and whether repeats are byte for byte the same. */
export function identityWords({ identity, scheme }: ProviderRow): string {
  const parts = identity.ids.map((choice) => {
    const refs = typeof choice.from === "string" ? [choice.from] : choice.from;
    const covered = choice.key === "event" ? "signed: it alone is the key" : coverWords(refs, scheme);
    return `${refs.map(place).join(" + ")} (${covered})`;
  });
  const id = parts.length === 0 ? "none; the body's digest, for `contentDedupeSeconds`" : parts.join(", else ");
  const several = identity.severalItems ? "; requests hold several items" : "";
  return `${id}${several}`;
}

function coverWords(refs: readonly string[], scheme: Scheme): string {
  if (strengthOf(scheme) === "fields") return "not all that it stands for is signed: key together with the body";
  const bodyIsSigned = signatureCoversBody(scheme);
  const isSigned = refs.every((ref) => {
    if (ref.startsWith("header:")) return "signed" in scheme && scheme.signed.includes(`{${ref.replace(/\?$/, "")}}`);
    return bodyIsSigned;
  });
  return isSigned
    ? "signed, but several events may share it: key together with the body"
    : "not signed: key together with the body";
}

export function strengthWords(row: ProviderRow): string {
  switch (strengthOf(row.scheme)) {
    case "body-and-time":
      return "body and time";
    case "body":
      return "the body";
    case "fields":
      return "some fields of the body only";
    case "origin":
      return "where the request comes from, not what it says";
    case "token":
      return "that the sender knows the secret, not what the request says";
  }
}
