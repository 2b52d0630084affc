/** The bodies of the smaller calls; their schemas are built on first use, as the ingress path never needs them. */
import { z } from "zod";
import { problemsOf, tidyProblems } from "../tenants/problems.ts";
import { invalidInput } from "./problem.ts";

export interface RotateInput {
  readonly secret: string;
  readonly keepOldSeconds: number;
}

export interface RedriveInput {
  readonly destination?: string | undefined;
  readonly ids: readonly string[];
  readonly dryRun: boolean;
}

const KEEP_OLD_DEFAULT_SECONDS = 86_400;
const KEEP_OLD_MAX_SECONDS = 2_592_000;
const REDRIVE_IDS_MAX = 1_000;

function buildSchemas() {
  const keepOld = `must be a whole number from 0 to ${KEEP_OLD_MAX_SECONDS}`;
  const ids = `must be a list of 1 to ${REDRIVE_IDS_MAX} event ids`;
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
    redrive: z.strictObject(
      {
        destination: z.string("must be the id of a destination").optional(),
        ids: z
          .array(z.string("must be an event id").min(1, "must be an event id"), ids)
          .min(1, ids)
          .max(REDRIVE_IDS_MAX, ids),
        dryRun: z.boolean("must be true or false").default(false),
      },
      'must be an object such as {"destination": "origin", "ids": ["…"]}',
    ),
  };
}

let schemas: ReturnType<typeof buildSchemas> | null = null;

/** @throws Problem that names everything that is wrong */
export function parseRotate(input: unknown): RotateInput {
  schemas ??= buildSchemas();
  return required(schemas.rotate, input, "rotation");
}

/** @throws Problem that names everything that is wrong */
export function parseRedrive(input: unknown): RedriveInput {
  schemas ??= buildSchemas();
  return required(schemas.redrive, input, "redrive");
}

function required<T extends z.ZodType>(schema: T, input: unknown, what: string): z.output<T> {
  const parsed = schema.safeParse(input, { reportInput: true });
  if (parsed.success) return parsed.data;
  throw invalidInput(what, tidyProblems(problemsOf(parsed.error.issues)));
}
