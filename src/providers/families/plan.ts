import { invariant } from "../../core/assert.ts";
import { type ParsedRef, refOf } from "../refs.ts";
import type { DigestScheme, HmacScheme, PublicKeyScheme, Signed } from "../scheme.ts";
import { parseTemplate, type Template } from "../template.ts";
import type { Strength, Verdict } from "../verdict.ts";

export type TemplatedScheme = HmacScheme | DigestScheme | PublicKeyScheme;

/** A scheme taken apart once, so that a request costs only what its own scheme asks for. */
export interface Plan {
  readonly template: Template;
  /** In place of `template` where the URL promises a hash of the body. */
  readonly withBodyHash: Template | null;
  readonly usesUrl: boolean;
  /** Whether the body must be hashed or decompressed before anything can be put together. */
  readonly needsBody: boolean;
  readonly time: ParsedRef | null;
  readonly requires: readonly ParsedRef[];
  readonly paramIs: readonly { readonly ref: ParsedRef; readonly param: string }[];
  readonly genuine: Verdict & { readonly kind: "genuine" };
}

const plans = new WeakMap<TemplatedScheme, Plan>();

export function planOf(scheme: TemplatedScheme): Plan {
  const known = plans.get(scheme);
  if (known !== undefined) return known;
  const template = compile(scheme.signed);
  const withBodyHash = scheme.signedWithBodyHash === undefined ? null : compile(scheme.signedWithBodyHash.signed);
  const uses = (name: string): boolean => template.uses.has(name) || withBodyHash?.uses.has(name) === true;
  const plan: Plan = {
    template,
    withBodyHash,
    usesUrl: withBodyHash !== null || uses("url") || uses("url-decoded") || uses("path"),
    needsBody: withBodyHash !== null || uses("body-sha256") || scheme.signsUncompressed === true,
    time: scheme.time === undefined ? null : refOf(scheme.time.from),
    requires: (scheme.requires ?? []).map(refOf),
    paramIs: Object.entries(scheme.paramIs ?? {}).map(([ref, param]) => ({ ref: refOf(ref), param })),
    genuine: { kind: "genuine", strength: templateStrength(scheme, template) },
  };
  plans.set(scheme, plan);
  return plan;
}

function compile(signed: Signed): Template {
  const template = parseTemplate(signed);
  invariant(!("unknownPart" in template), "a checked row has an unknown part in its template");
  return template;
}

/** What a signature over this template proves of a request. */
function templateStrength(scheme: TemplatedScheme, { uses }: Template): Strength {
  const bindsBody = ["body", "form-sorted", "body-sha256", "body-crc32"].some((part) => uses.has(part));
  if (bindsBody) return uses.has("time") && scheme.time?.toleranceSeconds != null ? "body-and-time" : "body";
  if (scheme.kind === "hmac" && scheme.items !== undefined) return "fields";
  const signsFields = [...uses].some((name) => name === "line" || name.startsWith("form:") || name.startsWith("json:"));
  // Mailgun signs two fields that say nothing of the event.
  return signsFields && !uses.has("json:/signature/token") ? "fields" : "origin";
}
