import { z } from "zod";
import type { ProviderRow } from "../row.ts";
import { handshake } from "./handshake.ts";
import { headerName, optionalRef, plainText, ref } from "./parts.ts";
import { scheme } from "./scheme.ts";

/**
 * The schema of a row [P1]. It stands apart from the table: the ingress path never loads it. The table itself is held
 * against it by a test, an operator's own row (`custom`) when it is saved.
 */

const seconds = z.number().int().min(0).max(2_592_000);

const identity = z.strictObject({
  ids: z
    .array(
      z.strictObject({
        from: z.union([ref, z.array(optionalRef).min(1).max(8)]),
        key: z.enum(["event", "with-body"]),
      }),
    )
    .max(8),
  types: z.array(z.union([ref, z.array(optionalRef).min(1).max(8)])).max(8),
  severalItems: z.boolean(),
  retriesChangeBody: z.boolean(),
});

const answer = z.strictObject({
  success: z
    .strictObject({
      status: z.union([z.literal(200), z.literal(202), z.literal(204)]),
      body: z.union([
        z.enum(["status", "none"]),
        z.strictObject({ text: z.string().min(1).max(1_024), contentType: plainText(100) }),
      ]),
    })
    .refine((success) => success.status !== 204 || success.body === "none", {
      path: ["body"],
      error: "must be none where the status is 204",
    }),
  overLimitStatus: z.union([z.literal(429), z.literal(503)]),
});

const retry = z.strictObject({
  forSeconds: seconds,
  tries: z.number().int().min(0).max(1_000).nullable(),
  afterOverLimit: z.boolean(),
  disables: plainText(300).nullable(),
  overLimitDisables: z.boolean(),
  is: z.enum(["published", "assumed"]),
});

const behaviour = {
  scheme,
  params: z
    .array(
      z.strictObject({
        name: plainText(64),
        needed: z.enum(["always", "without-secret", "never"]),
        about: plainText(300),
      }),
    )
    .max(16)
    .optional(),
  identity,
  keep: z.array(headerName).max(32).optional(),
  handshakes: z.array(handshake).max(8),
  answer,
  timeLimitMs: z.number().int().min(500).max(600_000),
  timeLimitIs: z.enum(["published", "assumed"]),
  retry,
};

/** A row of the table. */
export const tableRow = z.strictObject({
  name: z.string().regex(/^[a-z0-9-]{1,64}$/),
  title: plainText(100),
  page: z.url({ protocol: /^https$/ }),
  note: plainText(600).optional(),
  setup: z.strictObject({ addAt: plainText(200), secret: plainText(200) }),
  ...behaviour,
});

/**
 * An operator's own row. It says everything that a row of the table says but where the facts come from. It never makes
 * this program call out: keys of its own are configured, not fetched.
 */
const customRow = z.strictObject({ note: plainText(600).optional(), ...behaviour }).superRefine((row, context) => {
  const refuse = (path: (string | number)[], message: string): void =>
    context.addIssue({ code: "custom", path, message });
  if (row.scheme.kind === "public-key" && row.scheme.certificateFrom !== undefined) {
    refuse(["scheme", "certificateFrom"], "is not for own rows: give the key as a secret");
  }
  if (row.scheme.kind === "jwt" && row.scheme.keysFrom !== undefined) {
    refuse(["scheme", "keysFrom"], "is not for own rows: give the key as a secret");
  }
  row.handshakes.forEach((one, index) => {
    if (one.kind === "confirm-subscription" || one.kind === "unsigned-ping") {
      refuse(["handshakes", index, "kind"], `${one.kind} is not for own rows`);
    }
  });
});

interface RowProblem {
  /** Where in the row: `scheme.signature.encoding`; empty for the row itself. */
  readonly path: string;
  readonly message: string;
}

/** Checks an operator's own row; a wrong one is refused with every problem named by its path. */
export function parseCustomRow(
  value: unknown,
): { readonly ok: true; readonly row: ProviderRow } | { readonly ok: false; readonly problems: readonly RowProblem[] } {
  const parsed = customRow.safeParse(value);
  if (!parsed.success) {
    return {
      ok: false,
      problems: parsed.error.issues.flatMap((issue) => problemsOf(issue)),
    };
  }
  const row = {
    name: "custom",
    title: "A provider of your own",
    page: "https://www.rfc-editor.org/rfc/rfc2104",
    setup: { addAt: "the sender's own settings", secret: "the secret that the sender signs with" },
    ...parsed.data,
  };
  // The schema and the type say the same, but for `undefined` in optional members, which a parsed row does not hold.
  return { ok: true, row: JSON.parse(JSON.stringify(row)) as ProviderRow };
}

function problemsOf(issue: z.core.$ZodIssue): RowProblem[] {
  const path = issue.path.map(String).join(".");
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => ({ path: path === "" ? key : `${path}.${key}`, message: "is not a known field" }));
  }
  return [{ path, message: issue.message }];
}
