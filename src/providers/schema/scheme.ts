import { z } from "zod";
import { encoding, hash, headerName, keyForm, pattern, plainText, pointer, ref, template } from "./parts.ts";

/** How requests are proven: the shapes of `../scheme.ts`, for rows that come from outside. */

const paramRef = z.string().regex(/^param:[A-Za-z0-9_-]{1,64}$/, { error: "must be param: and a name" });

const signature = z.strictObject({
  from: z.union([
    ref,
    z.string().regex(/^headers:[a-z0-9-]{1,100}\*$/, { error: "must be headers:x-name-*" }),
    z.array(ref).min(1).max(8),
  ]),
  encoding,
  prefix: plainText(40).optional(),
  list: z
    .strictObject({ separator: z.string().min(1).max(4), equals: z.string().max(4), key: plainText(40) })
    .optional(),
  keyIs: paramRef.optional(),
});

const time = z.strictObject({
  from: ref,
  unit: z.enum(["seconds", "milliseconds", "rfc3339"]),
  toleranceSeconds: z.number().int().positive().max(1_000_000_000).nullable(),
});

const templated = {
  signed: template,
  signedWithBodyHash: z.strictObject({ query: plainText(60), signed: template }).optional(),
  signature,
  time: time.optional(),
  requires: z.array(ref).max(16).optional(),
  paramIs: z.record(ref, plainText(64)).optional(),
  urlForms: z.literal("with-ports").optional(),
  signsUncompressed: z.literal(true).optional(),
  orEscapedBody: z.literal(true).optional(),
};

/** A time that nothing signs limits nothing; a list's fields can be read only where there is a list. */
function checkTemplated(
  scheme: { signed: string; time?: unknown; signature: { list?: unknown } },
  context: z.RefinementCtx,
): void {
  if (scheme.time !== undefined && !/\{time\}|\{signed-headers:/.test(scheme.signed)) {
    context.addIssue({
      code: "custom",
      path: ["signed"],
      message: "must hold {time}: a time that is not signed limits nothing",
    });
  }
  if (scheme.signed.includes("{time}") && scheme.time === undefined) {
    context.addIssue({ code: "custom", path: ["time"], message: "is needed, since signed holds {time}" });
  }
  if (scheme.signed.includes("{field:") && scheme.signature.list === undefined) {
    context.addIssue({
      code: "custom",
      path: ["signature", "list"],
      message: "is needed, since signed holds a {field:…}",
    });
  }
}

const hmacScheme = z
  .strictObject({
    kind: z.literal("hmac"),
    hash,
    key: keyForm,
    items: z.strictObject({ list: pointer, object: z.union([pointer, z.literal("")]) }).optional(),
    ...templated,
  })
  .superRefine(checkTemplated);

const digestScheme = z
  .strictObject({ kind: z.literal("digest"), hash, ...templated })
  .superRefine(checkTemplated)
  .refine((scheme) => scheme.signed.includes("{secret}"), {
    path: ["signed"],
    error: "must hold {secret}: a hash without it proves nothing",
  });

const algorithm = z.enum(["ed25519", "ecdsa-p256-sha256", "ecdsa-p256-sha1", "rsa-sha1", "rsa-sha256", "rsa-sha512"]);

const publicKeyScheme = z
  .strictObject({
    kind: z.literal("public-key"),
    algorithm: z.union([algorithm, z.strictObject({ by: ref, is: z.record(plainText(40), algorithm) })]),
    key: z.enum(["raw-hex", "raw-base64", "public-key"]),
    certificateFrom: z.strictObject({ ref, allowed: pattern }).optional(),
    ...templated,
  })
  .superRefine(checkTemplated);

const tokenPlace = z.discriminatedUnion("in", [
  z.strictObject({
    in: z.literal("header"),
    name: headerName,
    nameParam: plainText(64).optional(),
    prefix: z.string().min(1).max(40).optional(),
  }),
  z.strictObject({ in: z.literal("query"), name: plainText(60), nameParam: plainText(64).optional() }),
  z.strictObject({ in: z.literal("bearer") }),
  z.strictObject({ in: z.literal("basic") }),
  z.strictObject({ in: z.literal("body"), ref }),
]);

const tokenScheme = z.strictObject({ kind: z.literal("token"), places: z.array(tokenPlace).min(1).max(8) });

const tokenListScheme = z.strictObject({ kind: z.literal("token-list"), list: pointer, token: pointer });

const jwtScheme = z.strictObject({
  kind: z.literal("jwt"),
  from: ref,
  prefix: z.string().min(1).max(40).optional(),
  algorithm: z.enum(["HS256", "HS512", "RS256", "ES256"]),
  issuers: z.array(plainText(200)).min(1).max(8).optional(),
  claimsFromParams: z.record(plainText(64), plainText(64)).optional(),
  claims: z.record(plainText(64), z.union([z.string().max(200), z.boolean()])).optional(),
  bodyHash: z.strictObject({ claim: plainText(64), hash: z.enum(["SHA-256", "SHA-512"]), encoding }).optional(),
  expires: z.boolean().optional(),
  issuedWithinSeconds: z.number().int().positive().max(1_000_000_000).optional(),
  keysFrom: z
    .union([
      z.strictObject({ kind: z.literal("jwks"), url: z.url({ protocol: /^https$/ }) }),
      z.strictObject({ kind: z.literal("plaid") }),
    ])
    .optional(),
});

export const scheme = z.discriminatedUnion("kind", [
  hmacScheme,
  digestScheme,
  publicKeyScheme,
  tokenScheme,
  tokenListScheme,
  jwtScheme,
]);
