import { z } from "zod";
import { alphabet, encoding, hash, headerName, keyForm, pattern, plainText, ref } from "./parts.ts";

/** How a provider makes sure of an address: the shapes of `../handshakes/handshake.ts`. */

const when = z.strictObject({ ref, is: plainText(100) });
const name = plainText(64);

export const handshake = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("echo-query"), method: z.enum(["GET", "POST"]), param: name, alphabet }),
  z.strictObject({
    kind: z.literal("verify-token"),
    mode: z.strictObject({ param: name, is: name }).optional(),
    token: name,
    challenge: name,
    alphabet,
    json: name.optional(),
  }),
  z.strictObject({
    kind: z.literal("echo-json"),
    proof: z.enum(["signature", "none"]),
    when: when.optional(),
    challenge: ref,
    alphabet,
    json: name.optional(),
  }),
  z.strictObject({
    kind: z.literal("echo-header"),
    method: z.enum(["GET", "POST"]),
    header: headerName,
    alphabet,
    answer: z.union([z.strictObject({ json: name }), z.strictObject({ header: headerName })]),
  }),
  z.strictObject({
    kind: z.literal("hmac-json"),
    when,
    challenge: ref,
    alphabet,
    lengthMax: z.number().int().min(1).max(256),
    json: z.strictObject({ plain: name.optional(), hmac: name }),
  }),
  z.strictObject({
    kind: z.literal("hmac-query"),
    param: name,
    alphabet: alphabet.refine((text) => !/[{}":\s]/.test(text), {
      error: "must leave out braces, quotes, colons and spaces: the answer would sign events",
    }),
    lengthMin: z.number().int().min(1).max(256),
    lengthMax: z.number().int().min(1).max(256),
    hash,
    key: keyForm,
    encoding: encoding.extract(["hex", "base64"]),
    answer: z.union([
      z.strictObject({ json: name, prefix: z.string().max(20), plain: name.optional() }),
      z.strictObject({ nameParam: name }),
    ]),
  }),
  z.strictObject({ kind: z.literal("digest-query"), param: name, alphabet, json: name }),
  z.strictObject({
    kind: z.literal("ping"),
    when,
    answer: z.strictObject({
      status: z.union([z.literal(200), z.literal(204)]),
      json: z.record(name, z.union([z.string().max(100), z.number()])).optional(),
    }),
  }),
  z.strictObject({ kind: z.literal("store-secret"), from: ref, alphabet, echoHeader: headerName.optional() }),
  z.strictObject({ kind: z.literal("confirm-subscription"), when, url: ref, allowed: pattern }),
  z.strictObject({ kind: z.literal("probe"), methods: z.array(z.enum(["HEAD", "GET"])).min(1) }),
  z.strictObject({ kind: z.literal("allow-origin") }),
  z.strictObject({ kind: z.literal("unsigned-ping"), contentType: plainText(100), body: pattern }),
]);
