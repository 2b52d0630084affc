/** The bodies of the smaller calls; their schemas are built on first use, as the ingress path never needs them. */
import { z } from "zod";
import { problemsOf, tidyProblems } from "../tenants/problems.ts";
import { invalidInput } from "./problem.ts";

interface RotateInput {
  readonly secret: string;
  readonly keepOldSeconds: number;
}

export interface FilterInput {
  readonly source?: string | undefined;
  readonly type?: string | undefined;
  readonly reason?: string | undefined;
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

/** Which events a call is about: exactly one of `ids`, `filter` and `all`. */
export interface TargetInput {
  readonly ids?: readonly string[] | undefined;
  readonly filter?: FilterInput | undefined;
  readonly all?: true | undefined;
  readonly dryRun: boolean;
}

type DeadLettersInput = TargetInput & { readonly destination?: string | undefined };
type ReplayInput = TargetInput & { readonly destinations?: readonly string[] | undefined };

const KEEP_OLD_DEFAULT_SECONDS = 86_400;
const KEEP_OLD_MAX_SECONDS = 2_592_000;
const REDRIVE_IDS_MAX = 1_000;

function buildSchemas() {
  const keepOld = `must be a whole number from 0 to ${KEEP_OLD_MAX_SECONDS}`;
  const ids = `must be a list of 1 to ${REDRIVE_IDS_MAX} event ids`;
  const example = 'must be an object such as {"ids": ["…"]}, {"filter": {"source": "…"}} or {"all": true}';
  const time = z.string("must be a time such as 2026-11-29T22:05:01Z").transform((text, context) => {
    const atMs = Date.parse(text);
    if (Number.isFinite(atMs)) return atMs;
    context.addIssue({ code: "custom", message: "must be a time such as 2026-11-29T22:05:01Z" });
    return z.NEVER;
  });
  const destinations = z
    .array(z.string("must be the id of a destination"), "must be a list of destinations")
    .min(1, "must name a destination");
  const target = {
    ids: z
      .array(z.string("must be an event id").min(1, "must be an event id"), ids)
      .min(1, ids)
      .max(REDRIVE_IDS_MAX, ids)
      .optional(),
    filter: z
      .strictObject(
        {
          source: z.string("must be the id of a source").optional(),
          type: z.string("must be an event type, or the beginning of one and *").optional(),
          reason: z.string("must be a reason such as exhausted").optional(),
          from: time.optional(),
          to: time.optional(),
        },
        'must be an object such as {"source": "stripe", "type": "invoice.*"}',
      )
      .optional(),
    all: z.literal(true, "must be true, or left out").optional(),
    dryRun: z.boolean("must be true or false").default(false),
  };
  return {
    rotate: z.strictObject(
      {
        secret: z
          .string("must be the new secret")
          .min(1, "must be the new secret, not empty")
          .max(16_384, "is too long"),
        keepOldSeconds: z
          .int(keepOld)
          .min(0, keepOld)
          .max(KEEP_OLD_MAX_SECONDS, keepOld)
          .default(KEEP_OLD_DEFAULT_SECONDS),
      },
      'must be an object such as {"secret": "…", "keepOldSeconds": 86400}',
    ),
    deadLetters: exactlyOne(
      z.strictObject({ ...target, destination: z.string("must be the id of a destination").optional() }, example),
    ),
    replay: exactlyOne(z.strictObject({ ...target, destinations: destinations.optional() }, example)),
    erase: exactlyOne(z.strictObject(target, example)),
    replayOne: z.strictObject(
      { destinations: destinations.optional() },
      'must be an object such as {"destinations": ["origin"]}',
    ),
    named: z.strictObject({ destination: z.string("must be the id of a destination").optional() }, example),
  };
}

/** One of the three ways to say which events are meant, and only one. */
function exactlyOne<T extends z.ZodType<TargetInput, unknown>>(schema: T) {
  return schema.refine(
    (input) => [input.ids, input.filter, input.all].filter((each) => each !== undefined).length === 1,
    "must have exactly one of ids, filter and all",
  );
}

let schemas: ReturnType<typeof buildSchemas> | null = null;

/** @throws Problem that names everything that is wrong */
export function parseRotate(input: unknown): RotateInput {
  schemas ??= buildSchemas();
  return required(schemas.rotate, input, "rotation");
}

/** @throws Problem that names everything that is wrong */
export function parseDeadLetters(input: unknown): DeadLettersInput {
  schemas ??= buildSchemas();
  return required(schemas.deadLetters, input, "call");
}

/** @throws Problem that names everything that is wrong */
export function parseReplay(input: unknown): ReplayInput {
  schemas ??= buildSchemas();
  return required(schemas.replay, input, "replay");
}

/** @throws Problem that names everything that is wrong */
export function parseErase(input: unknown): TargetInput {
  schemas ??= buildSchemas();
  return required(schemas.erase, input, "erasure");
}

/** @throws Problem that names everything that is wrong */
export function parseReplayOne(input: unknown): { readonly destinations?: readonly string[] | undefined } {
  schemas ??= buildSchemas();
  return required(schemas.replayOne, input, "replay");
}

/** @throws Problem that names everything that is wrong */
export function parseNamed(input: unknown): { readonly destination?: string | undefined } {
  schemas ??= buildSchemas();
  return required(schemas.named, input, "call");
}

function required<T extends z.ZodType>(schema: T, input: unknown, what: string): z.output<T> {
  const parsed = schema.safeParse(input, { reportInput: true });
  if (parsed.success) return parsed.data;
  throw invalidInput(what, tidyProblems(problemsOf(parsed.error.issues)));
}
